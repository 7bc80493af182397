"""Arithmetic of shapes, axes and pad widths that every backend shares. No arrays here."""

from typing import Any

from .errors import ArgumentError, ArgumentTypeError, ShapeError

PAD_MODES = ("constant", "reflect", "edge", "wrap")


def normal_axis(axis: int, ndim: int) -> int:
    """A non-negative axis; an axis out of range raises.

    >>> normal_axis(-1, 3)
    2
    """
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise ArgumentTypeError(
            f"An axis is an integer, got {axis!r} of type {type(axis).__name__}."
        )
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


def permutation(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes of `permute_dims` as non-negative ints: every axis once.

    >>> permutation((0, -1), 2)
    (0, 1)
    """
    if not isinstance(axes, (tuple, list)):
        raise ArgumentTypeError(
            f"permute_dims() needs the order of all axes as a tuple, got {axes!r}. "
            f"Write for example {tuple(reversed(range(ndim)))}."
        )
    order = tuple([normal_axis(a, ndim) for a in axes])
    if sorted(order) != list(range(ndim)):
        raise ShapeError(
            f"permute_dims() of {ndim} axes needs each of them once, got {tuple(axes)}."
        )
    return order


def check_points(n: int) -> None:
    """Refuse a Fourier transform over no points, as `irfft` of a single one would be."""
    if isinstance(n, int) and n < 1:
        raise ArgumentError(
            f"A Fourier transform needs at least one point, got n={n}. Name n: irfft() and hfft() make "
            "2 * (points - 1) of their input otherwise."
        )


def check_order(n: int) -> None:
    """Refuse a negative number of differences."""
    if n < 0:
        raise ArgumentError(f"diff() takes differences n >= 0 times, got n={n}.")


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
