"""Dense layers on BLAS."""

import math
from typing import Any

import numpy as np

from ._fused import fused
from ._tape import TracedArray


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    dtype = x.dtype
    if dtype.kind in "fV" and dtype.itemsize < 4:
        # NumPy sums halves in half precision, and so would the gradients of both.
        y = linear(
            x.astype(np.float32),
            weight.astype(np.float32),
            None if bias is None else bias.astype(np.float32),
        )
        return y.astype(dtype)
    if type(x) is np.ndarray and type(weight) is np.ndarray and type(bias) is not TracedArray:
        if x.ndim < 2:
            return x @ weight.T if bias is None else x @ weight.T + bias
        # One product for all rows: for stacks of matrices NumPy would call BLAS once for each.
        rows = x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        count, width = rows.shape[0], weight.shape[0]
        if 1 < count and 2 * count <= width:
            # A few rows times a wide matrix: OpenBLAS takes up to a third less time with the matrix
            # on the left. The bias is added while the result is transposed.
            turned = (weight @ rows.T).T
            y = np.array(turned, order="C") if bias is None else np.add(turned, bias, order="C")
        else:
            y = rows @ weight.T
            y = y if bias is None else np.add(y, bias, out=y if bias.dtype == y.dtype else None)
        return y if x.ndim == 2 else y.reshape(*x.shape[:-1], width)
    return _fused_linear(x, weight, bias)[0]


def _linear(x: Any, weight: Any, bias: Any) -> tuple[Any]:
    y = x @ weight.T
    return (y if bias is None else y + bias,)


def _forward(x: Any, weight: Any, bias: Any) -> tuple[tuple[Any], Any]:
    rows = x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return (linear(x, weight, bias),), (rows, weight, x.shape)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (g,), (rows, weight, shape) = gs, kept
    g = g if g.ndim == 2 else g.reshape(rows.shape[0], weight.shape[0])
    found: list[Any] = []
    for i in places:
        if i == 0:
            into = g @ weight
            found.append(into if len(shape) == 2 else into.reshape(shape))
        else:
            found.append(g.T @ rows if i == 1 else np.add.reduce(g, axis=0))
    return found


_fused_linear = fused(_forward, _backward, _linear)
