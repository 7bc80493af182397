"""Dense layers, dropout, tables and positions."""

import numpy as np

from trellis import functional as F

from ..case import NO_FLOATS, Case, numbers

x, w, b = numbers(2, 3), numbers(4, 3, seed=1), numbers(4, seed=2)
places, whole = np.array([0.0, 1.0, 2.5]), np.array([0, 1, 3])
# What seed 0 keeps: drawn once, stored so that every backend must draw the same.
KEPT = np.array(
    [[0, 0, 1, 1, 1, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]], "float64"
)


def angles(positions, width):
    rates = 10000.0 ** (-np.arange(0, width, 2) / width)
    return positions[:, None] * rates


def waves(positions, width):
    a = angles(positions, width)
    return np.stack([np.sin(a), np.cos(a)], -1).reshape(len(positions), width)


def rotated(x):
    a = angles(np.arange(len(x)), x.shape[1])
    first, second = np.split(x, 2, axis=-1)
    turned = (first * np.cos(a) - second * np.sin(a), second * np.cos(a) + first * np.sin(a))
    return np.concatenate(turned, axis=-1)


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


def by_groups(x, weights, sizes):
    y = np.zeros((len(x), weights.shape[2]))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    for row, group in enumerate(owner):
        y[row] = x[row] @ weights[group]
    return y


scanned = (
    numbers(1, 3, 2),
    numbers(1, 3, 2, seed=1, low=0.1, high=1.0),
    numbers(2, 3, seed=2, low=-2.0, high=-0.1),
    numbers(1, 3, 3, seed=3),
    numbers(1, 3, 3, seed=4),
)


def selected(x, delta, a, b, c):
    """One step after the other."""
    h, ys = np.zeros((len(x), *a.shape)), []
    for t in range(x.shape[1]):
        step = delta[:, t, :, None]
        h = np.exp(step * a) * h + step * b[:, t, None, :] * x[:, t, :, None]
        ys.append((h * c[:, t, None, :]).sum(-1))
    return np.stack(ys, 1)


CASES = [
    case(
        "grouped_matmul",
        (numbers(6, 3), numbers(4, 3, 2, seed=1), np.array([2, 0, 1, 3])),
        by_groups,
    ),
    case(
        "grouped_matmul",
        (numbers(5, 3), numbers(2, 3, 2, seed=1), np.array([1, 2])),
        by_groups,
        about="rows without a group",
    ),
    case(
        "grouped_matmul",
        (numbers(2, 3), numbers(2, 3, 2, seed=1), np.array([0, 0])),
        by_groups,
        about="empty groups",
    ),
    case("linear", (x, w), lambda x, w: x @ w.T),
    case(
        "linear",
        (x, w, b),
        lambda x, w, b: x @ w.T + b,
        about="bias",
        call=lambda x, w, b: F.linear(x, w, bias=b),
    ),
    case(
        "linear",
        (np.array([[1, 2]], "uint16"), np.array([[3, 4]], "uint16")),
        np.array([[11]], "uint16"),
        about="uint16",
        gradient=NO_FLOATS,
    ),
    case(
        "linear",
        (np.array([[True, False]]), np.array([[True, True], [False, True]])),
        np.array([[True, False]]),
        about="bools",
        gradient=NO_FLOATS,
    ),
    case("dropout", (x, 0.5), lambda x, p: x, kwargs={"training": False}),
    case(
        "dropout",
        (np.ones((4, 6)), 0.5),
        lambda x, p: 2.0 * KEPT,
        about="training",
        kwargs={"seed": 0},
    ),
    case("embedding", (np.array([[2, 0], [1, 2]]), w), lambda i, w: w[i]),
    case("sinusoidal_encoding", (places, 4), waves),
    case(
        "sinusoidal_encoding",
        (whole, 4),
        lambda p, n: waves(p.astype(float), n),
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    case("rotary_embedding", (numbers(3, 4),), rotated),
    case("selective_scan", scanned, selected),
    case(
        "selective_scan",
        (*scanned, numbers(2, seed=5)),
        lambda x, delta, a, b, c, skip: selected(x, delta, a, b, c) + x * skip,
        about="skip",
        call=lambda x, delta, a, b, c, skip: F.selective_scan(x, delta, a, b, c, skip=skip),
    ),
]
