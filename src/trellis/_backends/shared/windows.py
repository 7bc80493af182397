"""Maxima over windows, for the backends whose framework's pooling lacks some options."""

from typing import Any, NamedTuple


class WindowSpec(NamedTuple):
    """Windows as a backend gets them; the tuples have one entry per spatial axis."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]  # (low, high)
    dilations: tuple[int, ...]
    channel_first: bool


def max_over_windows(xp: Any, x: Any, spec: WindowSpec, indices: bool) -> tuple[Any, Any]:
    """Maxima and, if asked for, their positions in the input plane.

    One axis after another, the last one first: of equal rows the first is chosen, and in it the
    first of equal elements.
    """
    window, strides, padding, dilations, channel_first = spec
    dims = len(window)
    start = 2 if channel_first else 1
    sizes = tuple([x.shape[start + i] for i in range(dims)])
    places = positions(xp, x, sizes, start) if indices else None
    for i in reversed(range(dims)):
        axis = start + i
        low, high = padding[i]
        if low or high:
            pairs = [(0, 0)] * (dims + 2)
            pairs[axis] = (low, high)
            x = xp.pad(x, pairs, constant_values=-xp.inf)
            places = None if places is None else xp.pad(places, pairs)
        out = (sizes[i] + low + high - (window[i] - 1) * dilations[i] - 1) // strides[i] + 1
        best, at = None, None
        for j in range(window[i]):
            first = j * dilations[i]
            part = (slice(None),) * axis + (
                slice(first, first + (out - 1) * strides[i] + 1, strides[i]),
                ...,
            )
            best, at = larger(xp, best, at, x[part], None if places is None else places[part])
        x, places = best, at
    return x, places


def larger(xp: Any, best: Any, at: Any, candidate: Any, place: Any) -> tuple[Any, Any]:
    """The larger of two arrays and its position; the first of equals, nan where one is nan."""
    if best is None:
        return candidate, place
    is_better = xp.logical_or(xp.greater(candidate, best), xp.not_equal(candidate, candidate))
    return xp.where(is_better, candidate, best), None if place is None else xp.where(
        is_better, place, at
    )


def positions(xp: Any, x: Any, sizes: tuple[int, ...], start: int) -> Any:
    """The number of every position of the input plane, in the shape of `x`."""
    total = 1
    for size in sizes:
        total *= size
    shape = [1] * len(x.shape)
    shape[start : start + len(sizes)] = sizes
    numbers = xp.reshape(xp.arange(total, device=xp.device(x)), tuple(shape))
    return numbers + xp.zeros_like(x, dtype=numbers.dtype)
