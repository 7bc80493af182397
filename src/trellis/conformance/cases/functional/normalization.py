import numpy as np

from trellis import functional as F

from ..case import Case, numbers

x, planes = numbers(3, 4), numbers(2, 3, 4, seed=1)
mean, variance = numbers(4, seed=2), numbers(4, low=0.5, high=2.0, seed=3)
w, b = numbers(4, seed=4), numbers(4, seed=5)


def standard(x, axis, epsilon=1e-5):
    away = x - x.mean(axis, keepdims=True)
    return away / np.sqrt((away**2).mean(axis, keepdims=True) + epsilon)


def grouped(x, groups):
    parts = x.reshape(2, 3, groups, 2)
    return standard(parts, (1, 3)).reshape(x.shape)


def response(x):
    padded = np.pad(x**2, ((0, 0), (2, 2)))
    total = sum(padded[:, i : i + x.shape[1]] for i in range(5))
    return x / (1 + 1e-4 / 5 * total) ** 0.75


def first(result):
    return result[0]


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("layer_norm", (x,), lambda x: standard(x, -1)),
    case(
        "layer_norm",
        (x, w, b),
        lambda x, w, b: standard(x, -1) * w + b,
        about="scale and offset",
        call=lambda x, w, b: F.layer_norm(x, weight=w, bias=b),
    ),
    case("rms_norm", (x,), lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)),
    case(
        "batch_norm",
        (x, mean, variance),
        lambda x, m, v: (x - m) / np.sqrt(v + 1e-5),
        then=first,
    ),
    case(
        "batch_norm",
        (planes, mean, variance),
        lambda x, m, v: standard(x, (0, 1)),
        about="training",
        kwargs={"training": True},
        then=first,
    ),
    case(
        "batch_norm",
        (planes, mean, variance),
        lambda x, m, v: 0.9 * v + 0.1 * x.var((0, 1), ddof=1),
        about="running variance",
        kwargs={"training": True},
        then=lambda result: result[2],
        gradient="no gradient flows into running values",
    ),
    case("group_norm", (planes, 2), grouped),
    case("instance_norm", (planes,), lambda x: standard(x, 1)),
    case("local_response_norm", (x,), response),
    case(
        "spectral_norm",
        (numbers(3, 4), numbers(3, seed=1)),
        lambda w, u: w / np.linalg.norm(w, 2),
        kwargs={"iterations": 60},
        then=first,
        gradient="no gradient flows through the iteration",
    ),
]
