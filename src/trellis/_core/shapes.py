"""Arithmetic of shapes, axes and pad widths that every backend shares. No arrays here."""

from typing import Any

from .errors import ArgumentError, ShapeError

PAD_MODES = ("constant", "reflect", "edge", "wrap")


def normal_axis(axis: int, ndim: int) -> int:
    """A non-negative axis; an axis out of range raises.

    >>> normal_axis(-1, 3)
    2
    """
    if not -ndim <= axis < ndim:
        raise ShapeError(f"axis {axis} is out of range for an array of {ndim} dimensions.")
    return axis % ndim


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple of non-negative ints; None means all of them.

    >>> normal_axes(None, 2), normal_axes(-1, 2)
    ((0, 1), (1,))
    """
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple([normal_axis(a, ndim) for a in axes])


def pad_pairs(pad_width: Any, ndim: int, mode: str) -> list[tuple[int, int]]:
    """One (low, high) pair per axis out of an int, one pair, or a pair per axis.

    >>> pad_pairs((1, 2), 2, "constant")
    [(1, 2), (1, 2)]
    """
    if mode not in PAD_MODES:
        raise ArgumentError(f"pad() knows the modes {', '.join(PAD_MODES)}, not {mode!r}.")
    if isinstance(pad_width, int):
        pairs = [(pad_width, pad_width)] * ndim
    elif len(pad_width) == 2 and isinstance(pad_width[0], int):
        pairs = [(pad_width[0], pad_width[1])] * ndim
    else:
        pairs = [(low, high) for low, high in pad_width]
    if len(pairs) != ndim:
        raise ShapeError(
            f"pad() needs one (low, high) pair per axis: {ndim} of them, got {len(pairs)}."
        )
    for low, high in pairs:
        if low < 0 or high < 0:
            raise ArgumentError(f"pad() widths must not be negative, got {(low, high)}.")
    return pairs
