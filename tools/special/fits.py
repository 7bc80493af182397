"""Polynomials on intervals, by interpolation between Chebyshev's points in high precision."""

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

GOALS = {"float64": mp.mpf(2) ** -57, "float32": mp.mpf(2) ** -28}


@dataclass(frozen=True)
class Fit:
    """A function on [low, high], as a polynomial in t = (x - middle) / half between -1 and 1."""

    name: str
    function: Callable[[mp.mpf], mp.mpf]
    low: str | int | mp.mpf
    high: str | int | mp.mpf
    # The size that errors are measured against: the function's own, unless it has zeros.
    scale: Callable[[mp.mpf], mp.mpf] | None = None
    goals: dict[str, mp.mpf] | None = None


def polynomial(fit: Fit, goal: mp.mpf) -> list[float]:
    """Coefficients from the lowest power on: the shortest polynomial that keeps to the goal."""
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    middle, half = (low + high) / 2, (high - low) / 2
    size = 48
    points = [mp.cos(mp.pi * (2 * k + 1) / (2 * size)) for k in range(size)]
    values = [fit.function(middle + half * t) for t in points]
    scale = fit.scale or fit.function
    sizes = [abs(scale(middle + half * t)) for t in points]
    chebyshev = [
        2
        * mp.fsum([v * mp.cos(mp.pi * n * (2 * k + 1) / (2 * size)) for k, v in enumerate(values)])
        / size
        for n in range(size)
    ]
    chebyshev[0] /= 2
    least = min(sizes)
    rest, length = mp.mpf(0), size
    while length > 1 and rest + abs(chebyshev[length - 1]) < goal * least:
        rest += abs(chebyshev[length - 1])
        length -= 1
    if length > size - 4:
        raise ValueError(f"{fit.name} does not converge: choose a shorter interval")
    return [float(c) for c in in_powers(chebyshev[:length])]


def in_powers(chebyshev: list[mp.mpf]) -> list[mp.mpf]:
    """A sum of Chebyshev's polynomials as a sum of powers."""
    total = [mp.mpf(0)] * len(chebyshev)
    before, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for n, c in enumerate(chebyshev):
        basis = before if n == 0 else current
        for i, b in enumerate(basis):
            total[i] += c * b
        if n >= 1:
            following = [mp.mpf(0), *[2 * b for b in current]]
            for i, b in enumerate(before):
                following[i] -= b
            before, current = current, following
    return total
