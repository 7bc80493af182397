"""Unique elements, on NumPy. The shapes of the results depend on the data."""

from typing import Any

import numpy as np

__all__ = [
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

unique_all = np.unique_all
unique_counts = np.unique_counts


def unique_inverse(x: Any, /) -> Any:
    return np.unique_inverse(x)


def unique_values(x: Any, /) -> Any:
    # np.unique_values leaves the order open; all backends sort.
    return np.unique(x, equal_nan=False)
