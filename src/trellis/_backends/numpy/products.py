"""Products of arrays, on NumPy."""

from typing import Any

import numpy as np

from ._helpers import FLOAT32, common, pair, rounded, widened
from .reduction import sum

_np_matmul = np.matmul  # found faster than in NumPy's module, which has a `__getattr__`


def matmul(x1: Any, x2: Any, /) -> Any:
    if type(x1) is type(x2):
        dtype = x1.dtype
        if dtype is x2.dtype and (dtype is FLOAT32 or dtype.kind != "V"):
            return _np_matmul(x1, x2)
    x1, x2 = pair(x1, x2)
    if x1.dtype.kind == "V":
        return rounded(_np_matmul(widened(x1), widened(x2)))
    return _np_matmul(x1, x2)


def matrix_transpose(x: Any, /) -> Any:
    return np.matrix_transpose(x)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype.kind == "V":
        return rounded(np.tensordot(widened(x1), widened(x2), axes=axes))
    return np.tensordot(x1, x2, axes=axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = pair(x1, x2)
    if x1.dtype.kind == "V":
        return rounded(np.vecdot(widened(x1), widened(x2), axis=axis))
    return np.vecdot(x1, x2, axis=axis)


def einsum(subscripts: str, /, *xs: Any) -> Any:
    xs = tuple(common(xs))
    inputs, _, output = subscripts.partition("->")
    if "..." in inputs and "->" in subscripts and "..." not in output:
        # Axes that are not in the output are summed, also those of an ellipsis.
        y = einsum(f"{inputs}->...{output}", *xs)
        return sum(y, axis=tuple(range(y.ndim - len(output.replace(" ", "")))), dtype=y.dtype)
    if xs and xs[0].dtype.kind == "V":
        wide = [widened(x) for x in xs]
        return rounded(np.einsum(subscripts, *wide, optimize=len(xs) > 2))
    return np.einsum(subscripts, *xs, optimize=len(xs) > 2)
