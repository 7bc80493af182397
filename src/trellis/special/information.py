"""Entropies, and products with logarithms that are 0 where the factor is."""

from typing import Any

from .._core.dispatch import xp_of_all
from .._core.explain import explain
from .._core.typing import A, Array, Backend
from ._calling import evaluated
from ._numbers import INF, NAN, log1p, log1p_less


def xlogy(x: A, y: A, /) -> A:
    """x log(y), and 0 where x is 0 (unless y is nan).

    >>> import numpy as np, trellis
    >>> trellis.special.xlogy(np.array([0.0, 2.0]), np.array([0.0, 3.0])).round(6)
    array([0.      , 2.197225])
    """
    try:
        return evaluated("xlogy", _xlogy, _xlogy_slopes, x, y, has_kernels=True)
    except Exception as error:
        return explain(error, xlogy)


def _xlogy(xp: Backend, x: Any, y: Any) -> Any:
    is_zero = xp.logical_and(x == 0.0, xp.logical_not(xp.isnan(y)))
    return xp.where(is_zero, 0.0, x * xp.log(xp.where(is_zero, 1.0, y)))


def _xlogy_slopes(value: Any, x: Array, y: Array) -> list[Any]:
    xp = xp_of_all(x, y)
    is_zero = x == 0.0
    return [xp.log(y), xp.where(is_zero, 0.0, x / xp.where(is_zero, 1.0, y))]


def xlog1py(x: A, y: A, /) -> A:
    """x log(1 + y), and 0 where x is 0 (unless y is nan).

    >>> import numpy as np, trellis
    >>> trellis.special.xlog1py(np.array([0.0, 2.0]), np.array([-1.0, 1e-20]))
    array([0.e+00, 2.e-20])
    """
    try:
        return evaluated("xlog1py", _xlog1py, _xlog1py_slopes, x, y, has_kernels=True)
    except Exception as error:
        return explain(error, xlog1py)


def _xlog1py(xp: Backend, x: Any, y: Any) -> Any:
    is_zero = xp.logical_and(x == 0.0, xp.logical_not(xp.isnan(y)))
    return xp.where(is_zero, 0.0, x * log1p(xp, xp.where(is_zero, 1.0, y)))


def _xlog1py_slopes(value: Any, x: Array, y: Array) -> list[Any]:
    xp = xp_of_all(x, y)
    is_zero = x == 0.0
    return [xp.log1p(y), xp.where(is_zero, 0.0, x / xp.where(is_zero, 1.0, 1.0 + y))]


def entr(x: A, /) -> A:
    """-x log(x), 0 at 0, and -inf below.

    >>> import numpy as np, trellis
    >>> trellis.special.entr(np.array([0.0, 0.5])).round(6)
    array([0.      , 0.346574])
    """
    try:
        return evaluated(
            "entr", _entr, lambda y, x: [-1.0 - xp_of_all(x).log(x)], x, has_kernels=True
        )
    except Exception as error:
        return explain(error, entr)


def _entr(xp: Backend, x: Any) -> Any:
    is_inside = x > 0.0
    found = xp.where(is_inside, -x * xp.log(xp.where(is_inside, x, 1.0)), 0.0)
    found = xp.where(x < 0.0, -INF, found)
    return xp.where(xp.isnan(x), NAN, found)


def rel_entr(x: A, y: A, /) -> A:
    """x log(x / y) for x > 0 and y > 0, 0 where x is 0 and y not below; infinite elsewhere.

    >>> import numpy as np, trellis
    >>> trellis.special.rel_entr(np.array([0.0, 0.5]), np.array([0.5, 0.25])).round(6)
    array([0.      , 0.346574])
    """
    try:
        return evaluated("rel_entr", _rel_entr, _rel_entr_slopes, x, y, has_kernels=True)
    except Exception as error:
        return explain(error, rel_entr)


def _rel_entr(xp: Backend, x: Any, y: Any) -> Any:
    inside, at_zero, is_nan = _places(xp, x, y)
    p, q = xp.where(inside, x, 1.0), xp.where(inside, y, 1.0)
    found = xp.where(inside, p * _log_ratio(xp, p, q), xp.where(at_zero, 0.0, INF))
    return xp.where(is_nan, NAN, found)


def _log_ratio(xp: Backend, p: Any, q: Any) -> Any:
    """log(p / q), exact for numbers that are near each other or far apart."""
    is_near = xp.logical_and(p < 2.2 * q, q < 2.2 * p)
    apart = xp.where(is_near, (p - q) / q, 0.0)
    quotient = p / q
    # A quotient outside of the range of floats has a logarithm inside.
    is_out = xp.logical_or(quotient == 0.0, xp.isinf(quotient))
    far = xp.where(is_out, xp.log(p) - xp.log(q), xp.log(xp.where(is_out, 1.0, quotient)))
    return xp.where(is_near, log1p(xp, apart), far)


def _places(xp: Backend, x: Any, y: Any) -> tuple[Any, Any, Any]:
    inside = xp.logical_and(x > 0.0, y > 0.0)
    at_zero = xp.logical_and(x == 0.0, y >= 0.0)
    return inside, at_zero, xp.logical_or(xp.isnan(x), xp.isnan(y))


def _rel_entr_slopes(value: Any, x: Array, y: Array) -> list[Any]:
    xp = xp_of_all(x, y)
    return [xp.log(x / y) + 1.0, -x / y]


def kl_div(x: A, y: A, /) -> A:
    """x log(x / y) - x + y for x > 0 and y > 0, y where x is 0 and y not below; infinite elsewhere.

    >>> import numpy as np, trellis
    >>> trellis.special.kl_div(np.array([0.0, 0.5]), np.array([0.5, 0.25])).round(6)
    array([0.5     , 0.096574])
    """
    try:
        return evaluated("kl_div", _kl_div, _kl_div_slopes, x, y)
    except Exception as error:
        return explain(error, kl_div)


def _kl_div(xp: Backend, x: Any, y: Any) -> Any:
    inside, at_zero, is_nan = _places(xp, x, y)
    p, q = xp.where(inside, x, 1.0), xp.where(inside, y, 1.0)
    # p (r - log1p(r)) with r = (q - p) / p does not cancel where p is near q.
    r = (q - p) / p
    is_near = xp.logical_and(r > -0.55, r < 1.2)
    near = -p * log1p_less(xp, xp.where(is_near, r, 0.0))
    far = p * _log_ratio(xp, p, q) + (q - p)
    found = xp.where(is_near, near, far)
    found = xp.where(inside, found, xp.where(at_zero, y, INF))
    return xp.where(is_nan, NAN, found)


def _kl_div_slopes(value: Any, x: Array, y: Array) -> list[Any]:
    xp = xp_of_all(x, y)
    return [xp.log(x / y), 1.0 - x / y]
