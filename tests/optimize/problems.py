"""Test problems of More, Garbow and Hillstrom (1981), from their formulas, over a backend.

Each is its number in the paper, the residuals from `xp` and x, the start, and the sum of squares at
the minimum that the start leads to, as the paper prints it (six digits; 0 where it is exact).
"""

import math
from typing import Any, NamedTuple

import numpy as np


class Problem(NamedTuple):
    residuals: Any
    start: list[float]
    minimum: float


def _rosenbrock(xp, x):
    return [10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]]


def _freudenstein_roth(xp, x):
    a = -13.0 + x[0] + ((5.0 - x[1]) * x[1] - 2.0) * x[1]
    return [a, -29.0 + x[0] + ((x[1] + 1.0) * x[1] - 14.0) * x[1]]


def _beale(xp, x):
    return [y - x[0] * (1.0 - x[1] ** (i + 1)) for i, y in enumerate((1.5, 2.25, 2.625))]


def _helical_valley(xp, x):
    # On the start's side of the axis, where the paper's arctangent needs no second branch.
    turn = xp.atan2(x[1], x[0]) / (2.0 * math.pi)
    return [10.0 * (x[2] - 10.0 * turn), 10.0 * (xp.sqrt(x[0] ** 2 + x[1] ** 2) - 1.0), x[2]]


BARD = (0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39)


def _bard(xp, x):
    rows = []
    for i, y in enumerate(BARD):
        u, v = i + 1.0, 15.0 - i
        rows.append(y - (x[0] + u / (v * x[1] + min(u, v) * x[2])))
    return rows


GAUSS = (0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989)


def _gaussian(xp, x):
    ys = [*GAUSS, *GAUSS[-2::-1]]
    rows = []
    for i, y in enumerate(ys):
        t = (7.0 - i) / 2.0
        rows.append(x[0] * xp.exp(-x[1] * (t - x[2]) ** 2 / 2.0) - y)
    return rows


def _box(xp, x):
    rows = []
    for i in range(1, 11):
        t = 0.1 * i
        constant = math.exp(-t) - math.exp(-10.0 * t)
        rows.append(xp.exp(-t * x[0]) - xp.exp(-t * x[1]) - x[2] * constant)
    return rows


def _powell_singular(xp, x):
    return [
        x[0] + 10.0 * x[1],
        math.sqrt(5.0) * (x[2] - x[3]),
        (x[1] - 2.0 * x[2]) ** 2,
        math.sqrt(10.0) * (x[0] - x[3]) ** 2,
    ]


def _wood(xp, x):
    return [
        10.0 * (x[1] - x[0] ** 2),
        1.0 - x[0],
        math.sqrt(90.0) * (x[3] - x[2] ** 2),
        1.0 - x[2],
        math.sqrt(10.0) * (x[1] + x[3] - 2.0),
        (x[1] - x[3]) / math.sqrt(10.0),
    ]


KOWALIK = (
    (0.1957, 4.0),
    (0.1947, 2.0),
    (0.1735, 1.0),
    (0.1600, 0.5),
    (0.0844, 0.25),
    (0.0627, 0.167),
    (0.0456, 0.125),
    (0.0342, 0.1),
    (0.0323, 0.0833),
    (0.0235, 0.0714),
    (0.0246, 0.0625),
)


def _kowalik_osborne(xp, x):
    return [y - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3]) for y, u in KOWALIK]


def _brown_dennis(xp, x):
    rows = []
    for i in range(1, 21):
        t = i / 5.0
        first = x[0] + t * x[1] - math.exp(t)
        second = x[2] + x[3] * math.sin(t) - math.cos(t)
        rows.append(first**2 + second**2)
    return rows


def _trigonometric(xp, x):
    total = sum([xp.cos(x[i]) for i in range(5)])
    return [5.0 - total + (i + 1.0) * (1.0 - xp.cos(x[i])) - xp.sin(x[i]) for i in range(5)]


PROBLEMS = {
    "rosenbrock": Problem(_rosenbrock, [-1.2, 1.0], 0.0),
    "freudenstein_roth": Problem(_freudenstein_roth, [0.5, -2.0], 48.9842),
    "beale": Problem(_beale, [1.0, 1.0], 0.0),
    "helical_valley": Problem(_helical_valley, [-1.0, 0.1, 0.1], 0.0),
    "bard": Problem(_bard, [1.0, 1.0, 1.0], 8.21487e-3),
    "gaussian": Problem(_gaussian, [0.4, 1.0, 0.0], 1.12793e-8),
    "box": Problem(_box, [0.0, 10.0, 20.0], 0.0),
    "powell_singular": Problem(_powell_singular, [3.0, -1.0, 0.0, 1.0], 0.0),
    "wood": Problem(_wood, [-3.0, -1.0, -3.0, -1.0], 0.0),
    "kowalik_osborne": Problem(_kowalik_osborne, [0.25, 0.39, 0.415, 0.39], 3.07505e-4),
    "brown_dennis": Problem(_brown_dennis, [25.0, 5.0, -5.0, -1.0], 85822.2),
    "trigonometric": Problem(_trigonometric, [0.2] * 5, 0.0),
}


def residuals(xp, name):
    """The residuals of a problem as one array."""
    return lambda x: xp.stack(PROBLEMS[name].residuals(xp, x), axis=0)


def objective(xp, name):
    """The sum of squares."""
    return lambda x: xp.sum(residuals(xp, name)(x) ** 2)


def start(name):
    return np.array(PROBLEMS[name].start)
