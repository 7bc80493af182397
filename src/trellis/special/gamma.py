"""The gamma function, its logarithm and the derivatives of that."""

import math
from typing import Any

from .._core.explain import explain
from .._core.typing import A, Array, Backend
from . import _coefficients as table
from ._calling import evaluated
from ._numbers import (
    EULER,
    HALF_LOG_2PI,
    INF,
    NAN,
    cot_half_turns,
    is_whole,
    less_parts,
    on_piece,
    sin_half_turns,
)

# Stirling's series holds from here on.
FAR = 8.0


def gammaln(x: A, /) -> A:
    """The logarithm of the absolute value of the gamma function.

    Infinite at 0, -1, -2, ...; `gammasgn` is the sign that it leaves out.

    >>> import numpy as np, trellis
    >>> trellis.special.gammaln(np.array([0.5, 5.0])).round(6)
    array([0.572365, 3.178054])
    """
    try:
        return evaluated("gammaln", _gammaln, lambda y, x: [digamma(x)], x, has_kernels=True)
    except Exception as error:
        return explain(error, gammaln)


def gammaln_of_positive(xp: Backend, x: Any) -> Any:
    """`gammaln` for numbers above 0."""
    far = xp.maximum(x, FAR)
    large = (far - 0.5) * xp.log(far) - far + HALF_LOG_2PI + stirling_rest(xp, far)
    y = xp.minimum(x, FAR)
    down, factors = y, xp.ones_like(y)
    for _ in range(6):
        is_above = down >= 2.5
        down = xp.where(is_above, down - 1.0, down)
        factors = xp.where(is_above, factors * down, factors)
    # The zeros at 1 and 2 are factors: lgamma(1 + z) = z S(z), lgamma(2 + z) = z (1 + z) R(z).
    is_tiny, is_low = y < 0.5, y < 1.5
    z = xp.where(is_tiny, y, down - 1.0)
    first = z * on_piece(xp, xp.where(is_low, z, 0.0), table.LGAMMA_NEAR_1)
    z = xp.where(is_low, 0.0, down - 2.0)
    second = z * (1.0 + z) * on_piece(xp, z, table.LGAMMA_NEAR_2)
    logs = xp.log(xp.where(is_tiny, y, factors))
    near = xp.where(is_low, first, second) + xp.where(is_tiny, -logs, logs)
    return xp.where(x < FAR, near, large)


def stirling_rest(xp: Backend, x: Any) -> Any:
    """lgamma(x) less Stirling's formula, for x of 8 at least."""
    inverse = 1.0 / x
    return inverse * on_piece(xp, inverse * inverse, table.STIRLING)


def _gammaln(xp: Backend, x: Any) -> Any:
    is_mirrored = x < 0.0
    size = xp.abs(x)
    # log(pi / |x sin(pi x)|) - lgamma(|x|)
    direct = gammaln_of_positive(xp, size)
    safe = xp.where(xp.isfinite(x), size, 0.5)
    sine = xp.abs(sin_half_turns(xp, safe))
    is_pole = xp.logical_and(x <= 0.0, sine == 0.0)
    ratio = math.pi / xp.where(xp.logical_or(sine == 0.0, safe < 1e-8), 1.0, safe * sine)
    mirrored = xp.log(ratio) - direct
    # Next to 0 the square of x would leave the range of floats.
    is_tiny = safe < 1e-8
    close = EULER * safe - xp.log(xp.where(is_tiny, xp.where(safe == 0.0, 1.0, safe), 1.0))
    mirrored = xp.where(is_tiny, close, mirrored)
    found = xp.where(is_mirrored, mirrored, direct)
    found = xp.where(xp.logical_or(is_pole, xp.isinf(x)), INF, found)
    return xp.where(x == -INF, -INF, found)


def gammasgn(x: A, /) -> A:
    """The sign of the gamma function: 1 or -1, and nan at its poles -1, -2, ...

    >>> import numpy as np, trellis
    >>> trellis.special.gammasgn(np.array([1.5, -0.5, -1.5]))
    array([ 1., -1.,  1.])
    """
    try:
        return evaluated("gammasgn", _gammasgn, lambda y, x: [0.0 * x], x)
    except Exception as error:
        return explain(error, gammasgn)


def _gammasgn(xp: Backend, x: Any) -> Any:
    whole = xp.floor(x)
    odd = whole - 2.0 * xp.floor(whole * 0.5)
    sign = xp.where(x > 0.0, 1.0 + xp.zeros_like(x), 1.0 - 2.0 * odd)
    sign = xp.where(x == 0.0, xp.copysign(xp.ones_like(x), x), sign)
    is_pole = xp.logical_or(xp.logical_and(x < 0.0, whole == x), xp.isnan(x))
    return xp.where(is_pole, NAN, sign)


def gamma(x: A, /) -> A:
    """The gamma function; at whole numbers the factorial of one less.

    >>> import numpy as np, trellis
    >>> trellis.special.gamma(np.array([5.0, 0.5])).round(6)
    array([24.      ,  1.772454])
    """
    try:
        return evaluated("gamma", gamma_of, lambda y, x: [y() * digamma(x)], x, has_kernels=True)
    except Exception as error:
        return explain(error, gamma)


def gamma_of(xp: Backend, x: Any) -> Any:
    """`gamma` without its derivative."""
    size = xp.abs(x)
    # Numbers below 13 by a product from [2, 3); -x by pi / (x sin(pi x) gamma(x)).
    near = xp.where(size < 13.0, size, 2.5)
    up = xp.where(near < 1.0, near + 2.0, xp.where(near < 2.0, near + 1.0, near))
    down = xp.where(near < 1.0, near * (near + 1.0), xp.where(near < 2.0, near, xp.ones_like(near)))
    u = xp.where(near < 1.0, near, xp.where(near < 2.0, near - 1.0, up - 2.0))
    product = xp.ones_like(near)
    for _ in range(10):
        is_above = u >= 1.0
        product = xp.where(is_above, product * (u + 1.0), product)
        u = xp.where(is_above, u - 1.0, u)
    base = on_piece(xp, u, table.GAMMA_2_TO_3)
    close = product * base / xp.where(down == 0.0, 1.0, down)
    far = xp.minimum(xp.maximum(size, 13.0), 200.0)
    root = xp.pow(far, 0.5 * far - 0.25)
    # The correction exp(r) = 1 + expm1(r) is near 1.
    large = (root * xp.exp(-far)) * root * math.sqrt(2.0 * math.pi)
    large = large + large * xp.expm1(stirling_rest(xp, far))
    value = xp.where(size < 13.0, close, large)
    safe = xp.where(xp.isfinite(x), x, 0.5)
    below = safe * sin_half_turns(xp, safe)
    mirrored = -math.pi / xp.where(below == 0.0, 1.0, below) / value
    found = xp.where(x < 0.0, mirrored, value)
    found = xp.where(x == 0.0, xp.copysign(xp.full_like(x, INF), x), found)
    found = xp.where(x > 180.0, INF, found)
    is_pole = xp.logical_and(x < 0.0, is_whole(xp, x))
    return xp.where(xp.logical_or(is_pole, xp.isnan(x)), NAN, found)


def digamma(x: A, /) -> A:
    """The derivative of `gammaln`; SciPy's `psi` is the same function.

    >>> import numpy as np, trellis
    >>> trellis.special.digamma(np.array([1.0, 10.0])).round(6)
    array([-0.577216,  2.251753])
    """
    try:
        return evaluated("digamma", _digamma, lambda y, x: [_trigamma_of(x)], x, has_kernels=True)
    except Exception as error:
        return explain(error, digamma)


def _trigamma_of(x: Array) -> Any:
    from .zeta import polygamma  # which needs this module

    return polygamma(1, x)


def digamma_of_positive(xp: Backend, x: Any) -> Any:
    """`digamma` for numbers above 0."""
    far = xp.maximum(x, FAR)
    inverse = 1.0 / far
    square = inverse * inverse
    large = xp.log(far) - 0.5 * inverse - square * on_piece(xp, square, table.DIGAMMA_FAR)
    # Down to [1, 2): the sum of 1 / (y - 1), 1 / (y - 2), ... as one quotient.
    y = xp.minimum(x, FAR)
    above, below = xp.zeros_like(y), xp.ones_like(y)
    for _ in range(6):
        is_above = y >= 2.0
        y = xp.where(is_above, y - 1.0, y)
        above = xp.where(is_above, above * y + below, above)
        below = xp.where(is_above, below * y, below)
    is_low = y < 1.0
    safe = xp.where(is_low, y, 1.0)
    up = xp.where(is_low, y + 1.0, y)
    apart = less_parts(xp, up, table.DIGAMMA_ZERO)
    near = apart * on_piece(xp, up, table.DIGAMMA_1_TO_2)
    near = near + xp.where(is_low, -1.0 / safe, above / below)
    return xp.where(x < FAR, near, large)


def _digamma(xp: Backend, x: Any) -> Any:
    size = xp.abs(x)
    direct = digamma_of_positive(xp, size)
    # digamma(-x) = digamma(x) + 1 / x + pi / tan(pi x)
    is_negative = x < 0.0
    safe = xp.where(xp.logical_and(is_negative, xp.isfinite(x)), size, 0.25)
    is_pole = xp.logical_and(is_negative, is_whole(xp, x))
    mirrored = (direct + 1.0 / safe) + math.pi * cot_half_turns(xp, safe)
    found = xp.where(is_negative, mirrored, direct)
    found = xp.where(x == 0.0, -xp.copysign(xp.full_like(x, INF), x), found)
    return xp.where(xp.logical_or(is_pole, x == -INF), NAN, found)
