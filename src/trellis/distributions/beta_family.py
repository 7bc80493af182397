"""Beta and its relatives: shares, and ratios of gamma draws."""

from typing import Any

from .. import special
from .._core.typing import Backend
from .._random.distributions import beta, gamma, normal, uniform
from .._random.keys import split
from ..special import betaln, digamma, xlog1py, xlogy
from . import constraints
from ._calling import Value
from .extremes import power
from .location_scale import EULER
from .parametric import INF, NAN, Parametric, named


class Beta(Parametric):
    """Beta distribution on [0, 1]: `concentration1` pulls to 1, `concentration0` to 0.

    >>> from trellis.distributions import Beta
    >>> Beta(3.0, 1.0).mean.item()
    0.75
    """

    parameters = named(concentration1=constraints.positive, concentration0=constraints.positive)
    _has_rsample = True

    def __init__(self, concentration1: Value, concentration0: Value):
        self._set(concentration1=concentration1, concentration0=concentration0)

    def _bounds(self, a: Any, b: Any) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _log_prob(self, xp: Backend, x: Any, a: Any, b: Any) -> Any:
        return xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b)

    def _cdf(self, xp: Backend, x: Any, a: Any, b: Any) -> Any:
        return special.betainc(a, b, x)

    def _icdf(self, xp: Backend, p: Any, a: Any, b: Any) -> Any:
        return special.betaincinv(a, b, p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any, b: Any) -> Any:
        return beta(key, a, b, sizes, kind)

    def _entropy(self, xp: Backend, a: Any, b: Any) -> Any:
        total = (a + b - 2.0) * digamma(a + b)
        return betaln(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + total

    def _mean(self, xp: Backend, a: Any, b: Any) -> Any:
        return a / (a + b)

    def _variance(self, xp: Backend, a: Any, b: Any) -> Any:
        total = a + b
        return (a / total) * (b / total) / (total + 1.0)

    def _mode(self, xp: Backend, a: Any, b: Any) -> Any:
        is_hill = (a > 1) & (b > 1)
        hill = (a - 1.0) / xp.where(is_hill, a + b - 2.0, 1.0)
        # At an end; at both, or everywhere, is nowhere.
        ends = xp.where(a > b, 1.0, xp.where(a < b, 0.0, xp.full_like(a + b, NAN)))
        is_bowl = (a < 1) & (b < 1)
        return xp.where(is_hill, hill, xp.where(is_bowl, NAN, ends))


class BetaProportion(Parametric):
    """Beta distribution with mean `proportion`, the tighter the larger `concentration` is.

    >>> from trellis.distributions import BetaProportion
    >>> round(BetaProportion(0.25, 8.0).mean.item(), 4)
    0.25
    """

    parameters = named(
        proportion=constraints.open_unit_interval,
        concentration=constraints.positive,
    )
    _has_rsample = True

    def __init__(self, proportion: Value, concentration: Value):
        self._set(proportion=proportion, concentration=concentration)

    def _bounds(self, m: Any, c: Any) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _log_prob(self, xp: Backend, x: Any, m: Any, c: Any) -> Any:
        return Beta._log_prob(_BETA, xp, x, m * c, (1.0 - m) * c)

    def _cdf(self, xp: Backend, x: Any, m: Any, c: Any) -> Any:
        return special.betainc(m * c, (1.0 - m) * c, x)

    def _icdf(self, xp: Backend, p: Any, m: Any, c: Any) -> Any:
        return special.betaincinv(m * c, (1.0 - m) * c, p)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, m: Any, c: Any) -> Any:
        return beta(key, m * c, (1.0 - m) * c, sizes, kind)

    def _entropy(self, xp: Backend, m: Any, c: Any) -> Any:
        return Beta._entropy(_BETA, xp, m * c, (1.0 - m) * c)

    def _mean(self, xp: Backend, m: Any, c: Any) -> Any:
        return m

    def _variance(self, xp: Backend, m: Any, c: Any) -> Any:
        return m * (1.0 - m) / (c + 1.0)

    def _mode(self, xp: Backend, m: Any, c: Any) -> Any:
        return Beta._mode(_BETA, xp, m * c, (1.0 - m) * c)


_BETA = Beta(1.0, 1.0)


class Kumaraswamy(Parametric):
    """Kumaraswamy distribution on [0, 1]: close to beta, with a cdf in closed form.

    `concentration1` pulls to 1 and `concentration0` to 0.

    >>> from trellis.distributions import Kumaraswamy
    >>> round(Kumaraswamy(2.0, 3.0).cdf(0.5).item(), 4)
    0.5781
    """

    parameters = named(concentration1=constraints.positive, concentration0=constraints.positive)
    _has_rsample = True

    def __init__(self, concentration1: Value, concentration0: Value):
        self._set(concentration1=concentration1, concentration0=concentration0)

    def _bounds(self, a: Any, b: Any) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _log_prob(self, xp: Backend, x: Any, a: Any, b: Any) -> Any:
        rest = xlog1py(b - 1.0, -power(xp, x, a))
        return xp.log(a) + xp.log(b) + xlogy(a - 1.0, x) + rest

    def _cdf(self, xp: Backend, x: Any, a: Any, b: Any) -> Any:
        return -xp.expm1(xlog1py(b, -power(xp, x, a)))

    def _icdf(self, xp: Backend, p: Any, a: Any, b: Any) -> Any:
        return power(xp, -xp.expm1(xp.log1p(-p) / b), 1.0 / a)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any, b: Any) -> Any:
        return self._icdf(xp, uniform(key, sizes, kind), a, b)

    def _entropy(self, xp: Backend, a: Any, b: Any) -> Any:
        harmonic = digamma(b + 1.0) + EULER
        return (1.0 - 1.0 / b) + (1.0 - 1.0 / a) * harmonic - xp.log(a) - xp.log(b)

    def _mean(self, xp: Backend, a: Any, b: Any) -> Any:
        return _moment(xp, a, b, 1.0)

    def _variance(self, xp: Backend, a: Any, b: Any) -> Any:
        first = _moment(xp, a, b, 1.0)
        return _moment(xp, a, b, 2.0) - first * first

    def _mode(self, xp: Backend, a: Any, b: Any) -> Any:
        is_hill = (a >= 1) & (b >= 1) & (a * b > 1)
        safe = xp.where(is_hill, a, 2.0)
        found = power(xp, (safe - 1.0) / (safe * xp.where(is_hill, b, 2.0) - 1.0), 1.0 / safe)
        return xp.where(is_hill, found, NAN)


def _moment(xp: Backend, a: Any, b: Any, order: float) -> Any:
    return b * xp.exp(betaln(1.0 + order / a, b))


class StudentT(Parametric):
    """Student's t distribution with `df` degrees of freedom around `loc`, widened by `scale`.

    >>> from trellis.distributions import StudentT
    >>> StudentT(4.0, 0.0, 1.0).variance.item()
    2.0
    """

    parameters = named(
        df=constraints.positive,
        loc=constraints.real,
        scale=constraints.positive,
    )
    _has_rsample = True

    def __init__(self, df: Value, loc: Value = 0.0, scale: Value = 1.0):
        self._set(df=df, loc=loc, scale=scale)

    def _log_prob(self, xp: Backend, x: Any, df: Any, loc: Any, scale: Any) -> Any:
        z = (x - loc) / scale
        half = 0.5 * df
        front = 0.5 * xp.log(df) + betaln(half, xp.full_like(half, 0.5)) + xp.log(scale)
        return -(half + 0.5) * xp.log1p(z * z / df) - front

    def _cdf(self, xp: Backend, x: Any, df: Any, loc: Any, scale: Any) -> Any:
        z = (x - loc) / scale
        # Half of the beta function is the tail; the middle has the digits of its complement.
        square = z * z
        is_tail = square > df
        near = xp.where(is_tail, 0.0, square)
        half = xp.full_like(df, 0.5)
        middle = 0.5 - 0.5 * special.betainc(half, 0.5 * df, near / (df + near))
        far = xp.where(is_tail, square, df)
        tail = xp.where(is_tail, 0.5 * special.betainc(0.5 * df, half, df / (df + far)), middle)
        return xp.where(z < 0, tail, 1.0 - tail)

    def _icdf(self, xp: Backend, p: Any, df: Any, loc: Any, scale: Any) -> Any:
        # Of both tails together, as a share of the beta function and as its complement.
        share = 2.0 * xp.where(p < 0.5, p, 1.0 - p)
        half = xp.full_like(df, 0.5)
        part = special.betaincinv(0.5 * df, half, share)
        rest = special.betainccinv(half, 0.5 * df, share)
        size = xp.sqrt(df * rest / part)
        return loc + scale * xp.where(p < 0.5, -size, size)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        df, loc, scale = values
        keys = split(key)
        z = normal(keys[0, ...], sizes, kind)
        half = 0.5 * df
        return loc + scale * z * xp.sqrt(half / gamma(keys[1, ...], half, sizes, kind))

    def _entropy(self, xp: Backend, df: Any, loc: Any, scale: Any) -> Any:
        half = 0.5 * df
        logs = 0.5 * xp.log(df) + betaln(half, xp.full_like(half, 0.5)) + xp.log(scale)
        return (half + 0.5) * (digamma(half + 0.5) - digamma(half)) + logs

    def _mean(self, xp: Backend, df: Any, loc: Any, scale: Any) -> Any:
        return xp.where(df > 1, loc, NAN)

    def _variance(self, xp: Backend, df: Any, loc: Any, scale: Any) -> Any:
        found = scale * scale * df / xp.where(df > 2, df - 2.0, 1.0)
        return xp.where(df > 2, found, xp.where(df > 1, INF, NAN))

    def _mode(self, xp: Backend, df: Any, loc: Any, scale: Any) -> Any:
        return loc


class FisherSnedecor(Parametric):
    """Distribution of the ratio of two mean squares, with `df1` and `df2` degrees of freedom.

    >>> from trellis.distributions import FisherSnedecor
    >>> FisherSnedecor(3.0, 4.0).mean.item()
    2.0
    """

    parameters = named(df1=constraints.positive, df2=constraints.positive)
    _has_rsample = True

    def __init__(self, df1: Value, df2: Value):
        self._set(df1=df1, df2=df2)

    def _bounds(self, df1: Any, df2: Any) -> tuple[Any, Any]:
        return 0.0, None

    def _log_prob(self, xp: Backend, x: Any, df1: Any, df2: Any) -> Any:
        a, b = 0.5 * df1, 0.5 * df2
        ratio = df1 / df2
        logs = a * xp.log(ratio) + xlogy(a - 1.0, x) - (a + b) * xp.log1p(ratio * x)
        return logs - betaln(a, b)

    def _cdf(self, xp: Backend, x: Any, df1: Any, df2: Any) -> Any:
        part = df1 * x
        return special.betainc(0.5 * df1, 0.5 * df2, part / (part + df2))

    def _icdf(self, xp: Backend, p: Any, df1: Any, df2: Any) -> Any:
        a, b = 0.5 * df1, 0.5 * df2
        # The share of the first, and of the second.
        return df2 / df1 * (special.betaincinv(a, b, p) / special.betainccinv(b, a, p))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, df1: Any, df2: Any) -> Any:
        keys = split(key)
        above = gamma(keys[0, ...], 0.5 * df1, sizes, kind) / df1
        return above / (gamma(keys[1, ...], 0.5 * df2, sizes, kind) / df2)

    def _entropy(self, xp: Backend, df1: Any, df2: Any) -> Any:
        a, b = 0.5 * df1, 0.5 * df2
        slopes = (1.0 - a) * digamma(a) - (1.0 + b) * digamma(b) + (a + b) * digamma(a + b)
        return xp.log(df2 / df1) + betaln(a, b) + slopes

    def _mean(self, xp: Backend, df1: Any, df2: Any) -> Any:
        return xp.where(df2 > 2, df2 / xp.where(df2 > 2, df2 - 2.0, 1.0), NAN)

    def _variance(self, xp: Backend, df1: Any, df2: Any) -> Any:
        b = xp.where(df2 > 4, df2, 5.0)
        ends = xp.where(df2 > 2, INF, xp.full_like(df2, NAN))
        below = df1 * (b - 2.0) * (b - 2.0) * (b - 4.0)
        return xp.where(df2 > 4, 2.0 * b * b * (df1 + b - 2.0) / below, ends)

    def _mode(self, xp: Backend, df1: Any, df2: Any) -> Any:
        found = (df1 - 2.0) / df1 * (df2 / (df2 + 2.0))
        return xp.maximum(found, xp.zeros_like(found))
