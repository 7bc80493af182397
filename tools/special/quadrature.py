"""Gauss' and Legendre's rule on [0, 1], rounded from high precision."""

import mpmath as mp
import numpy as np


def rule(count: int) -> list[tuple[float, float]]:
    """Pairs of a point and its weight: NumPy's own points have three units less at the ends."""
    found = []
    for start in np.polynomial.legendre.leggauss(count)[0]:
        t = mp.mpf(float(start))
        for _ in range(3):
            t -= mp.legendre(count, t) / _slope(count, t)
        found.append((float((1 + t) / 2), float(1 / ((1 - t * t) * _slope(count, t) ** 2))))
    return found


def _slope(count: int, t: mp.mpf) -> mp.mpf:
    return count * (t * mp.legendre(count, t) - mp.legendre(count - 1, t)) / (t * t - 1)
