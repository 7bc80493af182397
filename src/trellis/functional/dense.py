"""Dense layers and dropout as functions."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from .._core.dispatch import xp_of, xp_of_all
from .._core.dtypes import FLOATING
from .._core.errors import DtypeError, ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import broadcast_shapes
from .._core.typing import A, Array, Backend, DTypeLike
from ._arguments import check_range, differ, known, probability
from ._draws import call_seeded_leafwise, keep_mask
from ._precision import as_floats


def linear(x: A, weight: A, /, *, bias: A | None = None) -> A:
    """`x @ weight.T + bias` along the last axis; a weight of more than two axes stacks layers.

    x has shape outer + inner + (in,), weight outer + (out, in), bias outer + (out,) or (out,); the
    sizes of `outer` match or are 1. Integer arrays keep their dtype.

    >>> import numpy as np, trellis
    >>> trellis.linear(np.array([1.0, 2.0]), np.array([[3.0, 4.0]]), bias=np.array([0.5]))
    array([11.5])
    """
    try:
        if _is_plain(x, weight, bias):
            return xp_of(x).linear(x, weight, bias)  # type: ignore[no-any-return]
        if has_nest(x, weight, bias):
            return call_leafwise(linear, (x, weight), {"bias": bias})
        xp = xp_of_all(x, weight, bias)
        x_shape, w_shape = tuple(x.shape), tuple(weight.shape)
        if len(w_shape) < 2:
            raise ShapeError(f"linear() expects weight of shape outer + (out, in), got {w_shape}.")
        n_outer = len(w_shape) - 2
        if len(x_shape) < n_outer + 1 or differ(x_shape[-1], w_shape[-1]):
            raise ShapeError(
                "linear() expects x of shape outer + inner + (in,) for weight outer + (out, in): "
                f"got x {x_shape} and weight {w_shape}; x must have at least {n_outer + 1} axes "
                f"and end with {w_shape[-1]}."
            )
        outer = broadcast_shapes(x_shape[:n_outer], w_shape[:-2], function="linear")
        out = w_shape[-2]
        if bias is not None:
            _check_bias(tuple(bias.shape), outer, out)
        x, weight, bias = _in_one_dtype(xp, x, weight, bias)
        if n_outer == 0:
            return xp.linear(x, weight, bias)
        inner = x_shape[n_outer:-1]
        rows = xp.reshape(x, (*x_shape[:n_outer], _product(inner), x_shape[-1]))
        y = xp.matmul(rows, xp.matrix_transpose(weight))
        if bias is not None:
            y = y + (bias if len(bias.shape) == 1 else xp.expand_dims(bias, axis=-2))
        return xp.reshape(y, (*outer, *known(*inner), out))
    except Exception as error:
        return explain(error, linear)


def grouped_matmul(x: A, weights: A, group_sizes: A, /) -> A:
    """Consecutive groups of rows, each multiplied by its own matrix, as in mixtures of experts.

    x has shape (rows, in), weights (groups, in, out); the first group_sizes[0] rows are multiplied
    by weights[0], the next group_sizes[1] by weights[1], and so on. Rows after the last group give
    zeros. The sizes are an array of integers and may be known only when a compiled program runs.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x, weights = np.ones((3, 1)), np.array([[[2.0]], [[5.0]]])
    >>> F.grouped_matmul(x, weights, np.array([1, 2])).ravel()
    array([2., 5., 5.])
    """
    try:
        if has_nest(x, weights, group_sizes):
            return call_leafwise(grouped_matmul, (x, weights, group_sizes), {})
        xp = xp_of_all(x, weights, group_sizes)
        shapes = tuple(x.shape), tuple(weights.shape), tuple(group_sizes.shape)
        fits = [len(shape) for shape in shapes] == [2, 3, 1]
        if not fits or differ(shapes[0][1], shapes[1][1]) or differ(shapes[1][0], shapes[2][0]):
            raise ShapeError(
                "grouped_matmul() expects x (rows, in), weights (groups, in, out) and group_sizes "
                f"(groups,), got {shapes[0]}, {shapes[1]} and {shapes[2]}."
            )
        kind = xp.dtype_name(group_sizes.dtype)
        if not kind.startswith(("int", "uint")):
            raise DtypeError(f"grouped_matmul() expects integers as group_sizes, got {kind}.")
        if xp.is_concrete(group_sizes) and shapes[0][0] is not None:
            sentence = f"They count rows, and x has {shapes[0][0]}."
            check_range("grouped_matmul", "group_sizes", group_sizes, 0, shapes[0][0], sentence)
            total = int(xp.sum(group_sizes))
            if total > shapes[0][0]:
                raise ShapeError(
                    f"grouped_matmul() got groups of {total} rows together and x with "
                    f"{shapes[0][0]}."
                )
        x, weights = as_floats("grouped_matmul", xp, x, weights)
        return xp.grouped_matmul(x, weights, group_sizes)
    except Exception as error:
        return explain(error, grouped_matmul)


def _is_plain(x: Array, weight: Array | None, bias: Array | None) -> bool:
    """Whether this is the usual case: one type and dtype, a weight of two axes, sizes that fit."""
    kind = type(x)
    if type(weight) is not kind or isinstance(x, dict):
        return False
    x_shape, w_shape, dtype = x.shape, weight.shape, x.dtype
    if len(w_shape) != 2 or len(x_shape) == 0 or dtype != weight.dtype:
        return False
    if w_shape[1] is None or x_shape[-1] != w_shape[1]:
        return False
    if bias is None:
        return True
    return type(bias) is kind and bias.dtype == dtype and tuple(bias.shape) == (w_shape[0],)


def _product(sizes: tuple[Any, ...]) -> int:
    total = 1
    for size in sizes:
        if size is None:
            return -1
        total *= size
    return total


def _check_bias(shape: tuple[Any, ...], outer: tuple[Any, ...], out: int) -> None:
    fits = len(shape) in (1, len(outer) + 1) and shape[-1] == out
    if fits and len(shape) > 1:
        fits = all([size in (1, whole) for size, whole in zip(shape[:-1], outer, strict=True)])
    if not fits:
        raise ShapeError(
            f"linear() expects bias of shape {(out,)} or {(*outer, out)}, got {shape}."
        )


def _in_one_dtype(xp: Backend, *arrays: Array | None) -> list[Any]:
    first = arrays[0].dtype  # type: ignore[union-attr]  # the first is never None
    if all([x is None or x.dtype == first for x in arrays]):
        return list(arrays)
    target = xp.result_type(*[x for x in arrays if x is not None])
    return [x if x is None else xp.astype(x, target, copy=False) for x in arrays]


def dropout(
    x: A,
    prob: float,
    /,
    *,
    scale: bool = True,
    dtype: DTypeLike | None = None,
    training: bool = True,
    seed: int | None = None,
    noise_shape: Sequence[int | None] | None = None,
) -> A:
    """Set elements to zero with probability `prob`, and divide the others by 1 - prob if `scale`.

    An entry 1 of `noise_shape` shares one draw along that axis, None means the size of `x`.
    The same `seed` drops the same elements on every backend and in every dtype; each leaf of a
    Container draws from its own stream.

    >>> import numpy as np, trellis
    >>> x = trellis.dropout(np.ones(1000), 0.5, seed=0)
    >>> sorted(set(x.tolist()))
    [0.0, 2.0]
    """
    try:
        if has_nest(x):
            fn = partial(
                dropout, scale=scale, dtype=dtype, training=training, noise_shape=noise_shape
            )
            return call_seeded_leafwise(fn, (x, prob), {}, seed, training and prob != 0)
        xp = xp_of(x)
        prob = probability("dropout", "prob", prob)
        target = xp.dtype_name(x.dtype) if dtype is None else xp.dtype_name(xp.as_dtype(dtype))
        if target not in FLOATING:
            raise DtypeError(
                f"dropout() gives floats, got {target}. Write dtype='float32', for example."
            )
        shape = _noise_shape(tuple(x.shape), noise_shape)
        x = xp.astype(x, target, copy=False)
        if not training or prob == 0:
            return x
        if prob == 1:
            return xp.zeros_like(x)
        kept: Any = x
        if scale:
            kept = xp.divide(kept, 1 - prob)
        return xp.where(keep_mask(xp, x, shape, prob, seed), kept, 0.0)
    except Exception as error:
        return explain(error, dropout)


def _noise_shape(
    shape: tuple[Any, ...], noise_shape: Sequence[int | None] | None
) -> tuple[Any, ...]:
    if noise_shape is None:
        return shape
    wanted = tuple(noise_shape)
    fits = len(wanted) == len(shape)
    if fits:
        fits = all([w is None or w == 1 or w == n for w, n in zip(wanted, shape, strict=True)])
    if not fits:
        raise ShapeError(
            f"dropout() expects noise_shape with one entry for each axis of x {shape}: its size, "
            f"None, or 1 for one draw along it; got {noise_shape!r}."
        )
    return tuple([n if w is None else w for w, n in zip(wanted, shape, strict=True)])
