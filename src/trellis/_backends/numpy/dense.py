"""Dense layers on BLAS."""

import math
import sys
from typing import Any

import numpy as np

from ..exports import hand_on
from ..shared.grouped import multiplied_by_groups
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
        if x.ndim > 2:
            # One product for all rows: for stacks of matrices NumPy would call BLAS once for each.
            rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) @ weight.T
            y = rows.reshape(*x.shape[:-1], weight.shape[0])
        else:
            y = x @ weight.T
        return y if bias is None else y + bias
    return _fused_linear(x, weight, bias)[0]


def _linear(x: Any, weight: Any, bias: Any) -> tuple[Any]:
    y = x @ weight.T
    return (y if bias is None else y + bias,)


def _forward(x: Any, weight: Any, bias: Any) -> tuple[tuple[Any], Any]:
    rows = x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    y = rows @ weight.T
    if bias is not None:
        y += bias
    return (y.reshape(*x.shape[:-1], y.shape[-1]),), (rows, weight, x.shape)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (g,), (rows, weight, shape) = gs, kept
    g = g if g.ndim == 2 else g.reshape(rows.shape[0], weight.shape[0])
    found: list[Any] = []
    for i in places:
        if i == 0:
            found.append((g @ weight).reshape(shape))
        else:
            found.append(g.T @ rows if i == 1 else np.add.reduce(g, axis=0))
    return found


_fused_linear = fused(_forward, _backward, _linear)


def grouped_matmul(x: Any, weights: Any, group_sizes: Any) -> Any:
    """Each group of rows times its own matrix."""
    return multiplied_by_groups(sys.modules[__package__], x, weights, group_sizes)


hand_on(globals())
