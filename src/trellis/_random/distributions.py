"""Continuous distributions, and Poisson's, by key."""

from math import inf, log, pi, sqrt
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_whole
from .._core.shapes import broadcast_shapes
from .._core.typing import A, Array, Backend, DTypeLike, Shape
from .arguments import (
    as_shape,
    check_array,
    check_below,
    check_float_name,
    check_number,
    check_values,
    draw_dtype,
    float_name,
    int_dtype,
    param,
    result_shape,
    scaled_uniform,
)
from .keys import backend_of_key, key_data, split


def uniform(
    key: A,
    /,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: float | Array = 0.0,
    maxval: float | Array = 1.0,
) -> A:
    """Uniform samples in [minval, maxval).

    Bit-equal to `jax.random` for the default range; for another one a compiler may differ in the
    last bit, and where rounding makes JAX return `maxval`, this does not.

    >>> import trellis
    >>> trellis.random.uniform(trellis.random.key(0))
    array(0.947667, dtype=float32)
    """
    try:
        minval = check_number("uniform", "minval", minval)
        maxval = check_number("uniform", "maxval", maxval)
        xp = xp_of_all(key_data(key), minval, maxval)
        native = draw_dtype(xp, dtype, function="uniform")
        check_below(xp, "uniform", minval, maxval, "minval <= maxval", True)
        u = xp.random.uniform(key, as_shape(shape), native)
        if (
            not hasattr(minval, "dtype")
            and not hasattr(maxval, "dtype")
            and minval == 0
            and maxval == 1
        ):
            return u
        return scaled_uniform(xp, u, param(xp, minval, native, key), param(xp, maxval, native, key))
    except Exception as error:
        return explain(error, uniform)


def bernoulli(key: A, /, p: float | Array = 0.5, shape: Shape | None = None) -> A:
    """True with probability `p`.

    >>> import trellis
    >>> trellis.random.bernoulli(trellis.random.key(0), 0.9, (4,))
    array([False, False,  True,  True])
    """
    try:
        p = check_number("bernoulli", "p", p)
        xp = xp_of_all(key_data(key), p)
        check_values(xp, "bernoulli", "p", p, lambda p: (p >= 0) & (p <= 1), "from 0 to 1")
        native = draw_dtype(xp, None, p, function="bernoulli")
        return xp.random.uniform(key, result_shape(shape, p), native) < param(xp, p, native, key)
    except Exception as error:
        return explain(error, bernoulli)


def exponential(key: A, /, shape: Shape = (), dtype: DTypeLike | None = None) -> A:
    """Exponential samples with rate 1.

    >>> import trellis
    >>> trellis.random.exponential(trellis.random.key(0), (2,)).shape
    (2,)
    """
    try:
        xp = backend_of_key(key)
        return -xp.log1p(
            -xp.random.uniform(key, as_shape(shape), draw_dtype(xp, dtype, function="exponential"))
        )
    except Exception as error:
        return explain(error, exponential)


def gumbel(key: A, /, shape: Shape = (), dtype: DTypeLike | None = None) -> A:
    """Standard Gumbel samples.

    >>> import trellis
    >>> trellis.random.gumbel(trellis.random.key(0), (2,)).shape
    (2,)
    """
    try:
        xp = backend_of_key(key)
        native = draw_dtype(xp, dtype, function="gumbel")
        u = xp.random.uniform(key, as_shape(shape), native)
        tiny = {"float16": 2.0**-14, "float64": 2.0**-1022}.get(xp.dtype_name(native), 2.0**-126)
        return -xp.log(-xp.log(xp.maximum(u, param(xp, tiny, native, key))))
    except Exception as error:
        return explain(error, gumbel)


def normal(key: A, /, shape: Shape = (), dtype: DTypeLike | None = None) -> A:
    """Standard normal samples.

    >>> import trellis
    >>> trellis.random.normal(trellis.random.key(0), (2,)).shape
    (2,)
    """
    try:
        xp = backend_of_key(key)
        return xp.random.normal(key, as_shape(shape), draw_dtype(xp, dtype, function="normal"))
    except Exception as error:
        return explain(error, normal)


def truncated_normal(
    key: A,
    lower: float | Array,
    upper: float | Array,
    /,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> A:
    """Standard normal samples that lie between `lower` and `upper`, far out in the tails too.

    >>> import trellis
    >>> x = trellis.random.truncated_normal(trellis.random.key(0), -2.0, 2.0, (1000,))
    >>> bool(abs(x).max() < 2)
    True
    """
    try:
        lower = check_number("truncated_normal", "lower", lower)
        upper = check_number("truncated_normal", "upper", upper)
        xp = xp_of_all(key_data(key), lower, upper)
        check_below(xp, "truncated_normal", lower, upper, "lower < upper", False)
        native = draw_dtype(xp, dtype, function="truncated_normal")
        sizes = result_shape(shape, lower, upper)
        low, high = param(xp, lower, native, key), param(xp, upper, native, key)
        u = xp.random.uniform(key, sizes, native)
        is_short = xp.dtype_name(native) in ("float16", "bfloat16")
        if is_short:
            # Too few digits to count in; the result may then be rounded to a bound.
            low, high, u = [xp.astype(x, xp.float32) for x in (low, high, u)]
        draw: Any = _truncated(xp, u, low, high, lower, upper)
        return xp.astype(draw, native) if is_short else draw
    except Exception as error:
        return explain(error, truncated_normal)


# From here on the error function has too few digits left: 1 - erf(3 / sqrt(2)) is 0.0027.
_TAIL = 3.0


def _truncated(xp: Backend, u: Array, low: Array, high: Array, lower: Array | float,
               upper: Array | float) -> Any:  # fmt: skip
    """`lower` and `upper` are the bounds as given: numbers decide at once which way to go."""
    is_plain = not hasattr(lower, "dtype") and not hasattr(upper, "dtype")
    if is_plain and lower < _TAIL and upper > -_TAIL:
        draw = _in_the_middle(xp, u, low, high)
    elif is_plain:
        draw = _in_the_tail(xp, u, low, high) if lower > 0 else -_in_the_tail(xp, u, -high, -low)
    else:
        is_left = high <= -_TAIL
        is_tail = is_left | (low >= _TAIL)
        a = xp.where(is_tail, xp.where(is_left, -high, low), xp.full_like(low, _TAIL))
        b = xp.where(is_tail, xp.where(is_left, -low, high), xp.full_like(low, _TAIL + 1))
        far = _in_the_tail(xp, u, a, b)
        zero = xp.zeros_like(low)
        near = _in_the_middle(
            xp, u, xp.where(is_tail, zero - 1, low), xp.where(is_tail, zero + 1, high)
        )
        draw = xp.where(is_tail, xp.where(is_left, -far, far), near)
    return xp.minimum(
        xp.maximum(draw, xp.nextafter(low, xp.full_like(low, inf))),
        xp.nextafter(high, xp.full_like(high, -inf)),
    )


def _in_the_middle(xp: Backend, u: Array, low: Array, high: Array) -> Any:
    a, b = xp.erf(low / sqrt(2)), xp.erf(high / sqrt(2))
    return xp.random.erfinv(xp.maximum(u * (b - a) + a, a)) * sqrt(2)


def _in_the_tail(xp: Backend, u: Array, a: Array, b: Array) -> Any:
    """Between 0 < a < b: the x whose tail is that of `a` times a factor, found by Newton's method.

    The logarithm of the tail is smooth and nearly a parabola, so four steps are enough for float64.
    """
    log_a, log_b = _log_tail(xp, a), _log_tail(xp, xp.minimum(b, xp.full_like(b, 1e4)))
    # What of the tail of `a` lies beyond x, as a logarithm: from 0 at `a` to that of `b`.
    beyond = xp.log1p(u * xp.expm1(log_b - log_a))
    x = xp.sqrt(a * a - 2 * beyond)
    for _ in range(4):
        log_x = _log_tail(xp, x)
        hazard = xp.exp(-x * x / 2 - log_x) / sqrt(2 * pi)
        x = x + (log_x - log_a - beyond) / hazard
    return x


# The complementary error function as t exp(-z**2 + polynomial(t)), t = 1 / (1 + z / 2): Press et
# al., Numerical Recipes, good to 1.2e-7 everywhere, so also for the density of these draws.
_TAIL_COEFFICIENTS = (
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
    -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223,
)  # fmt: skip


def _log_tail(xp: Backend, x: Array) -> Any:
    """log of the probability that a normal number is above `x`, which is positive."""
    t = 1 / (1 + x * (sqrt(2) / 4))
    polynomial = xp.zeros_like(t)
    for coefficient in _TAIL_COEFFICIENTS:
        polynomial = polynomial * t + coefficient
    return xp.log(t) - x * x / 2 + polynomial - log(2)


def multivariate_normal(
    key: A, mean: A, cov: A, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> A:
    """Normal samples with a mean vector and a covariance matrix, by Cholesky's factor of it.

    >>> import numpy as np, trellis
    >>> key = trellis.random.key(0)
    >>> trellis.random.multivariate_normal(key, np.zeros(2), np.eye(2), (5,)).shape
    (5, 2)
    """
    try:
        for what, array in (("mean", mean), ("cov", cov)):
            check_array("multivariate_normal", what, array)
        xp = xp_of_all(key_data(key), mean, cov)
        if (
            len(mean.shape) < 1
            or len(cov.shape) < 2
            or tuple(cov.shape[-2:]) != (mean.shape[-1],) * 2
        ):
            raise ShapeError(
                "multivariate_normal needs a mean (..., n) and a covariance (..., n, n), got "
                f"{tuple(mean.shape)} and {tuple(cov.shape)}."
            )
        native = draw_dtype(xp, dtype, mean, cov, function="multivariate_normal")
        batch = broadcast_shapes(tuple(mean.shape[:-1]), tuple(cov.shape[:-2]))
        sizes = batch if shape is None else as_shape(shape)
        if broadcast_shapes(batch, sizes) != sizes:
            raise ShapeError(f"Parameters of batch shape {batch} do not broadcast to {sizes}.")
        check_values(xp, "multivariate_normal", "cov", cov, xp.isfinite, "of finite numbers")
        z = xp.random.normal(key, (*sizes, mean.shape[-1]), native)
        factor = xp.linalg.cholesky(xp.astype(cov, native, copy=False))
        spread = xp.matmul(factor, xp.expand_dims(z, axis=-1))
        return xp.astype(mean, native, copy=False) + xp.squeeze(spread, axis=-1)
    except Exception as error:
        return explain(error, multivariate_normal)


def orthogonal(
    key: A, n: int, /, shape: Shape = (), dtype: DTypeLike | None = None, m: int | None = None
) -> A:
    """Matrices (n, m) with orthonormal rows or columns, uniform among all of them.

    >>> import numpy as np, trellis
    >>> q = trellis.random.orthogonal(trellis.random.key(0), 3)
    >>> bool(np.allclose(q @ q.T, np.eye(3), atol=1e-5))
    True
    """
    try:
        xp = backend_of_key(key)
        m = n if m is None else m
        check_whole((n, m))
        z = xp.random.normal(
            key,
            (*as_shape(shape), max(n, m), min(n, m)),
            draw_dtype(xp, dtype, function="orthogonal"),
        )
        q, r = xp.linalg.qr(z)
        signs = xp.sign(xp.linalg.diagonal(r))
        q = q * xp.expand_dims(signs, axis=-2)
        return xp.matrix_transpose(q) if n < m else q
    except Exception as error:
        return explain(error, orthogonal)


def gamma(
    key: A, a: float | Array, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> A:
    """Gamma samples with shape parameter `a` and scale 1; differentiable in `a`.

    >>> import trellis
    >>> trellis.random.gamma(trellis.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    try:
        draws: A = _gamma("gamma", "a", key, a, shape, dtype, False)
        return draws
    except Exception as error:
        return explain(error, gamma)


def _gamma(name: str, what: str, key: Array, a: Array | float, shape: Shape | None,
           dtype: DTypeLike | None, log_space: bool) -> Any:  # fmt: skip
    a = check_number(name, what, a)
    xp = xp_of_all(key_data(key), a)
    check_values(xp, name, what, a, lambda a: (a > 0) & (a < inf), "above 0 and finite")
    native = draw_dtype(xp, dtype, a, function=name)
    sizes = result_shape(shape, a)
    return xp.random.gamma(key, xp.broadcast_to(param(xp, a, native, key), sizes), log_space)


def beta(
    key: A,
    a: float | Array,
    b: float | Array,
    /,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> A:
    """Beta samples; differentiable in both parameters.

    >>> import trellis
    >>> trellis.random.beta(trellis.random.key(0), 2.0, 3.0, (3,)).shape
    (3,)
    """
    try:
        a, b = check_number("beta", "a", a), check_number("beta", "b", b)
        xp = xp_of_all(key_data(key), a, b)
        name = float_name(xp, dtype, a, b)
        sizes = result_shape(shape, a, b)
        keys = split(key)
        x = _gamma("beta", "a", keys[0, ...], a, sizes, name, True)
        y = _gamma("beta", "b", keys[1, ...], b, sizes, name, True)
        largest = xp.maximum(x, y)
        x, y = xp.exp(x - largest), xp.exp(y - largest)
        draws: A = x / (x + y)
        return draws
    except Exception as error:
        return explain(error, beta)


def dirichlet(key: A, alpha: A, /, shape: Shape | None = None, dtype: DTypeLike | None = None) -> A:
    """Dirichlet samples: the last axis of `alpha` holds the components, which add up to 1.

    >>> import numpy as np, trellis
    >>> trellis.random.dirichlet(trellis.random.key(0), np.ones(3), (2,)).shape
    (2, 3)
    """
    try:
        if not hasattr(alpha, "shape") or len(alpha.shape) < 1:
            raise ShapeError(
                "dirichlet needs an array alpha with at least one axis, the components."
            )
        xp = xp_of_all(key_data(key), alpha)
        sizes = tuple(alpha.shape[:-1]) if shape is None else as_shape(shape)
        full = (*sizes, int(alpha.shape[-1]))
        name = float_name(xp, dtype, alpha)
        check_float_name(name, "dirichlet")
        alpha = xp.astype(alpha, name, copy=False)
        logs = _gamma("dirichlet", "alpha", key, alpha, full, name, True)
        weights = xp.exp(logs - xp.max(logs, axis=-1, keepdims=True))
        return weights / xp.sum(weights, axis=-1, keepdims=True)
    except Exception as error:
        return explain(error, dirichlet)


def poisson(
    key: A, lam: float | Array, /, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> A:
    """Poisson samples with rate `lam`, as the default integer unless a dtype is named.

    The method decides by comparing logarithms in float32: a few draws in a million may differ
    between backends. They are those of `jax.random`, but for large rates, where its own are
    rounded: from 10**5 on their variance is off. In a compiled function a rate that is negative,
    infinite or nan gives -1.

    >>> import trellis
    >>> trellis.random.poisson(trellis.random.key(0), 3.0, (4,)).shape
    (4,)
    """
    try:
        lam = check_number("poisson", "lam", lam)
        xp = xp_of_all(key_data(key), lam)
        native = int_dtype(xp, dtype)
        # Ten standard deviations below what the integers hold.
        most = float(xp.iinfo(native).max) if xp.isdtype(native, "integral") else 2.0**62
        most = most - 10 * sqrt(most)
        check_values(
            xp, "poisson", "a rate", lam, lambda lam: (lam >= 0) & (lam <= most),
            f"from 0 to {most:.3g}, as {xp.dtype_name(native)} can hold",
        )  # fmt: skip
        rate = param(xp, lam, xp.float32, key)
        return xp.random.poisson(key, xp.broadcast_to(rate, result_shape(shape, lam)), native)
    except Exception as error:
        return explain(error, poisson)
