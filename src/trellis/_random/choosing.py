"""Integers, orders and choices by key."""

from math import prod
from typing import Any

from .._core.arrays import plain
from .._core.dispatch import xp_of_all
from .._core.dtypes import INTEGER, IntLimits, name_of
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.explain import explain
from .._core.shapes import broadcast_shapes, normal_axis
from .._core.typing import A, Array, Backend, DTypeLike, Shape
from .arguments import as_shape, check_below, draw_dtype, int_dtype, is_known
from .distributions import gumbel
from .keys import backend_of_key, key_data


def randint(
    key: A,
    /,
    shape: Shape,
    minval: int | Array,
    maxval: int | Array,
    dtype: DTypeLike | None = None,
) -> A:
    """Integers in [minval, maxval), as `jax.random.randint` draws them.

    JAX's method is biased for ranges much wider than 2**16 (int32) or 2**32 (int64);
    `trellis.randint` is not. Without a dtype, bounds within int32 are drawn as int32 and become the
    default integer, so that the numbers do not depend on the default.

    >>> import trellis
    >>> trellis.random.randint(trellis.random.key(0), (4,), 0, 10)
    array([9, 0, 2, 3])
    """
    try:
        minval, maxval = plain(minval), plain(maxval)
        xp = xp_of_all(key_data(key), minval, maxval)
        dtype = None if dtype is int else dtype
        result = int_dtype(xp, dtype)
        if not xp.isdtype(result, "integral"):
            raise DtypeError(f"randint draws integers, not {name_of(dtype)}.")
        _check_bounds(xp, minval, maxval)
        drawn = result
        if xp.iinfo(result).bits < 32 or (
            dtype is None and _fits_int32(minval) and _fits_int32(maxval, 1)
        ):
            drawn = xp.int32
        limits, limits_drawn = xp.iinfo(result), xp.iinfo(drawn)
        beyond = isinstance(maxval, int) and maxval > limits_drawn.max
        low, high = _clipped(xp, minval, limits, drawn, 0), _clipped(xp, maxval, limits, drawn, 1)
        return xp.astype(
            xp.random.randint(key, as_shape(shape), low, high, beyond, drawn), result, copy=False
        )
    except Exception as error:
        return explain(error, randint)


def _check_bounds(xp: Backend, minval: Array | int, maxval: Array | int) -> None:
    for what, bound in (("minval", minval), ("maxval", maxval)):
        is_whole = isinstance(bound, int) and not isinstance(bound, bool)
        if not is_whole and (not hasattr(bound, "dtype") or name_of(bound.dtype) not in INTEGER):
            raise ArgumentTypeError(f"randint() expects integers for {what}, got {bound!r}.")
    check_below(xp, "randint", minval, maxval, "minval <= maxval", True)


def _fits_int32(bound: Array | int, extra: int = 0) -> bool:
    if isinstance(bound, int):
        return -(2**31) <= bound < 2**31 + extra
    return name_of(bound.dtype) in ("int8", "int16", "int32", "uint8", "uint16")


def _clipped(
    xp: Backend, bound: Array | int, limits: IntLimits, drawn: DTypeLike, extra: int
) -> Any:
    """A bound inside the range of the result, and of the type that is drawn."""
    least, most = int(limits.min), min(int(limits.max) + extra, int(xp.iinfo(drawn).max))
    if isinstance(bound, int):
        return min(max(bound, least), most)
    own = xp.iinfo(bound.dtype)
    least, most = max(least, int(own.min)), min(most, int(own.max))
    return xp.astype(xp.clip(bound, least, most), drawn)


def permutation(key: A, x: int | A, /, axis: int = 0) -> A:
    """A random order of 0 ... x - 1, or of the slices of an array along an axis.

    >>> import trellis
    >>> trellis.random.permutation(trellis.random.key(0), 5)
    array([0, 1, 4, 3, 2])
    """
    try:
        if isinstance(x, int):
            xp = backend_of_key(key)
            if isinstance(x, bool) or x < 0:
                raise ArgumentError(
                    f"permutation() needs a number of at least 0 or an array, got {x!r}."
                )
            return xp.astype(xp.random.permutation(key, x), xp.asarray(0).dtype, copy=False)
        xp = xp_of_all(key_data(key), x)
        if not hasattr(x, "shape") or len(x.shape) == 0:
            raise ShapeError(f"permutation() needs an array with at least one axis, got {x!r}.")
        axis = normal_axis(axis, len(x.shape))
        return xp.take(x, xp.random.permutation(key, int(x.shape[axis])), axis=axis)
    except Exception as error:
        return explain(error, permutation)


def choice(
    key: A,
    a: int | A,
    /,
    shape: Shape = (),
    replace: bool = True,
    p: A | None = None,
    axis: int = 0,
) -> A:
    """Draw from 0 ... a - 1, or from the slices of an array along an axis, with weights `p` if
    given.

    >>> import trellis
    >>> trellis.random.choice(trellis.random.key(0), 5, (3,), replace=False)
    array([0, 1, 4])
    """
    try:
        population: Any = a
        is_number = isinstance(a, int) and not isinstance(a, bool)
        if not is_number and (not hasattr(a, "shape") or len(a.shape) == 0):
            raise ArgumentTypeError(
                "choice() draws from a number of elements or from an array with an axis, "
                f"got {a!r}."
            )
        if p is not None and not hasattr(p, "dtype"):
            raise ArgumentTypeError(f"choice() expects an array of weights for p, got {p!r}.")
        xp = xp_of_all(key_data(key), None if is_number else a, p)
        sizes = as_shape(shape)
        axis = 0 if is_number else normal_axis(axis, len(population.shape))
        shape_of_a = () if is_number else tuple(population.shape)
        population = a if is_number else int(shape_of_a[axis])
        draws = prod(sizes)
        if population <= 0 and draws > 0:
            raise ArgumentError("choice cannot draw from nothing.")
        if not replace and draws > population:
            raise ArgumentError(
                f"replace=False cannot draw {draws} different elements out of {population}."
            )
        if p is not None and tuple(p.shape) != (population,):
            raise ShapeError(
                f"p needs one weight for each of the {population} elements, got the shape "
                f"{tuple(p.shape)}."
            )
        if p is not None:
            _check_weights(xp, p)
        if draws == 0:
            indices = xp.zeros(sizes, dtype=xp.int32)
        elif p is None and replace:
            indices = randint(key, sizes, 0, population, "int32")
        elif p is None:
            indices = xp.reshape(xp.random.permutation(key, population)[:draws], sizes)
        else:
            indices = xp.reshape(_weighted_choice(xp, key, p, draws, replace), sizes)
        if is_number:
            return xp.astype(indices, xp.asarray(0).dtype, copy=False)
        taken = xp.take(a, xp.reshape(indices, (-1,)), axis=axis)
        return xp.reshape(taken, (*shape_of_a[:axis], *sizes, *shape_of_a[axis + 1 :]))
    except Exception as error:
        return explain(error, choice)


def _check_weights(xp: Backend, p: Array) -> None:
    if not is_known(xp, p):
        return
    if not bool(xp.all((p >= 0) & (p < float("inf")))) or not bool(xp.any(p > 0)):
        raise ArgumentError(
            f"choice() needs weights p that are finite, not negative and not all zero, got {p!r}."
        )


def _weighted_choice(xp: Backend, key: Array, p: Array, draws: int, replace: bool) -> Any:
    native = draw_dtype(xp, None, p, function="choice")
    p = xp.astype(p, native, copy=False)
    if replace:
        sums = xp.cumulative_sum(p)
        r = sums[-1] * (1 - xp.random.uniform(key, (draws,), native))
        return xp.searchsorted(sums, r)
    log_p = xp.where(p > 0, xp.log(xp.where(p > 0, p, 1.0)), -float("inf") + xp.zeros_like(p))
    order = log_p + gumbel(key, tuple(p.shape), native)
    return xp.topk(order, draws)[1]


def categorical(key: A, logits: A, /, axis: int = -1, shape: Shape | None = None) -> A:
    """Indices drawn with probabilities in proportion to exp(logits).

    >>> import numpy as np, trellis
    >>> trellis.random.categorical(trellis.random.key(0), np.array([-np.inf, 0.0]))
    np.int64(1)
    """
    try:
        xp = xp_of_all(key_data(key), logits)
        if not hasattr(logits, "shape") or len(logits.shape) == 0:
            raise ShapeError(
                f"categorical() needs an array of logits with an axis, got {logits!r}."
            )
        axis = normal_axis(axis, len(logits.shape)) - len(logits.shape)
        batch = tuple([int(n) for n in logits.shape])
        batch = batch[: len(batch) + axis] + batch[len(batch) + axis + 1 :]
        sizes = batch if shape is None else as_shape(shape)
        if broadcast_shapes(batch, sizes) != sizes:
            raise ShapeError(f"Logits of batch shape {batch} do not broadcast to {sizes}.")
        native = draw_dtype(xp, None, logits, function="categorical")
        # The axis of the categories is the same, counted from the end, as in `logits`.
        at = len(sizes) + axis + 1
        noise = gumbel(key, (*sizes[:at], int(logits.shape[axis]), *sizes[at:]), native)
        return xp.argmax(noise + xp.astype(logits, native, copy=False), axis=axis)
    except Exception as error:
        return explain(error, categorical)
