"""Random numbers with or without a seed: the same seed gives the same numbers on every backend.

All are built on the keys of `trellis.random`. An integer seed or a key makes a stand-alone draw;
without one, the next key of the library's stream is taken.
"""

import math
from functools import partial
from typing import Any

from .._core.arrays import plain
from .._core.dtypes import INTEGER, SIGNED, IntLimits, name_of
from .._core.errors import ArgumentError, ArgumentTypeError, TracingError
from .._core.explain import explain
from .._core.leafwise import has_nest
from .._core.shapes import normal_axis
from .._core.tracing import tracing
from .._core.typing import A, Array, Backend, Device, DTypeLike, Seed, Shape
from .arguments import (
    as_shape,
    backend_and_key,
    check_float_name,
    check_number,
    draw_leafwise,
    float_name,
    int_dtype,
    is_any,
    is_known,
    param,
    result_shape,
    scaled_uniform,
)
from .stream import GLOBAL, key_words
from .weighted import MOST_CATEGORIES, integers, uniform_order, weighted_draws, weighted_order


def random_uniform(
    *,
    low: Array | float = 0.0,
    high: Array | float = 1.0,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    seed: Seed = None,
    device: Device | None = None,
) -> Array:
    """Uniform samples in [low, high): never `high` itself, in any dtype.

    The bounds broadcast with each other and to `shape`. An integer dtype takes the floor of the
    draw and needs whole-number bounds. Bit-equal on every backend; a compiler may differ by one
    unit in the last place where the bounds are not 0 and 1, because it may fuse the multiplication
    with the addition.

    >>> import trellis
    >>> trellis.random_uniform(low=1, high=2, shape=(2, 2), dtype="int32", seed=0)
    array([[1, 1],
           [1, 1]], dtype=int32)
    """
    try:
        if has_nest(low, high):
            draw = partial(random_uniform, shape=shape, dtype=dtype, device=device)
            return draw_leafwise(draw, (), {"low": low, "high": high, "seed": seed})
        low, high = plain(low), plain(high)
        sizes = result_shape(shape, low, high)
        xp, key = backend_and_key(seed, device, low, high)
        if is_known(xp, low, high):
            if is_any(xp, _less(xp, high, low)):
                raise ArgumentError(
                    f"random_uniform needs low <= high everywhere, got low={low!r}, high={high!r}."
                )
        name = float_name(xp, dtype, low, high)
        if name in INTEGER:
            return _whole_uniform(xp, key, low, high, sizes, name)
        check_float_name(name, "random_uniform")
        native = xp.as_dtype(name)
        u = xp.random.uniform(key, sizes, native)
        if not hasattr(low, "dtype") and not hasattr(high, "dtype") and low == 0 and high == 1:
            return u
        return scaled_uniform(xp, u, param(xp, low, native, key), param(xp, high, native, key))
    except Exception as error:
        return explain(error, random_uniform)


def _whole_uniform(xp: Backend, key: Array, low: Array | float, high: Array | float,
                   shape: tuple[int, ...], name: str) -> Any:  # fmt: skip
    if is_known(xp, low, high):
        for bound in (low, high):
            is_whole = (
                float(bound).is_integer() if not hasattr(bound, "dtype") else _is_whole(xp, bound)
            )
            if not is_whole:
                raise ArgumentError(
                    f"dtype {name} needs whole-number bounds, got low={low!r}, high={high!r}."
                )
    native = xp.as_dtype(float_name(xp, None))
    low, high = param(xp, low, native, key), param(xp, high, native, key)
    draw = scaled_uniform(xp, xp.random.uniform(key, shape, native), low, high)
    return xp.astype(xp.floor(draw), xp.as_dtype(name))


def _is_whole(xp: Backend, x: Any) -> bool:
    return name_of(x.dtype) in INTEGER or not is_any(xp, xp.floor(x) != x)


def _less(xp: Backend, x: Array | float, y: Array | float) -> Any:
    return xp.less(x, y) if hasattr(x, "dtype") or hasattr(y, "dtype") else x < y


def random_normal(
    *,
    mean: Array | float = 0.0,
    std: Array | float = 1.0,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    seed: Seed = None,
    device: Device | None = None,
) -> Array:
    """Normal samples `mean + std * N(0, 1)`, differentiable in both.

    The parameters broadcast with each other and to `shape`. Equal on every backend within 1e-6 of
    `std`.

    >>> import numpy as np, trellis
    >>> trellis.random_normal(mean=np.array([4.8, 5.6]), std=0.0)
    array([4.8, 5.6])
    """
    try:
        if has_nest(mean, std):
            draw = partial(random_normal, shape=shape, dtype=dtype, device=device)
            return draw_leafwise(draw, (), {"mean": mean, "std": std, "seed": seed})
        sizes = result_shape(shape, mean, std)
        mean = check_number("random_normal", "mean", mean)
        std = check_number("random_normal", "std", std)
        xp, key = backend_and_key(seed, device, mean, std)
        if is_known(xp, std):
            if is_any(xp, _less(xp, std, 0)):
                raise ArgumentError(f"random_normal needs std >= 0 everywhere, got std={std!r}.")
        name = float_name(xp, dtype, mean, std)
        check_float_name(name, "random_normal")
        native = xp.as_dtype(name)
        z = xp.random.normal(key, sizes, native)
        if not hasattr(mean, "dtype") and not hasattr(std, "dtype") and mean == 0 and std == 1:
            return z
        return param(xp, mean, native, key) + param(xp, std, native, key) * z
    except Exception as error:
        return explain(error, random_normal)


def randint(
    low: Array | int,
    high: Array | int,
    /,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    seed: Seed = None,
    device: Device | None = None,
) -> Array:
    """Integers in [low, high), uniform over the whole range, whatever range the dtype can hold.

    The bounds broadcast with each other and to `shape`. The draw does not depend on the dtype, so
    it is the same on JAX, where the default integer may be int32. (`trellis.random.randint` is that
    of `jax.random`, which is biased for wide ranges.)

    >>> import trellis
    >>> trellis.randint(-3, -1, shape=6, seed=0)
    array([-3, -3, -2, -2, -2, -3])
    """
    try:
        if has_nest(low, high):
            options = {"shape": shape, "dtype": dtype, "seed": seed, "device": device}
            return draw_leafwise(randint, (low, high), options)
        low, high = _as_bound(low), _as_bound(high)
        if dtype is not None and name_of(dtype) not in SIGNED:
            raise ArgumentError(
                f"randint draws signed integers, not {name_of(dtype)}. Use one of "
                f"{', '.join(SIGNED)}."
            )
        sizes = result_shape(shape, low, high)
        xp, key = backend_and_key(seed, device, low, high)
        native = int_dtype(xp, dtype)
        _check_range(xp, low, high, xp.iinfo(native))
        return integers(xp, key, low, high, sizes, native)
    except Exception as error:
        return explain(error, randint)


def _as_bound(bound: Any) -> Any:
    """A bound as a Python int or a signed array."""
    bound = plain(bound)
    if isinstance(bound, int) and not isinstance(bound, bool):
        return bound
    name = name_of(bound.dtype) if hasattr(bound, "dtype") else type(bound).__name__
    if name not in SIGNED:
        raise ArgumentError(f"randint needs bounds of a signed integer type, got {name}.")
    return bound


def _check_range(xp: Backend, low: Array | int, high: Array | int, limits: IntLimits) -> None:
    if not is_known(xp, low, high):
        return
    if is_any(xp, _less(xp, high, low)) or is_any(xp, low == high):
        raise ArgumentError(f"randint needs low < high everywhere, got low={low!r}, high={high!r}.")
    least = low if isinstance(low, int) else int(xp.min(low)) if math.prod(low.shape) else 0
    most = (
        high - 1 if isinstance(high, int) else int(xp.max(high)) - 1 if math.prod(high.shape) else 0
    )
    if least < int(limits.min) or most > int(limits.max):
        raise ArgumentError(
            f"The range [{least}, {most}] does not fit into the dtype, which holds {limits.min} to "
            f"{limits.max}. "
            "Name a wider dtype."
        )


def multinomial(
    population_size: int,
    num_samples: int,
    /,
    *,
    batch_size: int = 1,
    probs: Array | None = None,
    replace: bool = True,
    seed: Seed = None,
    device: Device | None = None,
) -> Array:
    """Indices drawn in proportion to weights, `num_samples` for each row of `probs`.

    `probs` are unnormalised weights, the last axis holds the categories; then `population_size` and
    `batch_size` are not used. Without `probs` all of `batch_size` rows are uniform. The indices are
    exactly the same on every backend: weights are compared in integers of 2**-40 of the largest.

    >>> import numpy as np, trellis
    >>> trellis.multinomial(3, 5, probs=np.array([0.0, 0.0, 1.0]))
    array([2, 2, 2, 2, 2])
    """
    try:
        if has_nest(probs):
            options = {
                "batch_size": batch_size,
                "probs": probs,
                "replace": replace,
                "seed": seed,
                "device": device,
            }
            return draw_leafwise(multinomial, (population_size, num_samples), options)
        (num_samples,) = as_shape(num_samples)
        xp, key = backend_and_key(seed, device, probs)
        integer = xp.asarray(0).dtype
        if probs is None:
            rows, population = as_shape((batch_size, population_size))
            if population < 1:
                raise ArgumentError(
                    f"multinomial needs a population of at least 1, got {population_size}."
                )
            if replace:
                return integers(xp, key, 0, population, (rows, num_samples), integer)
            _check_enough(num_samples, population)
            return xp.astype(uniform_order(xp, key, (rows, population))[:, :num_samples], integer)
        weights = _checked_weights(xp, probs, num_samples, replace)
        flat = xp.reshape(weights, (-1, weights.shape[-1]))
        if replace:
            drawn = weighted_draws(xp, key, flat, num_samples)
        else:
            drawn = weighted_order(xp, key, flat)[:, :num_samples]
        return xp.reshape(xp.astype(drawn, integer), (*probs.shape[:-1], num_samples))
    except Exception as error:
        return explain(error, multinomial)


def _checked_weights(xp: Backend, probs: Array, num_samples: int, replace: bool) -> Any:
    if len(probs.shape) == 0 or not 0 < probs.shape[-1] <= MOST_CATEGORIES:
        raise ArgumentError(
            f"probs needs a last axis of 1 to {MOST_CATEGORIES} categories, got the shape "
            f"{tuple(probs.shape)}."
        )
    weights = probs
    if xp.dtype_name(probs.dtype) not in ("float32", "float64"):
        weights = xp.astype(probs, xp.float32)
    if not replace:
        _check_enough(num_samples, probs.shape[-1])
    if not is_known(xp, weights):
        return weights
    if is_any(xp, weights < 0) or is_any(xp, ~xp.isfinite(weights)):
        raise ArgumentError("probs must be finite and not negative.")
    nonzero = xp.sum(
        xp.astype(weights >= xp.finfo(weights.dtype).smallest_normal, xp.int32), axis=-1
    )
    if is_any(xp, nonzero == 0):
        raise ArgumentError("Every row of probs needs at least one weight above zero.")
    if not replace:
        if is_any(xp, nonzero < num_samples):
            raise ArgumentError(
                f"replace=False cannot draw {num_samples} different indices from a row with fewer "
                "weights above zero."
            )
    return weights


def _check_enough(num_samples: int, population: int) -> None:
    if num_samples > population:
        raise ArgumentError(
            f"replace=False cannot draw {num_samples} different indices out of {population}. "
            "Draw fewer, or write replace=True."
        )


def shuffle(x: A, /, *, axis: int = 0, seed: Seed = None) -> A:
    """Permute the slices of `x` along an axis; the slices stay intact.

    The permutation depends only on the seed and the length of the axis. Differentiable.

    >>> import numpy as np, trellis
    >>> trellis.shuffle(np.array([[1, 10], [2, 20], [3, 30]]), seed=0)
    array([[ 1, 10],
           [ 2, 20],
           [ 3, 30]])
    """
    try:
        if has_nest(x):
            shuffled: A = draw_leafwise(shuffle, (x,), {"axis": axis, "seed": seed})
            return shuffled
        rank = len(x.shape)
        if rank == 0:
            return x
        axis = normal_axis(axis, rank)
        xp, key = backend_and_key(seed, None, x)
        result: A = xp.take(x, xp.random.permutation(key, int(x.shape[axis])), axis=axis)
        return result
    except Exception as error:
        return explain(error, shuffle)


def seed(seed_value: int | Array = 0) -> None:
    """Seed the library's stream of draws without a key; the sequence is the same on every backend.

    A `with trellis.random.stream(key):` block has its own stream and is not affected. The
    generators of NumPy, torch and TensorFlow are never touched.

    >>> import trellis
    >>> trellis.seed(3)
    >>> x = trellis.random_normal(shape=2)
    >>> trellis.seed(3)
    >>> bool((x == trellis.random_normal(shape=2)).all())
    True
    """
    if seed_value is None:
        raise ArgumentTypeError("seed() needs an integer from 0 up or a key, got None.")
    words = key_words(seed_value)
    framework = tracing()
    if words is None or framework is not None:
        raise TracingError(
            "seed() inside a compiled function would run once, while tracing, and never again. "
            "Call it outside, or write `with trellis.random.stream(key):` inside."
        )
    GLOBAL.reset(words)
