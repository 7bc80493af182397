"""Functions of the gamma family with torch's values at their poles and at infinity."""

from typing import Any

from ..._core.dispatch import xp_of
from ..._core.typing import Array
from .special import digamma, lgamma


def _at_a_pole(x: Array) -> Any:
    """At 0, -1, -2, ..."""
    xp = xp_of(x)
    return xp.logical_and(xp.less_equal(x, 0.0), xp.equal(x, xp.floor(x)))


def lgamma_with_poles(x: Array, /) -> Any:
    """The logarithm of |gamma|: infinite at the poles and at both infinities.

    >>> import numpy as np
    >>> lgamma_with_poles(np.array([1.0, 0.0, -np.inf]))
    array([ 0., inf, inf])
    """
    xp = xp_of(x)
    is_special = xp.logical_or(_at_a_pole(x), xp.isinf(x))
    found = lgamma(xp.where(is_special, xp.ones_like(x), x))
    return xp.where(is_special, xp.full_like(x, float("inf")), found)


def digamma_with_poles(x: Array, /) -> Any:
    """The derivative of `lgamma`: at 0 the infinity of the other sign, nan at the other poles.

    >>> import numpy as np
    >>> digamma_with_poles(np.array([0.0, -0.0, -1.0, np.inf]))
    array([-inf,  inf,  nan,  inf])
    """
    xp = xp_of(x)
    is_special = xp.logical_or(_at_a_pole(x), xp.isinf(x))
    found = digamma(xp.where(is_special, xp.ones_like(x), x))
    infinite = xp.full_like(x, float("inf"))
    at_zero = xp.where(xp.signbit(x), infinite, -infinite)
    special = xp.where(
        xp.equal(x, 0.0), at_zero, xp.where(xp.greater(x, 0.0), infinite, float("nan"))
    )
    return xp.where(is_special, special, found)
