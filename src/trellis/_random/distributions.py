"""Random numbers by key: pure functions with the numbers of `jax.random`, on every backend.

A key is a uint32 array of shape (2,). The same key gives the same numbers every time, so split it, or fold
a number into it, for every new draw. Bits, uniforms, integers and permutations are those of `jax.random` bit
for bit (its default Threefry stream, 64-bit types off); everything that takes a logarithm or a square root is
so within 1e-6. The backend of a draw is that of its key.

>>> import trellis
>>> key = trellis.random.key(0)
>>> first, second = trellis.random.split(key)
>>> trellis.random.uniform(first, (3,))
array([0.8423141 , 0.18237865, 0.2271781 ], dtype=float32)
"""

from math import prod
from typing import Any

from .._core.dispatch import default_xp, load, xp_of, xp_of_all
from .._core.dtypes import UNSIGNED, name_of
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.shapes import normal_axis
from .._core.typing import Device, DTypeLike, Shape
from .arguments import as_shape, broadcast_shapes, check_float_name, float_name, param, result_shape
from .stream import is_key, known_words
from .stream import stream as stream

# Keys ------------------------------------------------------------------------------------------------


def key(seed: Any, /, *, backend: str | None = None, device: Device | None = None) -> Any:
    """The key of an integer seed from 0 up, on the default backend unless another one is named.

    The seed may be a traced integer; then the key is of its framework.

    >>> import trellis
    >>> trellis.random.key(2**32 + 5)
    array([1, 5], dtype=uint32)
    """
    if is_key(seed):
        raise ArgumentTypeError("key() takes an integer seed; what came is a key already.")
    words = known_words(seed)
    if words is None:
        return xp_of(seed).random.key_of_seed(seed)
    xp = default_xp() if backend is None else load(backend)
    return xp.random.make_key(*words, device)


def split(key: Any, /, num: int | tuple[int, ...] = 2) -> Any:
    """New keys out of one; use them instead of it. A tuple gives an array of keys of that shape.

    >>> import trellis
    >>> trellis.random.split(trellis.random.key(0), 3).shape
    (3, 2)
    """
    return _of(key).random.split(key, as_shape(num))


def fold_in(key: Any, data: Any, /) -> Any:
    """A new key out of a key and an integer: the number of a step, a layer, a worker.

    >>> import trellis
    >>> trellis.random.fold_in(trellis.random.key(0), 1)
    array([ 928981903, 3453687069], dtype=uint32)
    """
    return _of(key).random.fold_in(key, data)


def _of(key: Any) -> Any:
    if not is_key(key):
        raise ArgumentTypeError(
            f"Expected a key first, a uint32 array of shape (2,), got {key!r}. Write trellis.random.key(seed)."
        )
    return xp_of(key)


def _float(xp: Any, dtype: Any, *params: Any, function: str) -> Any:
    name = float_name(xp, dtype, *params)
    check_float_name(name, function)
    return xp.as_dtype(name)


# Bits and uniforms -----------------------------------------------------------------------------------


def bits(key: Any, /, shape: Shape = (), dtype: DTypeLike = "uint32") -> Any:
    """Uniform random bits as unsigned integers.

    >>> import trellis
    >>> trellis.random.bits(trellis.random.key(0), (2,))
    array([4070199207, 4202968722], dtype=uint32)
    """
    if name_of(dtype) not in UNSIGNED:
        raise ArgumentError(
            f"bits are unsigned integers, one of {', '.join(UNSIGNED)}, not {name_of(dtype)}."
        )
    xp = _of(key)
    return xp.random.bits(key, as_shape(shape), xp.as_dtype(name_of(dtype)))


def uniform(
    key: Any,
    /,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
) -> Any:
    """Uniform samples in [minval, maxval).

    Bit-equal to `jax.random` for the default range; for another one a compiler may differ in the last bit,
    and where rounding makes JAX return `maxval`, this does not.

    >>> import trellis
    >>> trellis.random.uniform(trellis.random.key(0))
    array(0.947667, dtype=float32)
    """
    from .seeded import scaled_uniform

    xp = _of(key)
    native = _float(xp, dtype, function="uniform")
    u = xp.random.uniform(key, as_shape(shape), native)
    if (
        not hasattr(minval, "dtype")
        and not hasattr(maxval, "dtype")
        and minval == 0
        and maxval == 1
    ):
        return u
    return scaled_uniform(xp, u, param(xp, minval, native, key), param(xp, maxval, native, key))


def bernoulli(key: Any, /, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """True with probability `p`.

    >>> import trellis
    >>> trellis.random.bernoulli(trellis.random.key(0), 0.9, (4,))
    array([False, False,  True,  True])
    """
    xp = _of(key)
    native = _float(xp, None, p, function="bernoulli")
    return xp.random.uniform(key, result_shape(shape, p), native) < param(xp, p, native, key)


def exponential(key: Any, /, shape: Shape = (), dtype: DTypeLike | None = None) -> Any:
    """Exponential samples with rate 1.

    >>> import trellis
    >>> trellis.random.exponential(trellis.random.key(0), (2,)).shape
    (2,)
    """
    xp = _of(key)
    return -xp.log1p(
        -xp.random.uniform(key, as_shape(shape), _float(xp, dtype, function="exponential"))
    )


def gumbel(key: Any, /, shape: Shape = (), dtype: DTypeLike | None = None) -> Any:
    """Standard Gumbel samples.

    >>> import trellis
    >>> trellis.random.gumbel(trellis.random.key(0), (2,)).shape
    (2,)
    """
    xp = _of(key)
    native = _float(xp, dtype, function="gumbel")
    u = xp.random.uniform(key, as_shape(shape), native)
    tiny = {"float16": 2.0**-14, "float64": 2.0**-1022}.get(xp.dtype_name(native), 2.0**-126)
    return -xp.log(-xp.log(xp.maximum(u, param(xp, tiny, native, key))))


# Normals ---------------------------------------------------------------------------------------------


def normal(key: Any, /, shape: Shape = (), dtype: DTypeLike | None = None) -> Any:
    """Standard normal samples.

    >>> import trellis
    >>> trellis.random.normal(trellis.random.key(0), (2,)).shape
    (2,)
    """
    xp = _of(key)
    return xp.random.normal(key, as_shape(shape), _float(xp, dtype, function="normal"))


def truncated_normal(
    key: Any, lower: Any, upper: Any, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Standard normal samples that lie between `lower` and `upper`.

    >>> import trellis
    >>> x = trellis.random.truncated_normal(trellis.random.key(0), -2.0, 2.0, (1000,))
    >>> bool(abs(x).max() < 2)
    True
    """
    xp = _of(key)
    native = _float(xp, dtype, function="truncated_normal")
    sizes = result_shape(shape, lower, upper)
    low, high = param(xp, lower, native, key), param(xp, upper, native, key)
    u = xp.random.uniform(key, sizes, native)
    if xp.dtype_name(native) in ("float16", "bfloat16"):
        # Too few digits to count in; the result may then be rounded to a bound.
        low, high, u = [xp.astype(x, xp.float32) for x in (low, high, u)]
        return xp.astype(_truncated(xp, u, low, high), native)
    return _truncated(xp, u, low, high)


def _truncated(xp: Any, u: Any, low: Any, high: Any) -> Any:
    root = 2.0**0.5
    a, b = xp.erf(low / root), xp.erf(high / root)
    draw = xp.random.erfinv(xp.maximum(u * (b - a) + a, a)) * root
    inf = float("inf") + xp.zeros_like(low)
    return xp.minimum(
        xp.maximum(draw, xp.nextafter(low, inf)),
        xp.nextafter(high, -float("inf") + xp.zeros_like(high)),
    )


def multivariate_normal(
    key: Any, mean: Any, cov: Any, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Normal samples with a mean vector and a covariance matrix, by Cholesky's factor of it.

    >>> import numpy as np, trellis
    >>> trellis.random.multivariate_normal(trellis.random.key(0), np.zeros(2), np.eye(2), (5,)).shape
    (5, 2)
    """
    xp = xp_of_all(_key_data(key), mean, cov)
    if len(mean.shape) < 1 or len(cov.shape) < 2 or tuple(cov.shape[-2:]) != (mean.shape[-1],) * 2:
        raise ShapeError(
            f"multivariate_normal needs a mean (..., n) and a covariance (..., n, n), got {tuple(mean.shape)} and "
            f"{tuple(cov.shape)}."
        )
    native = _float(xp, dtype, mean, cov, function="multivariate_normal")
    batch = broadcast_shapes(tuple(mean.shape[:-1]), tuple(cov.shape[:-2]))
    sizes = batch if shape is None else as_shape(shape)
    if broadcast_shapes(batch, sizes) != sizes:
        raise ShapeError(f"Parameters of batch shape {batch} do not broadcast to {sizes}.")
    z = xp.random.normal(key, (*sizes, mean.shape[-1]), native)
    factor = xp.linalg.cholesky(xp.astype(cov, native, copy=False))
    spread = xp.matmul(factor, xp.expand_dims(z, axis=-1))
    return xp.astype(mean, native, copy=False) + xp.squeeze(spread, axis=-1)


def _key_data(key: Any) -> Any:
    return _of(key).random.as_raw_key(key)


def orthogonal(
    key: Any, n: int, /, shape: Shape = (), dtype: DTypeLike | None = None, m: int | None = None
) -> Any:
    """Matrices (n, m) with orthonormal rows or columns, uniform among all of them.

    >>> import numpy as np, trellis
    >>> q = trellis.random.orthogonal(trellis.random.key(0), 3)
    >>> bool(np.allclose(q @ q.T, np.eye(3), atol=1e-5))
    True
    """
    xp = _of(key)
    m = n if m is None else m
    z = xp.random.normal(
        key, (*as_shape(shape), max(n, m), min(n, m)), _float(xp, dtype, function="orthogonal")
    )
    q, r = xp.linalg.qr(z)
    signs = xp.sign(xp.linalg.diagonal(r))
    q = q * xp.expand_dims(signs, axis=-2)
    return xp.matrix_transpose(q) if n < m else q


# Integers --------------------------------------------------------------------------------------------


def randint(
    key: Any, /, shape: Shape, minval: Any, maxval: Any, dtype: DTypeLike | None = None
) -> Any:
    """Integers in [minval, maxval), as `jax.random.randint` draws them.

    JAX's method is biased for ranges much wider than 2**16 (int32) or 2**32 (int64); `trellis.randint` is
    not. Without a dtype, bounds within int32 are drawn as int32 and become the default integer, so that
    the numbers do not depend on the default.

    >>> import trellis
    >>> trellis.random.randint(trellis.random.key(0), (4,), 0, 10)
    array([9, 0, 2, 3])
    """
    xp = _of(key)
    result = xp.asarray(0).dtype if dtype is None else xp.as_dtype(name_of(dtype))
    if not xp.isdtype(result, "integral"):
        raise DtypeError(f"randint draws integers, not {name_of(dtype)}.")
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


def _fits_int32(bound: Any, extra: int = 0) -> bool:
    if isinstance(bound, int):
        return -(2**31) <= bound < 2**31 + extra
    return name_of(bound.dtype) in ("int8", "int16", "int32", "uint8", "uint16")


def _clipped(xp: Any, bound: Any, limits: Any, drawn: Any, extra: int) -> Any:
    """A bound inside the range of the result, and of the type that is drawn."""
    least, most = int(limits.min), min(int(limits.max) + extra, int(xp.iinfo(drawn).max))
    if isinstance(bound, int):
        return min(max(bound, least), most)
    own = xp.iinfo(bound.dtype)
    least, most = max(least, int(own.min)), min(most, int(own.max))
    return xp.astype(xp.clip(bound, least, most), drawn)


def permutation(key: Any, x: Any, /, axis: int = 0) -> Any:
    """A random order of 0 ... x - 1, or of the slices of an array along an axis.

    >>> import trellis
    >>> trellis.random.permutation(trellis.random.key(0), 5)
    array([0, 1, 4, 3, 2])
    """
    if isinstance(x, int):
        xp = _of(key)
        return xp.astype(xp.random.permutation(key, x), xp.asarray(0).dtype, copy=False)
    xp = xp_of_all(_key_data(key), x)
    axis = normal_axis(axis, len(x.shape))
    return xp.take(x, xp.random.permutation(key, int(x.shape[axis])), axis=axis)


def choice(
    key: Any, a: Any, /, shape: Shape = (), replace: bool = True, p: Any = None, axis: int = 0
) -> Any:
    """Draw from 0 ... a - 1, or from the slices of an array along an axis, with weights `p` if given.

    >>> import trellis
    >>> trellis.random.choice(trellis.random.key(0), 5, (3,), replace=False)
    array([0, 1, 4])
    """
    is_number = isinstance(a, int)
    xp = _of(key) if is_number else xp_of_all(_key_data(key), a, p)
    sizes = as_shape(shape)
    axis = 0 if is_number else normal_axis(axis, len(a.shape))
    population = a if is_number else int(a.shape[axis])
    draws = prod(sizes)
    if population <= 0 and draws > 0:
        raise ArgumentError("choice cannot draw from nothing.")
    if not replace and draws > population:
        raise ArgumentError(
            f"replace=False cannot draw {draws} different elements out of {population}."
        )
    if p is not None and tuple(p.shape) != (population,):
        raise ShapeError(
            f"p needs one weight for each of the {population} elements, got the shape {tuple(p.shape)}."
        )
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
    return xp.reshape(taken, (*a.shape[:axis], *sizes, *a.shape[axis + 1 :]))


def _weighted_choice(xp: Any, key: Any, p: Any, draws: int, replace: bool) -> Any:
    native = _float(xp, None, p, function="choice")
    p = xp.astype(p, native, copy=False)
    if replace:
        sums = xp.cumulative_sum(p)
        r = sums[-1] * (1 - xp.random.uniform(key, (draws,), native))
        return xp.searchsorted(sums, r)
    log_p = xp.where(p > 0, xp.log(xp.where(p > 0, p, 1.0)), -float("inf") + xp.zeros_like(p))
    order = log_p + gumbel(key, tuple(p.shape), native)
    return xp.topk(order, draws)[1]


def categorical(key: Any, logits: Any, /, axis: int = -1, shape: Shape | None = None) -> Any:
    """Indices drawn with probabilities in proportion to exp(logits).

    >>> import numpy as np, trellis
    >>> trellis.random.categorical(trellis.random.key(0), np.array([-np.inf, 0.0]))
    np.int64(1)
    """
    xp = xp_of_all(_key_data(key), logits)
    axis = normal_axis(axis, len(logits.shape)) - len(logits.shape)
    batch = tuple([int(n) for n in logits.shape])
    batch = batch[: len(batch) + axis] + batch[len(batch) + axis + 1 :]
    sizes = batch if shape is None else as_shape(shape)
    if broadcast_shapes(batch, sizes) != sizes:
        raise ShapeError(f"Logits of batch shape {batch} do not broadcast to {sizes}.")
    native = _float(xp, None, logits, function="categorical")
    # The categories stand at the same place, counted from the end, as in `logits`.
    at = len(sizes) + axis + 1
    noise = gumbel(key, (*sizes[:at], int(logits.shape[axis]), *sizes[at:]), native)
    return xp.argmax(noise + xp.astype(logits, native, copy=False), axis=axis)


# Gamma and its kin -----------------------------------------------------------------------------------


def gamma(key: Any, a: Any, /, shape: Shape | None = None, dtype: DTypeLike | None = None) -> Any:
    """Gamma samples with shape parameter `a` and scale 1; differentiable in `a`.

    >>> import trellis
    >>> trellis.random.gamma(trellis.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    return _gamma(key, a, shape, dtype, False)


def _gamma(key: Any, a: Any, shape: Any, dtype: Any, log_space: bool) -> Any:
    xp = xp_of_all(_key_data(key), a)
    native = _float(xp, dtype, a, function="gamma")
    sizes = result_shape(shape, a)
    return xp.random.gamma(key, xp.broadcast_to(param(xp, a, native, key), sizes), log_space)


def beta(
    key: Any, a: Any, b: Any, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Beta samples; differentiable in both parameters.

    >>> import trellis
    >>> trellis.random.beta(trellis.random.key(0), 2.0, 3.0, (3,)).shape
    (3,)
    """
    xp = xp_of_all(_key_data(key), a, b)
    name = float_name(xp, dtype, a, b)
    sizes = result_shape(shape, a, b)
    keys = split(key)
    x = _gamma(keys[0], a, sizes, name, True)
    y = _gamma(keys[1], b, sizes, name, True)
    largest = xp.maximum(x, y)
    x, y = xp.exp(x - largest), xp.exp(y - largest)
    return x / (x + y)


def dirichlet(
    key: Any, alpha: Any, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Dirichlet samples: the last axis of `alpha` holds the components, which add up to 1.

    >>> import numpy as np, trellis
    >>> trellis.random.dirichlet(trellis.random.key(0), np.ones(3), (2,)).shape
    (2, 3)
    """
    if not hasattr(alpha, "shape") or len(alpha.shape) < 1:
        raise ShapeError("dirichlet needs an array alpha with at least one axis, the components.")
    xp = xp_of_all(_key_data(key), alpha)
    sizes = tuple(alpha.shape[:-1]) if shape is None else as_shape(shape)
    logs = _gamma(key, alpha, (*sizes, int(alpha.shape[-1])), float_name(xp, dtype, alpha), True)
    weights = xp.exp(logs - xp.max(logs, axis=-1, keepdims=True))
    return weights / xp.sum(weights, axis=-1, keepdims=True)


def poisson(
    key: Any, lam: Any, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Poisson samples with rate `lam`, as the default integer unless a dtype is named.

    The method decides by comparing logarithms in float32: about one draw in a thousand at a rate of 10**4, and
    far fewer at small rates, may differ between backends.

    >>> import trellis
    >>> trellis.random.poisson(trellis.random.key(0), 3.0, (4,)).shape
    (4,)
    """
    xp = xp_of_all(_key_data(key), lam)
    native = xp.asarray(0).dtype if dtype is None else xp.as_dtype(name_of(dtype))
    rate = param(xp, lam, xp.float32, key)
    return xp.random.poisson(key, xp.broadcast_to(rate, result_shape(shape, lam)), native)
