"""The DETEST problems of Hull, Enright, Fellen and Sedgwick (1972), sets A to E, and stiff ones.

Each is a function of `xp`, t and y that returns a list, and the start.
"""

import math


def _c1(xp, t, y):
    return [-y[0], *[y[i - 1] - y[i] for i in range(1, 9)], y[8]]


def _c2(xp, t, y):
    return [-y[0], *[i * y[i - 1] - (i + 1.0) * y[i] for i in range(1, 9)], 9.0 * y[8]]


def _c3(xp, t, y):
    return _diffusion(y, 10)


def _c4(xp, t, y):
    return _diffusion(y, 51)


def _diffusion(y, n):
    inner = [y[i - 1] - 2.0 * y[i] + y[i + 1] for i in range(1, n - 1)]
    return [-2.0 * y[0] + y[1], *inner, y[n - 2] - 2.0 * y[n - 1]]


# Masses, and positions and speeds of the five outer planets (set C5).
_SUN, _GRAVITY = 1.00000597682, 2.95912208286
_MASSES = (
    0.954786104043e-3,
    0.285583733151e-3,
    0.437273164546e-4,
    0.517759138449e-4,
    0.277777777778e-5,
)
_PLACES = (
    (3.42947415189, 3.35386959711, 1.35494901715),
    (6.64145542550, 5.97156957878, 2.18231499728),
    (11.2630437207, 14.6952576794, 6.27960525067),
    (-30.1552268759, 1.65699966404, 1.43785752721),
    (-21.1238353380, 28.4465098142, 15.3882659679),
)
_SPEEDS = (
    (-0.557160570446, 0.505696783289, 0.230578543901),
    (-0.415570776342, 0.365682722812, 0.169143213293),
    (-0.325325669158, 0.189706021964, 0.0877265322780),
    (-0.0240476254170, -0.287659532608, -0.117219543175),
    (-0.176860753121, -0.216393453025, -0.0148647893090),
)


def _c5(xp, t, y):
    place = [[y[3 * j + i] for i in range(3)] for j in range(5)]
    inverse = [xp.pow(sum([c * c for c in p]), -1.5) for p in place]
    faster = []
    for j in range(5):
        for i in range(3):
            pull = -(_SUN + _MASSES[j]) * place[j][i] * inverse[j]
            for k in range(5):
                if k != j:
                    away = [place[k][n] - place[j][n] for n in range(3)]
                    near = xp.pow(sum([c * c for c in away]), -1.5)
                    pull = pull + _MASSES[k] * (away[i] * near - place[k][i] * inverse[k])
            faster.append(_GRAVITY * pull)
    return [*[y[15 + i] for i in range(15)], *faster]


def _orbit(xp, t, y):
    cube = xp.pow(y[0] * y[0] + y[1] * y[1], 1.5)
    return [y[2], y[3], -y[0] / cube, -y[1] / cube]


def _orbit_start(e):
    return [1.0 - e, 0.0, 0.0, math.sqrt((1.0 + e) / (1.0 - e))]


def _b5(xp, t, y):
    return [y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]


def _b4(xp, t, y):
    r = xp.sqrt(y[0] * y[0] + y[1] * y[1])
    return [-y[1] - y[0] * y[2] / r, y[0] - y[1] * y[2] / r, y[0] / r]


def _b2(xp, t, y):
    return [-y[0] + y[1], y[0] - 2.0 * y[1] + y[2], y[1] - y[2]]


def _e1(xp, t, y):
    return [y[1], -(y[1] / (t + 1.0) + (1.0 - 0.25 / (t + 1.0) ** 2) * y[0])]


def _e4(xp, t, y):
    return [y[1], 0.032 - 0.4 * y[1] * y[1]]


def _e5(xp, t, y):
    return [y[1], xp.sqrt(1.0 + y[1] * y[1]) / (25.0 - t)]


DETEST = {
    "A1": (lambda xp, t, y: [-y[0]], [1.0]),
    "A2": (lambda xp, t, y: [-0.5 * y[0] ** 3], [1.0]),
    "A3": (lambda xp, t, y: [y[0] * xp.cos(t)], [1.0]),
    "A4": (lambda xp, t, y: [0.25 * y[0] * (1.0 - 0.05 * y[0])], [1.0]),
    "A5": (lambda xp, t, y: [(y[0] - t) / (y[0] + t)], [4.0]),
    "B1": (lambda xp, t, y: [2.0 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])], [1.0, 3.0]),
    "B2": (_b2, [2.0, 0.0, 1.0]),
    "B3": (lambda xp, t, y: [-y[0], y[0] - y[1] * y[1], y[1] * y[1]], [1.0, 0.0, 0.0]),
    "B4": (_b4, [3.0, 0.0, 0.0]),
    "B5": (_b5, [0.0, 1.0, 1.0]),
    "C1": (_c1, [1.0] + [0.0] * 9),
    "C2": (_c2, [1.0] + [0.0] * 9),
    "C3": (_c3, [1.0] + [0.0] * 9),
    "C4": (_c4, [1.0] + [0.0] * 50),
    "C5": (_c5, [c for rows in (_PLACES, _SPEEDS) for row in rows for c in row]),
    "D1": (_orbit, _orbit_start(0.1)),
    "D2": (_orbit, _orbit_start(0.3)),
    "D3": (_orbit, _orbit_start(0.5)),
    "D4": (_orbit, _orbit_start(0.7)),
    "D5": (_orbit, _orbit_start(0.9)),
    "E1": (_e1, [0.6713967071418030, 0.09540051444747446]),
    "E2": (lambda xp, t, y: [y[1], (1.0 - y[0] * y[0]) * y[1] - y[0]], [2.0, 0.0]),
    "E3": (lambda xp, t, y: [y[1], y[0] ** 3 / 6.0 - y[0] + 2.0 * xp.sin(2.78535 * t)], [0.0, 0.0]),
    "E4": (_e4, [30.0, 0.0]),
    "E5": (_e5, [0.0, 0.0]),
}


def van_der_pol(xp, t, y):
    return [y[1], 100.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]]


def robertson(xp, t, y):
    fast, slow = 1e4 * y[1] * y[2] - 0.04 * y[0], 3e7 * y[1] * y[1]
    return [fast, -fast - slow, slow]


def hires(xp, t, y):
    """High irradiance responses of photomorphogenesis (Schafer, 1975)."""
    product = 280.0 * y[5] * y[7]
    return [
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -product + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        product - 1.81 * y[6],
        -product + 1.81 * y[6],
    ]


# The equation, the start, the end and the absolute tolerance.
STIFF = {
    "van_der_pol": (van_der_pol, [2.0, 0.0], 50.0, 1e-7),
    "robertson": (robertson, [1.0, 0.0, 0.0], 1000.0, 1e-10),
    "hires": (hires, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057], 50.0, 1e-9),
}
