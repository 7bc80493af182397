"""The logistic function, its inverse and logarithm, and softplus with its relatives."""

import math
from typing import Any

from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated
from ._numbers import INF, NAN, less_parts, log1p

# In two parts, the first a number of float32.
_LOG_2 = (0.6931471824645996, -1.904654299957768e-09)


def expit(x: A, /) -> A:
    """The logistic function 1 / (1 + exp(-x)).

    >>> import numpy as np, trellis
    >>> trellis.special.expit(np.array([0.0, 2.0])).round(6)
    array([0.5     , 0.880797])
    """
    try:
        return evaluated("expit", _expit, lambda y, x: [expit(x) * expit(-x)], x, has_kernels=True)
    except Exception as error:
        return explain(error, expit)


def _expit(xp: Backend, x: Any) -> Any:
    # One exponential of a number below 0, so that nothing overflows and small results keep digits.
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0.0, small, 1.0) / (1.0 + small)


def logit(p: A, /) -> A:
    """The logarithm of the odds, log(p / (1 - p)): the inverse of `expit`.

    >>> import numpy as np, trellis
    >>> trellis.special.logit(np.array([0.5, 0.9])).round(6)
    array([0.      , 2.197225])
    """
    try:
        return evaluated("logit", _logit, lambda y, p: [1.0 / (p * (1.0 - p))], p, has_kernels=True)
    except Exception as error:
        return explain(error, logit)


def _logit(xp: Backend, p: Any) -> Any:
    is_middle = xp.logical_and(p > 0.3, p < 0.65)
    # 2 p - 1 is exact here, and keeps the digits next to the zero at 1/2.
    near = xp.where(is_middle, p, 0.5)
    middle = log1p(xp, (2.0 * near - 1.0) / (1.0 - near))
    inside = xp.logical_and(p > 0.0, p < 1.0)
    safe = xp.where(inside, p, 0.5)
    found = xp.where(is_middle, middle, xp.log(safe / (1.0 - safe)))
    found = xp.where(p == 0.0, -INF, xp.where(p == 1.0, INF, found))
    return xp.where(xp.logical_and(p >= 0.0, p <= 1.0), found, NAN)


def log_expit(x: A, /) -> A:
    """The logarithm of `expit`.

    >>> import numpy as np, trellis
    >>> trellis.special.log_expit(np.array([-1000.0, 0.0])).round(6)
    array([-1.00000e+03, -6.93147e-01])
    """
    try:
        return evaluated(
            "log_expit", lambda xp, x: -_softplus(xp, -x), _log_expit_slopes, x, has_kernels=True
        )
    except Exception as error:
        return explain(error, log_expit)


def _log_expit_slopes(y: Any, x: Array) -> list[Any]:
    return [expit(-x)]


def _softplus(xp: Backend, x: Any) -> Any:
    return xp.maximum(x, 0.0) + log1p(xp, xp.exp(-xp.abs(x)))


def softplus_inverse(y: A, /) -> A:
    """The inverse of `softplus`, log(exp(y) - 1), for y > 0.

    >>> import numpy as np, trellis
    >>> trellis.special.softplus_inverse(np.array([0.693147, 1000.0])).round(5)
    array([  -0., 1000.])
    """
    try:
        return evaluated("softplus_inverse", _softplus_inverse, _softplus_inverse_slopes, y)
    except Exception as error:
        return explain(error, softplus_inverse)


def _softplus_inverse_slopes(x: Any, y: Array) -> list[Any]:
    return [-1.0 / xp_of(y).expm1(-y)]


def _softplus_inverse(xp: Backend, y: Any) -> Any:
    positive = xp.where(y > 0.0, y, 1.0)
    # Next to the zero at log 2, exp(y) - 2 is what the logarithm needs.
    apart = positive - math.log(2.0)
    is_middle = xp.abs(apart) < 0.25
    exact = xp.where(is_middle, less_parts(xp, positive, _LOG_2), 0.0)
    middle = log1p(xp, 2.0 * xp.expm1(exact))
    small = xp.log(xp.expm1(xp.minimum(positive, 1.0)))
    large = positive + _log1mexp(xp, xp.maximum(positive, 0.5))
    found = xp.where(is_middle, middle, xp.where(positive < 0.7, small, large))
    found = xp.where(y == 0.0, -INF, xp.where(y == INF, INF, found))
    return xp.where(y >= 0.0, found, NAN)


def log1mexp(x: A, /) -> A:
    """log(1 - exp(-x)) for x > 0, exact for small and for large numbers.

    >>> import numpy as np, trellis
    >>> trellis.special.log1mexp(np.array([1e-20, 1.0])).round(6)
    array([-46.051702,  -0.458675])
    """
    try:
        return evaluated("log1mexp", _log1mexp, lambda y, x: [1.0 / xp_of(x).expm1(x)], x)
    except Exception as error:
        return explain(error, log1mexp)


def _log1mexp(xp: Backend, x: Any) -> Any:
    positive = xp.where(x > 0.0, x, 1.0)
    is_small = positive < 0.6931471805599453
    small = xp.log(-xp.expm1(-xp.where(is_small, positive, 0.5)))
    large = log1p(xp, -xp.exp(-xp.where(is_small, 1.0, positive)))
    found = xp.where(is_small, small, large)
    return xp.where(x > 0.0, found, xp.where(x == 0.0, -INF, NAN))
