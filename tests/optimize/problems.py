"""Test problems of More, Garbow and Hillstrom (1981), from their formulas, over a backend.

Each is the residuals from `xp` and x (a list or an array), the start, and the sum of squares at
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


def _powell_badly_scaled(xp, x):
    return [1e4 * x[0] * x[1] - 1.0, xp.exp(-x[0]) + xp.exp(-x[1]) - 1.0001]


def _brown_badly_scaled(xp, x):
    return [x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2.0]


def _jennrich_sampson(xp, x):
    return [2.0 + 2.0 * i - (xp.exp(i * x[0]) + xp.exp(i * x[1])) for i in range(1, 11)]


OSBORNE = (
    *(0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718),
    *(0.685, 0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467),
    *(0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406),
)


def _osborne_1(xp, x):
    y = xp.asarray(list(OSBORNE), dtype=x.dtype)
    t = xp.asarray([10.0 * i for i in range(33)], dtype=x.dtype)
    return y - (x[0] + x[1] * xp.exp(-t * x[3]) + x[2] * xp.exp(-t * x[4]))


def _biggs(xp, x):
    t = xp.asarray([0.1 * i for i in range(1, 14)], dtype=x.dtype)
    y = xp.exp(-t) - 5.0 * xp.exp(-10.0 * t) + 3.0 * xp.exp(-4.0 * t)
    return x[2] * xp.exp(-t * x[0]) - x[3] * xp.exp(-t * x[1]) + x[5] * xp.exp(-t * x[4]) - y


def _watson(xp, x):
    ts = [i / 29.0 for i in range(1, 30)]
    powers = xp.asarray([[t**j for j in range(6)] for t in ts], dtype=x.dtype)
    slopes = [[j * t ** (j - 1) if j else 0.0 for j in range(6)] for t in ts]
    rows = xp.matmul(xp.asarray(slopes, dtype=x.dtype), x) - xp.matmul(powers, x) ** 2 - 1.0
    return xp.concat([rows, xp.stack([x[0], x[1] - x[0] ** 2 - 1.0], axis=0)], axis=0)


def _penalty_1(xp, x):
    rows = [math.sqrt(1e-5) * (x[i] - 1.0) for i in range(4)]
    return [*rows, sum([x[i] ** 2 for i in range(4)]) - 0.25]


def _penalty_2(xp, x):
    small, rows = math.sqrt(1e-5), [x[0] - 0.2]
    for i in range(1, 4):
        y = math.exp((i + 1) / 10.0) + math.exp(i / 10.0)
        rows.append(small * (xp.exp(x[i] / 10.0) + xp.exp(x[i - 1] / 10.0) - y))
    rows += [small * (xp.exp(x[i] / 10.0) - math.exp(-0.1)) for i in range(1, 4)]
    return [*rows, sum([(4 - i) * x[i] ** 2 for i in range(4)]) - 1.0]


def _variably_dimensioned(xp, x):
    total = sum([(i + 1) * (x[i] - 1.0) for i in range(5)])
    return [*[x[i] - 1.0 for i in range(5)], total, total**2]


def _brown_almost_linear(xp, x):
    total = sum([x[i] for i in range(5)])
    return [*[x[i] + total - 6.0 for i in range(4)], x[0] * x[1] * x[2] * x[3] * x[4] - 1.0]


def _discrete_boundary(xp, x):
    h, rows = 1.0 / 6.0, []
    for i in range(5):
        around = (x[i - 1] if i > 0 else 0.0) + (x[i + 1] if i < 4 else 0.0)
        rows.append(2.0 * x[i] - around + h * h * (x[i] + (i + 1) * h + 1.0) ** 3 / 2.0)
    return rows


def _broyden_tridiagonal(xp, x):
    rows = []
    for i in range(5):
        around = (x[i - 1] if i > 0 else 0.0) + 2.0 * (x[i + 1] if i < 4 else 0.0)
        rows.append((3.0 - 2.0 * x[i]) * x[i] - around + 1.0)
    return rows


def _linear(xp, x):
    total = 0.2 * sum([x[i] for i in range(5)])
    return [*[x[i] - total - 1.0 for i in range(5)], *[-total - 1.0 for _ in range(5)]]


def _linear_rank_1(xp, x):
    total = sum([(i + 1) * x[i] for i in range(5)])
    return [(i + 1) * total - 1.0 for i in range(10)]


def _chebyquad(xp, x):
    shifted = [2.0 * x[j] - 1.0 for j in range(8)]
    last, this, rows = [1.0] * 8, shifted, []
    for i in range(1, 9):
        mean = 0.0 if i % 2 else -1.0 / (i * i - 1.0)
        rows.append(sum(this) / 8.0 - mean)
        last, this = this, [2.0 * z * a - b for z, a, b in zip(shifted, this, last)]
    return rows


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
    "powell_badly_scaled": Problem(_powell_badly_scaled, [0.0, 1.0], 0.0),
    "brown_badly_scaled": Problem(_brown_badly_scaled, [1.0, 1.0], 0.0),
    "jennrich_sampson": Problem(_jennrich_sampson, [0.3, 0.4], 124.362),
    "osborne_1": Problem(_osborne_1, [0.5, 1.5, -1.0, 0.01, 0.02], 5.46489e-5),
    "biggs": Problem(_biggs, [1.0, 2.0, 1.0, 1.0, 1.0, 1.0], 5.65565e-3),
    "watson": Problem(_watson, [0.0] * 6, 2.28767e-3),
    # The paper cuts its digits: 2.24997e-5.
    "penalty_1": Problem(_penalty_1, [1.0, 2.0, 3.0, 4.0], 2.249978e-5),
    "penalty_2": Problem(_penalty_2, [0.5] * 4, 9.37629e-6),
    "variably_dimensioned": Problem(_variably_dimensioned, [0.8, 0.6, 0.4, 0.2, 0.0], 0.0),
    "brown_almost_linear": Problem(_brown_almost_linear, [0.5] * 5, 0.0),
    "discrete_boundary": Problem(
        _discrete_boundary, [i / 6.0 * (i / 6.0 - 1.0) for i in range(1, 6)], 0.0
    ),
    "broyden_tridiagonal": Problem(_broyden_tridiagonal, [-1.0] * 5, 0.0),
    "linear": Problem(_linear, [1.0] * 5, 5.0),
    "linear_rank_1": Problem(_linear_rank_1, [1.0] * 5, 90.0 / 42.0),
    "chebyquad": Problem(_chebyquad, [i / 9.0 for i in range(1, 9)], 3.51687e-3),
}


def residuals(xp, name):
    """The residuals of a problem as one array."""

    def of(x):
        rows = PROBLEMS[name].residuals(xp, x)
        return xp.stack(rows, axis=0) if isinstance(rows, list) else rows

    return of


def objective(xp, name):
    """The sum of squares."""
    return lambda x: xp.sum(residuals(xp, name)(x) ** 2)


def start(name):
    return np.array(PROBLEMS[name].start)
