from itertools import product

import numpy as np

from ..case import Case, numbers

line, image, volume = numbers(2, 6, 2), numbers(1, 4, 5, 2, seed=1), numbers(1, 2, 3, 4, 1, seed=2)


def pooled(fn):
    """The function of every window, channel last, no padding."""

    def of(x, window, step, padding):
        dims = x.ndim - 2
        outs = [(n - window) // step + 1 for n in x.shape[1:-1]]
        y = np.zeros((x.shape[0], *outs, x.shape[-1]))
        for at in product(*[range(n) for n in outs]):
            spans = [slice(i * step, i * step + window) for i in at]
            y[(slice(None), *at)] = fn(x[(slice(None), *spans)], tuple(range(1, dims + 1)))
        return y

    return of


largest = pooled(lambda part, axes: part.max(axes))
middle = pooled(lambda part, axes: part.mean(axes))


def parts(n, out):
    return [slice(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def adapted(fn, x, out):
    rows, columns = parts(x.shape[1], out), parts(x.shape[2], out)
    return np.stack([np.stack([fn(x[:, r, c], (1, 2)) for c in columns], 1) for r in rows], 1)


def padded_mean(x, window, step, padding):
    sums = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    counts = np.pad(np.ones_like(x), ((0, 0), (1, 1), (0, 0)))
    mean = pooled(lambda part, axes: part.sum(axes))
    return mean(sums, window, step, None) / mean(counts, window, step, None)


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("max_pool1d", (line, 2, 2, "VALID"), largest),
    case("max_pool2d", (image, 2, 1, "VALID"), largest),
    case(
        "max_pool2d",
        (np.arange(16.0).reshape(1, 4, 4, 1), 2, 2, "VALID"),
        np.array([5, 7, 13, 15]).reshape(1, 2, 2, 1),
        about="indices",
        kwargs={"return_indices": True},
        then=lambda result: result[1],
        gradient="integers come out",
    ),
    case(
        "max_pool1d",
        (line, 4, 3, "VALID"),
        lambda x, k, s, p: np.stack([x[:, 0:4].max(1), x[:, 3:6].max(1)], 1),
        about="ceil_mode",
        kwargs={"ceil_mode": True},
    ),
    case("max_pool3d", (volume, 2, 1, "VALID"), largest),
    case("avg_pool1d", (line, 3, 2, "VALID"), middle),
    case("avg_pool1d", (line, 3, 2, 1), padded_mean, about="padding does not count"),
    case(
        "avg_pool1d",
        (line, 4, 3, 1),
        # The padded input ends at 7; the windows are [-1, 3), [2, 6) and [5, 9).
        lambda x, k, s, p: np.stack(
            [x[:, 0:3].sum(1) / 4, x[:, 2:6].sum(1) / 4, x[:, 5:6].sum(1) / 2], 1
        ),
        about="ceil_mode, padding counts",
        kwargs={"ceil_mode": True, "count_include_pad": True},
    ),
    case("avg_pool2d", (image, 2, 2, "VALID"), middle),
    case("avg_pool3d", (volume, 2, 1, "VALID"), middle),
    case("global_avg_pool", (image,), lambda x: x.mean((1, 2))),
    case("global_max_pool", (image,), lambda x: x.max((1, 2))),
    case("adaptive_avg_pool", (image, 3), lambda x, n: adapted(np.mean, x, n)),
    case("adaptive_max_pool", (image, 3), lambda x, n: adapted(np.max, x, n)),
]
