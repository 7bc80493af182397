"""Norms of vectors and matrices, written over a backend's own functions.

The norms of the frameworks differ in these cases: here the gradient at an array of zeros is 0, and
also at single zeros where the derivative would be infinite; the largest of no elements is 0, and
the smallest raises.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ..._core.errors import ArgumentError, ShapeError
from ..._core.shapes import normal_axes
from ..array_api import Axes, Native

if TYPE_CHECKING:
    from ..interface import Backend

Where: TypeAlias = Callable[[Native, Native, Native], Native]


def norm_of_vectors(
    xp: "Backend", x: Native, *, axis: Axes, keepdims: bool, ord: float, where: Where | None = None
) -> Native:
    """The standard's `vector_norm` of floats; `where` is a version of it that is fast with
    numbers."""
    where = xp.where if where is None else where
    size = xp.abs(x)
    if ord in (math.inf, -math.inf) or ord < 0:
        is_empty = _count(x, axis) == 0
        if is_empty and ord < 0:
            raise _no_smallest("vector_norm", ord)
        if is_empty:
            return xp.sum(size, axis=axis, keepdims=keepdims)
    if ord == math.inf:
        return xp.max(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return xp.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.sum(xp.astype(size != 0, size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(size, axis=axis, keepdims=keepdims)
    is_zero = size == 0
    safe = where(is_zero, 1, size)
    if ord < 0:
        # A zero is the smallest possible element: the norm is 0.
        norm = xp.sum(safe**ord, axis=axis, keepdims=keepdims) ** (1 / ord)
        return where(xp.any(is_zero, axis=axis, keepdims=keepdims), 0, norm)
    powers = safe * safe if ord == 2 else safe**ord
    total = xp.sum(where(is_zero, 0, powers), axis=axis, keepdims=keepdims)
    nothing = total == 0
    positive = where(nothing, 1, total)
    return where(nothing, 0, xp.sqrt(positive) if ord == 2 else positive ** (1 / ord))


def norm_of_matrices(
    xp: "Backend", x: Native, *, keepdims: bool, ord: float | str | None
) -> Native:
    """The standard's `matrix_norm` of floats, but for "fro": the vector norm over both axes."""
    if ord in (1, -1, math.inf, -math.inf):
        parts = xp.sum(xp.abs(x), axis=-2 if ord in (1, -1) else -1)
    elif ord in ("nuc", 2, -2):
        parts = without_zeros(xp, xp.linalg.svdvals(x), x)
    else:
        raise ArgumentError(
            f"matrix_norm() knows ord 'fro', 'nuc', 1, 2, inf and their negatives, got {ord!r}."
        )
    is_least = ord in (-1, -2, -math.inf)
    if is_least and _count(parts, -1) == 0:
        raise _no_smallest("matrix_norm", ord)
    if ord == "nuc" or _count(parts, -1) == 0:
        norm = xp.sum(parts, axis=-1)
    else:
        norm = xp.min(parts, axis=-1) if is_least else xp.max(parts, axis=-1)
    return norm[..., None, None] if keepdims else norm


def without_zeros(xp: "Backend", values: Native, x: Native) -> Native:
    """Singular values of `x`; the gradient of those that are 0 but for rounding is 0, as that of
    `abs` at 0. Their vectors can be any of a whole space, and each LAPACK takes others."""
    if _count(values, -1) == 0:
        return values
    # A size that is not known while tracing counts as 1. `max` of a list with `default=` would be
    # shorter, but torch.compile cannot trace it where sizes are symbols.
    rows, columns = [1 if n is None else n for n in x.shape[-2:]]
    rounding = xp.max(values, axis=-1, keepdims=True) * (
        max(rows, columns) * xp.finfo(values.dtype).eps
    )
    return xp.where(values <= rounding, xp.stop_gradient(values), values)


def _count(x: Native, axis: Axes) -> int | None:
    """How many elements are reduced; None where it is not known while tracing."""
    counts = [x.shape[a] for a in normal_axes(axis, len(x.shape))]
    return None if None in counts else math.prod(counts)


def _no_smallest(function: str, ord: float | str | None) -> ShapeError:
    return ShapeError(f"{function}() with ord={ord} takes the smallest element, and there is none.")
