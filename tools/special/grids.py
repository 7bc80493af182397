"""Where each special function is measured: its grid and the exact values."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import scipy.special


@dataclass(frozen=True)
class Row:
    """One function on its grid."""

    exact: Callable[..., Any]
    grid: tuple[np.ndarray, ...]
    # The function's arguments that are numbers, before the arrays: an order.
    orders: tuple[int, ...] = ()
    # A size below which errors are not measured by the value: Bessel functions have zeros.
    scale: Callable[..., Any] | None = None
    # Results below this size are left out.
    least: float = 0.0


def logarithmic(low: float, high: float, count: int = 200) -> np.ndarray:
    return np.geomspace(low, high, count)


def both_signs(low: float, high: float, count: int = 120) -> np.ndarray:
    x = logarithmic(low, high, count)
    return np.concatenate([-x[::-1], x])


def to_the_smallest(high: float) -> np.ndarray:
    """Down to the smallest normal numbers of float64 and of float32."""
    least = logarithmic(1.2e-38, 1e-30, 40)
    return np.concatenate([logarithmic(2.3e-308, high, 300), least, np.linspace(0.03, high, 99)])


def pairs(*axes: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple([g.ravel() for g in np.meshgrid(*axes, indexing="ij")])


def negative(low: float = -30.0) -> np.ndarray:
    """Numbers below 0, far from and close to the whole ones, without these: they are poles."""
    wide = -logarithmic(1e-12, -low, 150)
    close = np.concatenate([k + both_signs(1e-6, 0.4, 12) for k in range(-12, 0)])
    x = np.sort(np.concatenate([wide, close]))
    return x[x != np.round(x)]


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def hurwitz(s, q):
    with mp.workdps(120):
        return mp.zeta(s, q)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(x):
    return mp.log(ndtr(x)) if x < 0 else mp.log1p(-ndtr(-x))


def ndtri(p):
    if p == 0.5:
        return mp.mpf(0)
    if p > 0.5:
        return -_lower(1 - p)
    return _lower(p)


def _lower(p):
    with mp.workdps(60):
        r = mp.sqrt(-2 * mp.log(p))
        start = -(r - mp.log(r * mp.sqrt(2 * mp.pi)) / r) if p < 0.05 else (p - 0.5) * 2.5
        if p > 0.4:  # by erf, which is exact next to 0
            q = p - mp.mpf(0.5)
            return mp.findroot(lambda x: mp.erf(x / mp.sqrt(2)) / 2 / q - 1, start)
        return mp.findroot(lambda x: mp.log(ndtr(x)) - mp.log(p), start)


def envelope(x):
    """The size of the oscillation that a Bessel function is part of."""
    return np.sqrt(2 / (np.pi * x)) if x > 0.5 else 0.0


def envelope_of_j1(x):
    return envelope(x) if x > 3 else 0.0


def envelope_of_order(n, x):
    """Up to the order there is no oscillation."""
    return envelope(x) if x > n else 0.0


def envelope_of_legendre(n, x):
    """Of Legendre polynomials between their outer zeros; odd ones are 0 at 0 exactly."""
    if abs(x) > 1 - 1 / (n * n) or (n % 2 and abs(x) < 1 / n):
        return 0.0
    return np.sqrt(2 / (np.pi * n)) * (1 - x * x) ** -0.25


def owens_t(h, a):
    """In pieces that the integrand changes little on."""
    far = min(a, 16 / h)
    ends = [far * k / 4 for k in range(5)]
    near = [p for p in (0.5, 1, 2, 5, 20, 100) if p < far]
    total = mp.quad(lambda x: mp.exp(-h * h * x * x / 2) / (1 + x * x), sorted(ends + near))
    return mp.exp(-h * h / 2) * total / (2 * mp.pi)


def near_zeros_of_gammaln(x):
    """Below 0, two logarithms of this size cancel; it is the size of an error there."""
    return max(1.0, float(mp.loggamma(-x).real)) if x < 0 else 0.0


def near_zeros_of_digamma(x):
    """Below 0, digamma(1 - x) and pi cot(pi x) cancel."""
    return float(mp.digamma(1 - x)) + 1.0 if x < 0 else 0.0


def near_zeros_of_polygamma(n, x):
    """As for digamma; the derivatives of even order have zeros, too."""
    return abs(float(mp.psi(int(n), 1 - x))) if x < 0 else 0.0


def one(a, b):
    """The logarithm of beta has zeros along a curve."""
    return 1.0


def around_one():
    return np.concatenate([logarithmic(1e-6, 1e6, 25), 1 + both_signs(1e-6, 0.3, 8)])


def above_minus_one():
    return np.concatenate([logarithmic(1e-6, 1e6, 25), -logarithmic(1e-9, 0.999, 12)])


def near_and_far():
    """Pairs of numbers above 0, also of almost equal ones."""
    x, y = pairs(*[logarithmic(1e-3, 1e3, 36)] * 2)
    z, apart = pairs(logarithmic(1e-3, 1e3, 15), both_signs(1e-6, 0.4, 15))
    return np.concatenate([x, z]), np.concatenate([y, z * (1 + apart)])


def gamma_pairs():
    a, ratio = pairs(logarithmic(1e-3, 1e3, 25), logarithmic(0.05, 5, 20))
    # Large orders: within 6 standard deviations of the mean.
    many, shift = pairs(logarithmic(2e3, 1e5, 5), np.linspace(-6, 6, 9))
    few, x = pairs(logarithmic(1e-12, 1e-3, 6), logarithmic(1e-12, 100, 15))
    return (
        np.concatenate([a, many, few]),
        np.concatenate([a * ratio, many + shift * np.sqrt(many), x]),
    )


def gammainc(a, x):
    return _lower_series(a, x) if a > 1500 else mp.gammainc(a, 0, x, regularized=True)


def gammaincc(a, x):
    return 1 - _lower_series(a, x) if a > 1500 else mp.gammainc(a, x, mp.inf, regularized=True)


def _lower_series(a, x):
    """The power series of the lower part: mpmath's own gives up for large orders."""
    with mp.workdps(100):
        total = term = mp.mpf(1)
        n = 0
        while term > total * mp.mpf(10) ** -90:
            n += 1
            term = term * x / (a + n)
            total += term
        return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * total


def beta_triples():
    """Orders, and numbers next to the mean of the beta distribution and towards both ends."""
    a, b, ratio = pairs(*[logarithmic(1e-2, 1e3, 9)] * 2, BETA_RATIOS)
    below, above = ratio * a / (a + b), 1 - ratio * b / (a + b)
    return np.concatenate([a, a]), np.concatenate([b, b]), np.concatenate([below, above])


def large_beta_triples():
    """Within 6 standard deviations below the mean, and 3 above it."""
    a, b, shift = pairs(*[np.array([6e2, 1e4, 1e6])] * 2, np.linspace(-6, 3, 7))
    x = a / (a + b) + shift * np.sqrt(a * b / (a + b + 1)) / (a + b)
    return a, b, x.astype(np.float32).astype(np.float64)  # the same points in both


BETA_RATIOS = np.array([1e-3, 0.05, 0.3, 0.6, 0.8, 0.9, 0.97, 1.0])


def betainc(a, b, x):
    return _both_of_beta(a, b, x)[0]


def betaincc(a, b, x):
    return _both_of_beta(a, b, x)[1]


@functools.lru_cache(4096)
def _both_of_beta(a, b, x):
    with mp.workdps(100):
        if x == 0 or x == 1:
            return x, 1 - x
        below = _large_beta if min(a, b) > 500 else _beta_series
        if x > (a + 1) / (a + b + 2):
            part = below(b, a, 1 - x)
            return 1 - part, part
        part = below(a, b, x)
        return part, 1 - part


def _large_beta(a, b, x):
    """Below the mean, by the density over its value at x: the series would take 1e5 terms."""
    with mp.workdps(50):
        slope, bend = (a - 1) / x - (b - 1) / (1 - x), (a - 1) / x**2 + (b - 1) / (1 - x) ** 2
        steep = max(slope, mp.mpf(0))
        width = 300 / (steep + mp.sqrt(steep**2 + 300 * bend))
        front = mp.log(x) * (a - 1) + mp.log1p(-x) * (b - 1)
        total = mp.quad(
            lambda u: mp.exp(mp.log(u) * (a - 1) + mp.log1p(-u) * (b - 1) - front),
            [x - width * k / 8 for k in range(8, -1, -1)],
        )
        return total * mp.exp(front - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b))


def _beta_series(a, b, x):
    total = term = mp.mpf(1)
    n = 0
    while term > total * mp.mpf(10) ** -90:
        term = term * x * (a + b + n) / (a + 1 + n)
        n += 1
        total += term
    return x**a * (1 - x) ** b / (a * mp.beta(a, b)) * total


def gammaincinv(a, p):
    start = scipy.special.gammaincinv(float(a), float(p))
    return _by_newton(_lower_series, _gamma_density, 1, (a,), p, start)


def gammainccinv(a, q):
    start = scipy.special.gammainccinv(float(a), float(q))
    return _by_newton(gammaincc, _gamma_density, -1, (a,), q, start)


def betaincinv(a, b, p):
    # Less than the quantile, where SciPy's far tails have no digit.
    power = float(mp.exp(mp.log(p * a * mp.beta(a, b)) / a))
    start = scipy.special.betaincinv(float(a), float(b), float(p)) if p > 1e-6 else power
    return _by_newton(betainc, _beta_density, 1, (a, b), p, start)


def betainccinv(a, b, q):
    with mp.workdps(100):
        return 1 - betaincinv(b, a, q)


def _gamma_density(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def _beta_density(a, b, x):
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def _by_newton(part, density, sign, orders, sought, start):
    """On the logarithm of the part, by that of x; second differences of it need many digits."""
    if start < 1e-306:
        return mp.mpf("1e-400")  # no float that is compared
    with mp.workdps(100):
        x, change = mp.mpf(float(start)), mp.mpf(1)
        while abs(change) > mp.mpf(10) ** -40:  # the next is twice as good
            found = part(*orders, x)
            change = -sign * mp.log(found / sought) * found / (x * density(*orders, x))
            x = x * mp.exp(change)
        return x


def quantiles(*axes):
    """Orders and probabilities, which are not so small that the quantile would be no float."""
    p = np.concatenate([logarithmic(1e-6, 0.5, 7), 1 - logarithmic(1e-4, 0.4, 5)])
    *orders, p = pairs(*axes, p)
    return *orders, p


def tails(*axes):
    """Orders and probabilities down to the end of float64, and to that of float32."""
    p = np.concatenate([logarithmic(1e-300, 1e-44, 12), logarithmic(2e-37, 1e-7, 6)])
    *orders, p = pairs(*axes, p)
    return *orders, p


ORDERS = np.array([0.2, 1.0, 1.5, 2.0, 5.5, 10.0, 30.0, 200.0])
PAIR = np.array([0.5, 1.0, 3.0, 30.0, 200.0])


ROWS = {
    "gammaln": Row(
        lambda x: mp.loggamma(x).real,
        (
            np.concatenate(
                [
                    logarithmic(1e-12, 1e12, 400),
                    1 + both_signs(1e-12, 0.4),
                    2 + both_signs(1e-12, 0.4),
                    negative(-1e3),
                ]
            ),
        ),
        scale=near_zeros_of_gammaln,
    ),
    "gamma": Row(
        mp.gamma,
        (np.concatenate([logarithmic(1e-12, 171, 300), negative(-170.5)]),),
    ),
    "gammasgn": Row(
        lambda x: mp.sign(mp.gamma(x)),
        (np.concatenate([negative(), logarithmic(1e-12, 1e12)]),),
    ),
    "digamma": Row(
        mp.digamma,
        (
            np.concatenate(
                [
                    logarithmic(1e-12, 1e12, 400),
                    1.4616321449683622 + both_signs(1e-9, 0.3),
                    negative(-1e3),
                ]
            ),
        ),
        scale=near_zeros_of_digamma,
    ),
    **{
        f"polygamma({n})": Row(
            lambda n, x: mp.psi(int(n), x),
            (np.concatenate([logarithmic(1e-6, 1e12, 150), negative()]),),
            (n,),
            scale=near_zeros_of_polygamma,
        )
        for n in (1, 2, 3, 4, 5)
    },
    "zeta": Row(hurwitz, pairs(1 + logarithmic(1e-3, 30, 30), logarithmic(1e-1, 1e3, 20))),
    "erf": Row(mp.erf, (both_signs(1e-12, 10),)),
    "erfc": Row(mp.erfc, (np.concatenate([both_signs(1e-12, 26), np.linspace(0.3, 26, 800)]),)),
    "erfinv": Row(
        lambda x: mp.erfinv(x),
        (np.concatenate([both_signs(1e-12, 0.999999), 1 - logarithmic(1e-15, 0.5, 200)]),),
    ),
    "erfcinv": Row(lambda x: -ndtri(x / 2) / mp.sqrt(2), (to_the_smallest(1.99),)),
    "erfcx": Row(erfcx, (np.concatenate([both_signs(1e-12, 25), logarithmic(25, 1e6, 50)]),)),
    "ndtr": Row(ndtr, (both_signs(1e-12, 37),)),
    "log_ndtr": Row(
        log_ndtr, (np.concatenate([both_signs(1e-12, 37), -logarithmic(37, 1e6, 30)]),)
    ),
    "ndtri": Row(
        ndtri, (np.concatenate([to_the_smallest(0.5), 1 - logarithmic(1e-10, 0.5, 100)]),)
    ),
    "expit": Row(lambda x: 1 / (1 + mp.exp(-x)), (both_signs(1e-12, 80),)),
    "logit": Row(
        lambda p: mp.log(p / (1 - p)),
        (np.concatenate([logarithmic(1e-300, 0.5, 200), 1 - logarithmic(1e-12, 0.5, 100)]),),
    ),
    "log_expit": Row(lambda x: -mp.log1p(mp.exp(-x)), (both_signs(1e-12, 80),)),
    "softplus_inverse": Row(
        lambda y: mp.log(mp.expm1(y)),
        (np.concatenate([logarithmic(1e-12, 80), 0.6931471805599453 + both_signs(1e-9, 0.3)]),),
    ),
    "log1mexp": Row(
        lambda x: mp.log1p(-mp.exp(-x)) if x > 1 else mp.log(-mp.expm1(-x)),
        (logarithmic(1e-12, 80),),
    ),
    "xlogy": Row(lambda x, y: x * mp.log(y), pairs(both_signs(1e-6, 1e6, 12), around_one())),
    "xlog1py": Row(
        lambda x, y: x * mp.log1p(y), pairs(both_signs(1e-6, 1e6, 12), above_minus_one())
    ),
    "entr": Row(lambda x: -x * mp.log(x), (logarithmic(1e-12, 1e12, 301),)),
    "rel_entr": Row(lambda x, y: x * mp.log(x / y), near_and_far()),
    "kl_div": Row(lambda x, y: x * mp.log(x / y) - x + y, near_and_far()),
    "i0": Row(lambda x: mp.besseli(0, x), (logarithmic(1e-6, 700),)),
    "i0e": Row(lambda x: mp.exp(-x) * mp.besseli(0, x), (logarithmic(1e-6, 1e6),)),
    "i1": Row(lambda x: mp.besseli(1, x), (logarithmic(1e-6, 700),)),
    "i1e": Row(lambda x: mp.exp(-x) * mp.besseli(1, x), (logarithmic(1e-6, 1e6),)),
    "j0": Row(lambda x: mp.besselj(0, x), (logarithmic(1e-6, 1e5, 400),), scale=envelope),
    "j1": Row(lambda x: mp.besselj(1, x), (logarithmic(1e-6, 1e5, 400),), scale=envelope_of_j1),
    "y0": Row(lambda x: mp.bessely(0, x), (logarithmic(1e-6, 1e5, 400),), scale=envelope),
    "y1": Row(lambda x: mp.bessely(1, x), (logarithmic(1e-6, 1e5, 400),), scale=envelope),
    **{
        f"jn({n})": Row(mp.besselj, (logarithmic(1e-6, 1e5, 300),), (n,), scale=envelope_of_order)
        for n in (2, 9)
    },
    **{
        f"yn({n})": Row(mp.bessely, (logarithmic(1e-6, 1e5, 300),), (n,), scale=envelope_of_order)
        for n in (2, 9)
    },
    **{f"iv({n})": Row(mp.besseli, (logarithmic(1e-6, 700),), (n,)) for n in (2, 7)},
    "exp1": Row(mp.e1, (logarithmic(1e-12, 600, 300),)),
    "expi": Row(
        mp.ei,
        (
            np.concatenate(
                [both_signs(1e-12, 600, 300), 0.37250741078136663 + both_signs(1e-9, 0.3)]
            ),
        ),
    ),
    **{f"expn({n})": Row(mp.expint, (logarithmic(1e-12, 600, 300),), (n,)) for n in (2, 8)},
    **{
        f"eval_legendre({n})": Row(
            mp.legendre,
            (np.concatenate([both_signs(1e-6, 0.999), 1 + both_signs(1e-9, 1e-2, 40)]),),
            (n,),
            scale=envelope_of_legendre,
        )
        for n in (3, 20)
    },
    "owens_t": Row(owens_t, pairs(logarithmic(1e-2, 36, 14), logarithmic(1e-2, 1e2, 15))),
    "gammainc": Row(gammainc, gamma_pairs()),
    "gammainc, above 0.001": Row(gammainc, gamma_pairs(), least=1e-3),
    "gammaincc": Row(gammaincc, gamma_pairs()),
    "gammaincc, above 0.001": Row(gammaincc, gamma_pairs(), least=1e-3),
    "gammaincinv": Row(gammaincinv, quantiles(logarithmic(0.2, 200, 12))),
    "gammaincinv, of small probabilities": Row(gammaincinv, tails(ORDERS)),
    "gammainccinv": Row(gammainccinv, quantiles(logarithmic(0.2, 200, 12))),
    "gammainccinv, of small probabilities": Row(gammainccinv, tails(ORDERS)),
    "betainc": Row(betainc, beta_triples()),
    "betainc, above 0.001": Row(betainc, beta_triples(), least=1e-3),
    "betainc, of large orders": Row(betainc, large_beta_triples()),
    "betaincc": Row(betaincc, beta_triples()),
    "betaincc, above 0.001": Row(betaincc, beta_triples(), least=1e-3),
    "betaincinv": Row(betaincinv, quantiles(*[logarithmic(0.5, 200, 5)] * 2)),
    "betaincinv, of small probabilities": Row(betaincinv, tails(PAIR, PAIR)),
    "betainccinv": Row(betainccinv, quantiles(*[logarithmic(0.5, 200, 5)] * 2)),
    "betainccinv, of small probabilities": Row(betainccinv, tails(PAIR, PAIR)),
    "beta": Row(mp.beta, pairs(*[logarithmic(1e-3, 500, 28)] * 2)),
    "beta, above 0.001": Row(mp.beta, pairs(*[logarithmic(1e-3, 500, 28)] * 2), least=1e-3),
    "betaln": Row(
        lambda a, b: mp.log(mp.beta(a, b)), pairs(*[logarithmic(1.1e-3, 0.9e6, 28)] * 2), scale=one
    ),
}
