import numpy as np

from ..case import Case, numbers

image, line = numbers(1, 2, 3, 8), numbers(2, 5, 2, seed=1)
fine = numbers(1, 4, 6, 2, seed=2)


def shuffled(x, r):
    n, h, w, c = x.shape
    parts = x.reshape(n, h, w, c // r**2, r, r).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, h * r, w * r, c // r**2)


def unshuffled(x, r):
    n, h, w, c = x.shape
    parts = x.reshape(n, h // r, r, w // r, r, c).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(n, h // r, w // r, c * r**2)


def windows(x, window, step, padding):
    starts = range(0, x.shape[1] - window + 1, step)
    return np.stack([x[:, i : i + window].reshape(len(x), -1) for i in starts], 1)


def put_back(patches, sizes, window, step, padding):
    n, count, width = patches.shape
    y = np.zeros((n, sizes[0], width // window))
    for i in range(count):
        y[:, i * step : i * step + window] += patches[:, i].reshape(n, window, -1)
    return y


def linear(x, out):
    """Half-pixel centres; the edge is repeated."""
    n = x.shape[1]
    at = np.clip((np.arange(out) + 0.5) * n / out - 0.5, 0, n - 1)
    low = np.minimum(np.floor(at).astype(int), n - 2)
    rest = (at - low)[None, :, None]
    return x[:, low] * (1 - rest) + x[:, low + 1] * rest


def sampled(x, grid):
    """Tents over all elements: what lies outside has no weight."""
    sizes = x.shape[1:-1]
    y = np.zeros((*grid.shape[:-1], x.shape[-1]))
    for out in np.ndindex(grid.shape[:-1]):
        for at in np.ndindex(sizes):
            places = [((c + 1) * n - 1) / 2 for c, n in zip(grid[out][::-1], sizes, strict=True)]
            tents = [max(1 - abs(p - i), 0) for p, i in zip(places, at, strict=True)]
            y[out] += np.prod(tents) * x[(out[0], *at)]
    return y


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("grid_sample", (numbers(2, 3, 4, 2), numbers(2, 3, 2, 2, low=-1.2, high=1.2)), sampled),
    case(
        "grid_sample",
        (numbers(1, 2, 3, 2, 2), numbers(1, 1, 2, 2, 3, low=-1.2, high=1.2)),
        sampled,
        about="volume",
    ),
    case("pixel_shuffle", (image, 2), shuffled),
    case("pixel_unshuffle", (fine, 2), unshuffled),
    case("unfold", (line, 2, 1, "VALID"), windows),
    case("fold", (numbers(2, 4, 4), (5,), 2, 1, "VALID"), put_back),
    case("resize", (line, 8), lambda x, n: x[:, [0, 0, 1, 2, 2, 3, 4, 4]]),
    case("resize", (line, 8), linear, about="linear", kwargs={"method": "linear"}),
    case("interpolate", (line, 2), lambda x, s: x.repeat(2, axis=1)),
    case(
        "interpolate",
        (line, 2),
        lambda x, s: linear(x, 10),
        about="linear",
        kwargs={"method": "linear"},
    ),
]
