"""Norms of vectors and matrices, written over a backend's own functions.

What the frameworks' own norms leave apart, and these do not: the gradient at an array of zeros is
0, and so it is at single zeros where the derivative would be infinite; the largest of no elements
is 0, the smallest is refused.
"""

import math
from typing import Any

from ..._core.errors import ArgumentError, ShapeError


def vector_norm(ops: Any, x: Any, *, axis: Any, keepdims: bool, ord: Any) -> Any:
    """`ops` has abs, sum, max, min, any, where, cast_like and count."""
    size = ops.abs(x)
    if ord in (math.inf, -math.inf) or ord < 0:
        is_empty = ops.count(x, axis) == 0
        if is_empty and ord < 0:
            raise _no_smallest("vector_norm", ord)
        if is_empty:
            return ops.sum(size, axis=axis, keepdims=keepdims)
    if ord == math.inf:
        return ops.max(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return ops.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return ops.sum(ops.cast_like(size != 0, size), axis=axis, keepdims=keepdims)
    if ord == 1:
        return ops.sum(size, axis=axis, keepdims=keepdims)
    is_zero = size == 0
    safe = ops.where(is_zero, 1, size)
    if ord < 0:
        # One zero is the smallest element there can be: the norm is 0.
        norm = ops.sum(safe**ord, axis=axis, keepdims=keepdims) ** (1 / ord)
        return ops.where(ops.any(is_zero, axis=axis, keepdims=keepdims), 0, norm)
    powers = safe * safe if ord == 2 else safe**ord
    total = ops.sum(ops.where(is_zero, 0, powers), axis=axis, keepdims=keepdims)
    nothing = total == 0
    positive = ops.where(nothing, 1, total)
    return ops.where(nothing, 0, ops.sqrt(positive) if ord == 2 else positive ** (1 / ord))


def matrix_norm(ops: Any, x: Any, *, keepdims: bool, ord: Any) -> Any:
    """`ops` has svdvals, all and stop besides; "fro" is the vector norm over both axes."""
    if ord in (1, -1, math.inf, -math.inf):
        parts = ops.sum(ops.abs(x), axis=-2 if ord in (1, -1) else -1)
    elif ord in ("nuc", 2, -2):
        is_zero = ops.all(x == 0, axis=(-2, -1), keepdims=True)
        parts = ops.svdvals(ops.where(is_zero, ops.stop(x), x))
    else:
        raise ArgumentError(
            f"matrix_norm() knows ord 'fro', 'nuc', 1, 2, inf and their negatives, got {ord!r}."
        )
    if ord != "nuc" and ord < 0 and ops.count(parts, -1) == 0:
        raise _no_smallest("matrix_norm", ord)
    if ord == "nuc" or ops.count(parts, -1) == 0:
        norm = ops.sum(parts, axis=-1)
    else:
        norm = ops.max(parts, axis=-1) if ord > 0 else ops.min(parts, axis=-1)
    return norm[..., None, None] if keepdims else norm


def _no_smallest(function: str, ord: Any) -> ShapeError:
    return ShapeError(f"{function}() with ord={ord} takes the smallest element, and there is none.")
