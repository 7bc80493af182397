"""The scaled error function, the normal distribution function, and inverses.

`erf`, `erfc` and `erfinv` of `trellis.special` are those of `trellis`.
"""

import math
from typing import Any

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated
from ._numbers import INF, NAN, exp_of_half_square, exp_of_square, horner, log1p, on_piece

_ROOT_HALF = math.sqrt(0.5)
_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_PI = math.sqrt(math.pi)
# 1, -1 * 3, 1 * 3 * 5, ...
_ODD_FACTORIALS = tuple([(-1.0) ** k * math.prod(range(1, 2 * k + 2, 2)) for k in range(16)])
# Below, erf is a short polynomial; above, all is by erfcx.
_NEAR = 0.5


def erf_of(xp: Backend, x: Any) -> Any:
    """The error function, without its derivative; the same on every backend."""
    size = xp.abs(x)
    far = xp.maximum(size, _NEAR)
    away = 1.0 - exp_of_square(xp, far) * erfcx_of_positive(xp, far)
    return xp.where(size < _NEAR, _erf_near(xp, x), xp.where(x < 0.0, -away, away))


def _erf_near(xp: Backend, x: Any) -> Any:
    near = xp.clip(x, -_NEAR, _NEAR)
    return near * on_piece(xp, near * near, table.ERF_NEAR)


def erfc_of(xp: Backend, x: Any) -> Any:
    """1 - erf(x), without its derivative; the same on every backend."""
    far = xp.maximum(xp.abs(x), _NEAR)
    away = exp_of_square(xp, far) * erfcx_of_positive(xp, far)
    away = xp.where(x < 0.0, 2.0 - away, away)
    return xp.where(xp.abs(x) < _NEAR, 1.0 - _erf_near(xp, x), away)


def erfcx(x: A, /) -> A:
    """exp(x**2) erfc(x), which stays a number of ordinary size where erfc underflows.

    >>> import numpy as np, trellis
    >>> trellis.special.erfcx(np.array([0.0, 1.0, 100.0])).round(6)
    array([1.      , 0.427584, 0.005642])
    """
    try:
        return evaluated("erfcx", _erfcx, _erfcx_slopes, x, has_kernels=True)
    except Exception as error:
        return explain(error, erfcx)


def _erfcx_slopes(y: Any, x: Array) -> list[Any]:
    xp = xp_of(x)
    near = 2.0 * xp.minimum(x, 8.0) * y() - 2.0 / _ROOT_PI
    # Further on these cancel; the rest is a series in t = 1 / (2 x**2).
    is_far = x > 8.0
    far = xp.where(is_far, x, 8.0)
    t = 0.5 / (far * far)
    return [xp.where(is_far, (-2.0 / _ROOT_PI) * t * horner(t, _ODD_FACTORIALS), near)]


def erfcx_of_positive(xp: Backend, x: Any) -> Any:
    """`erfcx` for numbers of 1/2 at least."""
    # Above, only 1 / (x sqrt(pi)) is left; the quotient would be inf / inf at infinity.
    near = xp.clip(x, _NEAR, 1e8)
    t = (near - 4.0) / (near + 4.0)
    far = 1.0 / (xp.maximum(x, 1.0) * _ROOT_PI)
    return xp.where(x < 1e8, on_piece(xp, t, table.ERFCX) / (1.0 + 2.0 * near), far)


def _erfcx(xp: Backend, x: Any) -> Any:
    near = xp.clip(x, -_NEAR, _NEAR)
    middle = xp.exp(near * near) * (1.0 - _erf_near(xp, near))
    right = erfcx_of_positive(xp, xp.abs(x))
    left = 2.0 * exp_of_square(xp, xp.where(x < 0.0, x, 0.0), 1.0) - right
    away = xp.where(x < 0.0, xp.where(x < -27.0, INF, left), right)
    return xp.where(xp.abs(x) < _NEAR, middle, away)


def ndtr(x: A, /) -> A:
    """The distribution function of the standard normal distribution.

    >>> import numpy as np, trellis
    >>> trellis.special.ndtr(np.array([-2.0, 0.0, 2.0])).round(6)
    array([0.02275, 0.5    , 0.97725])
    """
    try:
        return evaluated("ndtr", ndtr_of, lambda y, x: [_density(x)], x, has_kernels=True)
    except Exception as error:
        return explain(error, ndtr)


def _density(x: Array) -> Any:
    """The density of the standard normal distribution."""
    return evaluated(
        "ndtr",
        lambda xp, x: exp_of_half_square(xp, x) * (1.0 / _ROOT_2PI),
        lambda y, x: [-x * y()],
        x,
    )


def ndtr_of(xp: Backend, x: Any) -> Any:
    """The value of `ndtr`, without its derivative."""
    size = xp.abs(x) * _ROOT_HALF
    tail = 0.5 * exp_of_half_square(xp, x) * erfcx_of_positive(xp, size)
    middle = 0.5 + 0.5 * _erf_near(xp, x * _ROOT_HALF)
    return xp.where(size < _NEAR, middle, xp.where(x < 0.0, tail, 1.0 - tail))


def log_ndtr(x: A, /) -> A:
    """The logarithm of `ndtr`, also where that underflows.

    >>> import numpy as np, trellis
    >>> trellis.special.log_ndtr(np.array([-40.0, 0.0])).round(6)
    array([-8.04608442e+02, -6.93147000e-01])
    """
    try:
        return evaluated("log_ndtr", _log_ndtr, lambda y, x: [_hazard(x)], x, has_kernels=True)
    except Exception as error:
        return explain(error, log_ndtr)


def _hazard(x: Array) -> Any:
    """The derivative of `log_ndtr`: the density over the distribution function."""

    def formula(xp: Backend, x: Any) -> Any:
        left = math.sqrt(2 / math.pi) / erfcx_of_positive(xp, xp.maximum(-x, 1.0) * _ROOT_HALF)
        return xp.where(x < -1.0, left, exp_of_half_square(xp, x) / _ROOT_2PI / ndtr_of(xp, x))

    return evaluated("log_ndtr", formula, lambda y, x: [-y() * (x + y())], x)


def _log_ndtr(xp: Backend, x: Any) -> Any:
    size = xp.abs(x) * _ROOT_HALF
    scaled = 0.5 * erfcx_of_positive(xp, size)
    upper = 0.5 - 0.5 * _erf_near(xp, x * _ROOT_HALF)
    upper = xp.where(size < _NEAR, upper, exp_of_half_square(xp, x) * scaled)
    is_tail = xp.logical_and(x < 0.0, size >= _NEAR)
    below = xp.log(scaled) - 0.5 * x * x
    return xp.where(is_tail, below, log1p(xp, -xp.where(is_tail, 0.0, upper)))


def ndtri(p: A, /) -> A:
    """The inverse of `ndtr`: the quantiles of the standard normal distribution.

    >>> import numpy as np, trellis
    >>> trellis.special.ndtri(np.array([0.025, 0.5, 1.0])).round(6)
    array([-1.959964,  0.      ,       inf])
    """
    try:
        return evaluated("ndtri", _ndtri, _ndtri_slopes, p, has_kernels=True)
    except Exception as error:
        return explain(error, ndtri)


def _ndtri_slopes(y: Any, p: Array) -> list[Any]:
    return [_ROOT_2PI * xp_of(p).exp(0.5 * ndtri(p) ** 2)]


def _ndtri(xp: Backend, p: Any) -> Any:
    mirrored = p > 0.5
    found = lower_quantile(xp, xp.where(mirrored, 1.0 - p, p), p - 0.5)
    found = xp.where(mirrored, xp.abs(found), found)
    found = xp.where(p == 0.5, 0.0, found)
    found = xp.where(p == 0.0, -INF, xp.where(p == 1.0, INF, found))
    return xp.where(xp.logical_and(p >= 0.0, p <= 1.0), found, NAN)


def lower_quantile(xp: Backend, p: Any, q: Any, part: float = 1.0) -> Any:
    """The quantile of `part * p` up to 1/2, less than 0; `q` is `part * p` - 1/2, of any sign.

    `q` has no error of rounding. `part * p` is not computed: JAX and TensorFlow take a number
    below the normal ones for 0.
    """
    is_middle = xp.abs(q) < 0.425
    q = xp.where(is_middle, q, 0.25)
    x = q * on_piece(xp, q * q, table.NDTRI_MIDDLE)
    # One step of Halley's method on erf(x / sqrt 2) / 2 = q makes 8 digits 24.
    apart = 0.5 * erf_of(xp, x * _ROOT_HALF) - q
    step = apart * _ROOT_2PI * xp.exp(0.5 * x * x)
    middle = x - step / (1.0 + 0.5 * x * step)
    tail = xp.where(xp.logical_or(is_middle, p <= 0.0), 0.05, p)
    r = xp.sqrt(-2.0 * (xp.log(tail) + math.log(part)))
    x = -r * on_piece(xp, 1.0 / r, table.NDTRI_TAIL)
    # The same by the logarithm: ndtr(x) / p = erfcx(-x / sqrt 2) / 2 exp(-x**2 / 2) / p.
    scaled = 0.5 * erfcx_of_positive(xp, -x * _ROOT_HALF)
    apart = 1.0 - tail / exp_of_half_square(xp, x) * (part / scaled)
    step = apart * _ROOT_2PI * scaled
    tail_x = x - step / (1.0 + 0.5 * x * step)
    return xp.where(is_middle, -xp.abs(middle), tail_x)


def erfcinv(x: A, /) -> A:
    """The inverse of `erfc`.

    >>> import numpy as np, trellis
    >>> trellis.special.erfcinv(np.array([0.1, 1.0, 2.0])).round(6)
    array([1.163087, 0.      ,     -inf])
    """
    try:
        return evaluated("erfcinv", _erfcinv, _erfcinv_slopes, x, has_kernels=True)
    except Exception as error:
        return explain(error, erfcinv)


def _erfcinv_slopes(y: Any, x: Array) -> list[Any]:
    return [-0.5 * _ROOT_PI * xp_of(x).exp(erfcinv(x) ** 2)]


def _erfcinv(xp: Backend, x: Any) -> Any:
    mirrored = x > 1.0
    near = xp.where(mirrored, 2.0 - x, x)
    found = _ROOT_HALF * lower_quantile(xp, near, 0.5 * (x - 1.0), 0.5)
    found = xp.where(mirrored, found, xp.abs(found))
    found = xp.where(x == 0.0, INF, xp.where(x == 2.0, -INF, found))
    return xp.where(xp.logical_and(x >= 0.0, x <= 2.0), found, NAN)
