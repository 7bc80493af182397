"""What the functions of this package expect of their matrices."""

from typing import Any

from .._core.dispatch import xp_of
from .._core.dtypes import COMPLEX, FLOATING
from .._core.errors import DtypeError, ShapeError
from .._core.guards import check_array


def check_matrices(function: str, x: Any, is_square: bool = False) -> None:
    """Raise if `x` is no stack of floating-point matrices, or of square ones."""
    check_array(x)
    kind, shape = xp_of(x).dtype_name(x.dtype), tuple(x.shape)
    if kind not in (*FLOATING, *COMPLEX):
        raise DtypeError(f"{function}() computes with floating-point numbers, got {kind}.")
    if len(shape) < 2:
        raise ShapeError(f"{function}() takes matrices, stacked or not, got shape {shape}.")
    if is_square and shape[-1] != shape[-2]:
        raise ShapeError(f"{function}() takes square matrices, got shape {shape}.")
