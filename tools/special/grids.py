"""Where each special function is measured: its grid and the exact values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath as mp
import numpy as np


@dataclass(frozen=True)
class Row:
    """One function on its grid."""

    exact: Callable[..., Any]
    grid: tuple[np.ndarray, ...]
    # The function's arguments that are numbers, before the arrays: an order.
    orders: tuple[int, ...] = ()
    # A size below which errors are not measured by the value: Bessel functions have zeros.
    scale: Callable[..., Any] | None = None
    names: dict[str, str] = field(default_factory=dict)


def logarithmic(low: float, high: float, count: int = 200) -> np.ndarray:
    return np.geomspace(low, high, count)


def both_signs(low: float, high: float, count: int = 120) -> np.ndarray:
    x = logarithmic(low, high, count)
    return np.concatenate([-x[::-1], x])


def pairs(*axes: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple([g.ravel() for g in np.meshgrid(*axes, indexing="ij")])


def off_whole(x: np.ndarray) -> np.ndarray:
    """Without the neighbourhood of whole numbers, where there are poles."""
    return x[np.abs(x - np.round(x)) > 0.02]


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def hurwitz(s, q):
    with mp.workdps(120):
        return mp.zeta(s, q)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


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


def envelope_from(order):
    return lambda n, x: envelope(x) if x > order else 0.0


def gamma_pairs():
    a, ratio = pairs(logarithmic(1e-3, 1e3, 25), logarithmic(0.05, 5, 20))
    return a, a * ratio


def beta_triples():
    a, b, shift = pairs(*[logarithmic(0.1, 1e3, 10)] * 2, np.linspace(-2.5, 2.5, 6))
    mean = a / (a + b)
    odds = mean / (1 - mean) * np.exp(shift / np.sqrt(np.minimum(a, b) + 1))
    return a, b, odds / (1 + odds)


def betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


ROWS = {
    "gammaln": Row(
        lambda x: mp.loggamma(x).real,
        (
            np.concatenate(
                [
                    logarithmic(1e-12, 1e12, 400),
                    1 + both_signs(1e-12, 0.4),
                    2 + both_signs(1e-12, 0.4),
                ]
            ),
        ),
    ),
    "gamma": Row(
        mp.gamma,
        (np.concatenate([logarithmic(1e-12, 171, 300), off_whole(np.linspace(-20, 0, 301))]),),
    ),
    "gammasgn": Row(
        lambda x: mp.sign(mp.gamma(x)),
        (off_whole(np.linspace(-20, 20, 201)),),
    ),
    "digamma": Row(
        mp.digamma,
        (
            np.concatenate(
                [logarithmic(1e-12, 1e12, 400), 1.4616321449683622 + both_signs(1e-9, 0.3)]
            ),
        ),
    ),
    "polygamma": Row(
        lambda n, x: mp.psi(int(n), x),
        pairs(np.array([1.0, 2.0, 3.0, 5.0]), logarithmic(1e-2, 1e6, 100)),
    ),
    "zeta": Row(hurwitz, pairs(1 + logarithmic(1e-3, 30, 30), logarithmic(1e-1, 1e3, 20))),
    "erf": Row(mp.erf, (both_signs(1e-12, 10),)),
    "erfc": Row(mp.erfc, (both_signs(1e-12, 26),)),
    "erfinv": Row(lambda x: mp.erfinv(x), (both_signs(1e-12, 0.999999),)),
    "erfcinv": Row(lambda x: -ndtri(x / 2) / mp.sqrt(2), (logarithmic(1e-300, 1.99, 300),)),
    "erfcx": Row(erfcx, (np.concatenate([both_signs(1e-12, 25), logarithmic(25, 1e6, 50)]),)),
    "ndtr": Row(ndtr, (both_signs(1e-12, 37),)),
    "log_ndtr": Row(
        lambda x: mp.log(ndtr(x)) if x < 0 else mp.log1p(-ndtr(-x)), (both_signs(1e-12, 37),)
    ),
    "ndtri": Row(
        ndtri, (np.concatenate([logarithmic(1e-300, 0.5, 300), 1 - logarithmic(1e-10, 0.5, 100)]),)
    ),
    "expit": Row(lambda x: 1 / (1 + mp.exp(-x)), (both_signs(1e-12, 80),)),
    "logit": Row(
        lambda p: mp.log(p / (1 - p)),
        (np.concatenate([logarithmic(1e-300, 0.5, 200), 1 - logarithmic(1e-12, 0.5, 100)]),),
    ),
    "log_expit": Row(lambda x: -mp.log1p(mp.exp(-x)), (both_signs(1e-12, 80),)),
    "softplus": Row(lambda x: mp.log1p(mp.exp(x)), (both_signs(1e-12, 80),)),
    "softplus_inverse": Row(
        lambda y: mp.log(mp.expm1(y)),
        (np.concatenate([logarithmic(1e-12, 80), 0.6931471805599453 + both_signs(1e-9, 0.3)]),),
    ),
    "log1mexp": Row(
        lambda x: mp.log1p(-mp.exp(-x)) if x > 1 else mp.log(-mp.expm1(-x)),
        (logarithmic(1e-12, 80),),
    ),
    "xlogy": Row(lambda x, y: x * mp.log(y), pairs(*[logarithmic(1e-6, 1e6, 25)] * 2)),
    "xlog1py": Row(lambda x, y: x * mp.log1p(y), pairs(*[logarithmic(1e-6, 1e6, 25)] * 2)),
    "entr": Row(lambda x: -x * mp.log(x), (logarithmic(1e-12, 1e12, 301),)),
    "rel_entr": Row(lambda x, y: x * mp.log(x / y), pairs(*[logarithmic(1e-3, 1e3, 41)] * 2)),
    "kl_div": Row(lambda x, y: x * mp.log(x / y) - x + y, pairs(*[logarithmic(1e-3, 1e3, 41)] * 2)),
    "i0": Row(lambda x: mp.besseli(0, x), (logarithmic(1e-6, 700),)),
    "i0e": Row(lambda x: mp.exp(-x) * mp.besseli(0, x), (logarithmic(1e-6, 1e6),)),
    "i1": Row(lambda x: mp.besseli(1, x), (logarithmic(1e-6, 700),)),
    "i1e": Row(lambda x: mp.exp(-x) * mp.besseli(1, x), (logarithmic(1e-6, 1e6),)),
    "j0": Row(lambda x: mp.besselj(0, x), (logarithmic(1e-6, 1e3, 300),), scale=envelope),
    "j1": Row(lambda x: mp.besselj(1, x), (logarithmic(1e-6, 1e3, 300),), scale=envelope_of_j1),
    "jn": Row(mp.besselj, (logarithmic(1e-2, 1e3, 300),), (5,), scale=envelope_from(5)),
    "y0": Row(lambda x: mp.bessely(0, x), (logarithmic(1e-6, 1e3, 300),), scale=envelope),
    "y1": Row(lambda x: mp.bessely(1, x), (logarithmic(1e-6, 1e3, 300),), scale=envelope),
    "yn": Row(mp.bessely, (logarithmic(1e-2, 1e3, 300),), (5,), scale=envelope_from(5)),
    "exp1": Row(mp.e1, (logarithmic(1e-12, 600, 300),)),
    "expi": Row(
        mp.ei,
        (
            np.concatenate(
                [both_signs(1e-12, 600, 300), 0.37250741078136663 + both_signs(1e-9, 0.3)]
            ),
        ),
    ),
    "expn": Row(lambda n, x: mp.expint(n, x), (logarithmic(1e-6, 600, 300),), (3,)),
    "gammainc": Row(lambda a, x: mp.gammainc(a, 0, x, regularized=True), gamma_pairs()),
    "gammaincc": Row(lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), gamma_pairs()),
    "beta": Row(mp.beta, pairs(*[logarithmic(1e-3, 50, 25)] * 2)),
    "betaln": Row(lambda a, b: mp.log(mp.beta(a, b)), pairs(*[logarithmic(1.1e-3, 0.9e6, 25)] * 2)),
    "betainc": Row(betainc, beta_triples()),
}
