"""Writes src/trellis/special/_coefficients.py: every table of trellis.special, from its definition.

    python tools/special/coefficients.py

Needs mpmath, which the library does not.
"""

from pathlib import Path

import mpmath as mp
from fits import GOALS, Fit, polynomial
from quadrature import rule
from temme import temme_rows

mp.mp.dps = 50
TARGET = Path(__file__).parents[2] / "src" / "trellis" / "special" / "_coefficients.py"
ROOT_OF_DIGAMMA = mp.findroot(mp.digamma, 1.46)
ROOT_OF_EXPI = mp.findroot(mp.ei, 0.3725)
ROUGH = {"float64": mp.mpf(10) ** -8, "float32": mp.mpf(10) ** -5}


def lgamma_over_zeros(z):
    """lgamma(2 + z) / (z (1 + z)), which has no zeros."""
    if z == 0:
        return mp.digamma(2)
    return mp.loggamma(2 + z) / (z * (1 + z))


def stirling(y):
    """x (lgamma(x) - Stirling's formula), with y = 1 / x**2."""
    if y == 0:
        return mp.mpf(1) / 12
    x = 1 / mp.sqrt(y)
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def digamma_far(y):
    """x**2 (log(x) - 1 / (2 x) - digamma(x)), with y = 1 / x**2."""
    x = 1 / mp.sqrt(y)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / y


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 20 else mp_erfcx_far(x)


def mp_erfcx_far(x):
    with mp.workdps(60):
        total = term = mp.mpf(1)
        for n in range(1, 60):
            term *= -(2 * n - 1) / (2 * x * x)
            total += term
        return total / (x * mp.sqrt(mp.pi))


def erfcx_mapped(t):
    """(1 + 2 x) erfcx(x), with t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(x)


def bessel_phase(order, part):
    """The slow factors of Hankel's form, with y = 25 / x**2: P, or Q x / 5."""

    def function(y):
        x = 5 / mp.sqrt(y)
        with mp.workdps(60):
            angle = x - (2 * order + 1) * mp.pi / 4
            j, w = mp.besselj(order, x), mp.bessely(order, x)
            root = mp.sqrt(mp.pi * x / 2)
            if part == "P":
                return root * (j * mp.cos(angle) + w * mp.sin(angle))
            return root * (w * mp.cos(angle) - j * mp.sin(angle)) * x / 5

    return function


def j0_less_one(y):
    """(j0(x) - 1) / x**2, with y = x**2."""
    with mp.workdps(90):
        return mp.mpf(-0.25) if y == 0 else (mp.besselj(0, mp.sqrt(y)) - 1) / y


def y_rest(order):
    """What is left of y0 and y1 without their logarithm and their pole, by y = x**2."""

    def function(y):
        if y == 0:
            y = mp.mpf(10) ** -30
        x = mp.sqrt(y)
        with mp.workdps(70):
            rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
            return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x

    return function


def expi_over_zero(x):
    with mp.workdps(70):
        if x == 0:
            return mp.euler / -ROOT_OF_EXPI + mp.log(ROOT_OF_EXPI) / -ROOT_OF_EXPI
        if x == ROOT_OF_EXPI:
            x += mp.mpf(10) ** -25
        return (mp.ei(x) - mp.log(x / ROOT_OF_EXPI)) / (x - ROOT_OF_EXPI)


def expi_scaled(x):
    return x * mp.exp(-x) * mp.ei(x)


def expi_far(s):
    """x exp(-x) expi(x), with s = 1 / x."""
    if s < mp.mpf(1) / 400:
        total = term = mp.mpf(1)
        for n in range(1, 150):
            term *= n * s
            total += term
        return total
    return expi_scaled(1 / s)


def exp1_far(s):
    """x exp(x) exp1(x), with s = 1 / x."""
    if s < mp.mpf(1) / 400:
        total = term = mp.mpf(1)
        for n in range(1, 150):
            term *= -n * s
            total += term
        return total
    return mp.exp(1 / s) * mp.e1(1 / s) / s


def exp1_near(x):
    """exp1(x) + log(x)."""
    return -mp.euler if x == 0 else mp.e1(x) + mp.log(x)


def i_far(order):
    def function(s):
        x = 8 / s
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return function


def normal_quantile(p):
    """The number that a normal variable is below of with probability p < 1/2."""
    with mp.workdps(60):
        r = mp.sqrt(-2 * mp.log(p))
        start = -r if p < 0.01 else mp.mpf(-0.5)
        if p < 0.01:
            start = -(r - mp.log(r * mp.sqrt(2 * mp.pi)) / r)
        return mp.findroot(lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) - mp.log(p), start)


def ndtri_middle(y):
    """ndtri(1/2 + q) / q, with y = q**2."""
    q = mp.sqrt(y)
    return mp.sqrt(2 * mp.pi) if q == 0 else -normal_quantile(mp.mpf(0.5) - q) / q


def ndtri_tail(s):
    """-ndtri(p) / r, with s = 1 / r and r = sqrt(-2 log p)."""
    return -normal_quantile(mp.exp(-1 / (s * s) / 2)) * s


def atanh_rest(y):
    """(atanh(s) - s) / s**3, with y = s**2."""
    return mp.fsum([y**k / (2 * k + 3) for k in range(120)])


def one(_):
    return mp.mpf(1)


FITS = [
    Fit("LGAMMA_NEAR_1", lambda z: mp.loggamma(1 + z) / z if z else -mp.euler, "-0.5", "0.5"),
    Fit("LGAMMA_NEAR_2", lgamma_over_zeros, "-0.5", "0.5"),
    Fit("STIRLING", stirling, 0, mp.mpf(1) / 64),
    Fit("GAMMA_2_TO_3", lambda u: mp.gamma(2 + u), 0, 1),
    Fit("DIGAMMA_1_TO_2", lambda x: mp.digamma(x) / (x - ROOT_OF_DIGAMMA), 1, 2),
    Fit("DIGAMMA_FAR", digamma_far, mp.mpf(10) ** -30, mp.mpf(1) / 64),
    Fit(
        "ERF_NEAR",
        lambda y: mp.erf(mp.sqrt(y)) / mp.sqrt(y) if y else 2 / mp.sqrt(mp.pi),
        0,
        "0.25",
    ),
    Fit("ERFCX", erfcx_mapped, mp.mpf(-7) / 9, 1),
    Fit("ATANH_REST", atanh_rest, 0, mp.mpf(15) / 100),
    Fit("I0_FAR", i_far(0), mp.mpf(10) ** -30, 1),
    Fit("I1_FAR", i_far(1), mp.mpf(10) ** -30, 1),
    Fit("J0_TINY", j0_less_one, 0, 4),
    Fit("J0_NEAR", lambda y: mp.besselj(0, mp.sqrt(y)), 4, 25, scale=lambda _: mp.mpf("0.3")),
    Fit(
        "J1_NEAR",
        lambda y: mp.mpf(0.5) if y == 0 else mp.besselj(1, mp.sqrt(y)) / mp.sqrt(y),
        0,
        25,
        scale=lambda _: mp.mpf("0.05"),
    ),
    Fit("Y0_NEAR", y_rest(0), 0, 25, scale=lambda _: mp.mpf("0.3")),
    Fit("Y1_NEAR", y_rest(1), 0, 25, scale=lambda _: mp.mpf("0.05")),
    *[
        Fit(f"{part}{order}_FAR", bessel_phase(order, part), mp.mpf(10) ** -12, 1)
        for order in (0, 1)
        for part in "PQ"
    ],
    Fit("EXP1_NEAR", exp1_near, 0, 1, scale=lambda _: mp.mpf("0.2")),
    Fit("EXP1_1_TO_4", lambda s: exp1_far(s), mp.mpf(1) / 4, 1),
    Fit("EXP1_FAR", exp1_far, 0, mp.mpf(1) / 4),
    Fit("EXPI_NEAR", expi_over_zero, 0, "1.5"),
    Fit("EXPI_TO_4", expi_scaled, "1.5", 4),
    Fit("EXPI_TO_10", expi_scaled, 4, 10),
    Fit("EXPI_TO_20", expi_scaled, 10, 20),
    Fit("EXPI_TO_48", expi_scaled, 20, 48),
    Fit("EXPI_FAR", expi_far, 0, mp.mpf(1) / 48),
    Fit("NDTRI_MIDDLE", ndtri_middle, 0, mp.mpf("0.425") ** 2, goals=ROUGH),
    Fit("NDTRI_TAIL", ndtri_tail, mp.mpf(1) / 39, mp.mpf("0.45"), goals=ROUGH),
]


def split(number):
    """A number as the sum of three floats; the first has 20 bits, so that it is one in float32."""
    first = mp.mpf(int(number * 2**20)) / 2**20
    second = mp.mpf(int((number - first) * 2**42)) / 2**42
    return (float(first), float(second), float(number - first - second))


def quadrature_lines():
    """Enough points for exp(-t**2 / 2) from 0 to 8.5, and in float32 to 5.8."""
    lines = ["# Gauss' and Legendre's rule on [0, 1]: points and weights."]
    for kind, count in (("64", 24), ("32", 14)):
        lines.append(f"QUADRATURE_{kind} = (")
        lines += [f"    ({point!r}, {weight!r})," for point, weight in rule(count)]
        lines.append(")")
    return lines


def main():
    lines = [
        '"""Written by tools/special/coefficients.py, which has the definition of every table.',
        "",
        "A piece is a polynomial in t = (x - middle) / half, lowest power first, for each float.",
        '"""',
        "",
        "from typing import NamedTuple",
        "",
        "",
        "class Piece(NamedTuple):",
        "    middle: float",
        "    half: float",
        "    float64: tuple[float, ...]",
        "    float32: tuple[float, ...]",
        "",
        "",
        "# Zeros, each as a sum of three numbers.",
        f"DIGAMMA_ZERO = {split(ROOT_OF_DIGAMMA)!r}",
        f"EXPI_ZERO = {split(ROOT_OF_EXPI)!r}",
    ]
    for fit in FITS:
        low, high = mp.mpf(fit.low), mp.mpf(fit.high)
        goals = fit.goals or GOALS
        lines.append(f"{fit.name} = Piece(")
        lines.append(f"    {float((low + high) / 2)!r},")
        lines.append(f"    {float((high - low) / 2)!r},")
        for kind in ("float64", "float32"):
            lines += ["    (", *[f"        {c!r}," for c in polynomial(fit, goals[kind])], "    ),"]
        lines.append(")")
        print(fit.name, len(polynomial(fit, goals["float64"])), flush=True)
    lines.append("# Temme's uniform expansion of the incomplete gamma function: row k over a ** k.")
    lines.append("TEMME = (")
    for row in temme_rows():
        lines += ["    (", *[f"        {c!r}," for c in row], "    ),"]
    lines.append(")")
    lines += quadrature_lines()
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
