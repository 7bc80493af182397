"""Unique elements, on NumPy. The shapes of the results depend on the data."""

from typing import Any

import numpy as np

from ..._core.results import UniqueAllResult, UniqueCountsResult, UniqueInverseResult


def unique_all(x: Any, /) -> UniqueAllResult[Any]:
    return UniqueAllResult(*np.unique_all(x))


def unique_counts(x: Any, /) -> UniqueCountsResult[Any]:
    return UniqueCountsResult(*np.unique_counts(x))


def unique_inverse(x: Any, /) -> UniqueInverseResult[Any]:
    return UniqueInverseResult(*np.unique_inverse(x))


def unique_values(x: Any, /) -> Any:
    # np.unique_values has no defined order; all backends sort.
    return np.unique(x, equal_nan=False)
