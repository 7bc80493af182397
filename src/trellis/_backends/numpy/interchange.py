"""To and from NumPy, on NumPy."""

from typing import Any

import numpy as np

from ..._core.errors import TracingError
from ._tape import TracedArray
from .casting import check_device


def check_leaving(x: Any, /) -> None:
    """Raise if converting the array would lose a gradient."""
    if isinstance(x, TracedArray):
        raise TracingError(
            "An array that is being differentiated cannot leave its framework: the gradient would "
            "be lost. "
            "Convert the result after grad(), or write stop_gradient(x) if it is meant as a "
            "constant."
        )


def to_numpy(x: Any, /) -> Any:
    check_leaving(x)
    return np.asarray(x)


def from_numpy(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    check_device(device)
    return np.array(x, copy=copy)
