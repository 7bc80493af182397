"""Arithmetic and checks of shapes, axes and pad widths, with one wording for each mistake. No
arrays here.

The public functions use them on what the standard does not have; backends use them where the
standard asks for an error and the framework has none. A size is None where a compiler does not know
it yet.
"""

from collections.abc import Collection, Sequence
from typing import Any

from .errors import ArgumentError, ArgumentTypeError, AxisError, ShapeError

# More elements than any machine holds; XLA ends the process where a product of sizes overflows.
LARGEST = 2**40
PAD_MODES = ("constant", "reflect", "edge", "wrap")


def one_of(function: str, name: str, value: object, words: Collection[object]) -> None:
    """Raise unless the argument `name` of a function is one of the words it knows.

    >>> one_of("qr", "mode", "full", ("reduced", "complete"))
    Traceback (most recent call last):
    trellis._core.errors.ArgumentError: qr() expects mode to be 'reduced' or 'complete', got 'full'.
    """
    if value not in words:
        listed = [repr(word) for word in words]
        known = " or ".join([", ".join(listed[:-1]), listed[-1]])
        raise ArgumentError(f"{function}() expects {name} to be {known}, got {value!r}.")


# Axes ---------------------------------------------------------------------------------------------


def normal_axis(axis: int, ndim: int) -> int:
    """A non-negative axis; an axis out of range raises.

    >>> normal_axis(-1, 3)
    2
    """
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    # Integers first: torch.compile can trace no `hasattr` of a number that changes.
    is_integer = isinstance(axis, int) or hasattr(axis, "__index__")
    if isinstance(axis, bool) or not is_integer:
        raise ArgumentTypeError(
            f"An axis is an integer, got {axis!r} of type {type(axis).__name__}."
        )
    if not -ndim <= axis < ndim:
        raise AxisError(f"axis {axis} is out of range for an array of {ndim} dimensions.")
    return int(axis) % ndim


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple of non-negative ints; None means all of them.

    >>> normal_axes(None, 2), normal_axes(-1, 2)
    ((0, 1), (1,))
    """
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, int) or not hasattr(axis, "__len__"):
        return (normal_axis(axis, ndim),)
    axes = tuple([normal_axis(a, ndim) for a in axis])
    if len(set(axes)) != len(axes):
        raise ShapeError(f"The axes {tuple(axis)} name one axis twice.")
    return axes


def split_axes(axes: Sequence[int], ndim: int) -> tuple[list[int], list[int]]:
    """Those of all axes that are among `axes`, and the others, both in rising order.

    >>> split_axes((2, 0), 4)
    ([0, 2], [1, 3])
    """
    # torch.compile finds no symbol by `in`, and cannot sort them; comparing makes them constants.
    is_named = [any([a == axis for axis in axes]) for a in range(ndim)]
    return [a for a in range(ndim) if is_named[a]], [a for a in range(ndim) if not is_named[a]]


def new_axes(axes: Sequence[int], ndim: int) -> list[int]:
    """Where `expand_dims` of an array with `ndim` axes has its new ones, in rising order.

    >>> new_axes((-1, 0), 1)
    [0, 2]
    """
    ndim += len(axes)
    return split_axes(normal_axes(tuple(axes), ndim), ndim)[0]


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
    if len(order) != ndim or len(set(order)) != ndim:
        raise ShapeError(
            f"permute_dims() of {ndim} axes needs each of them once, got {tuple(axes)}."
        )
    return order


def check_points(n: int) -> None:
    """Raise for a Fourier transform over no points, such as `irfft` of a single one."""
    if isinstance(n, int) and n < 1:
        raise ArgumentError(
            f"A Fourier transform needs at least one point, got n={n}. Pass n: by default irfft() "
            "and hfft() return 2 * (points - 1) points."
        )


def check_order(n: int) -> None:
    """Raise for a negative number of differences."""
    if not 0 <= n < 2**31:
        raise ArgumentError(f"diff() takes differences n >= 0 times, below 2**31, got n={n}.")


def check_new_axis(axis: int, ndim: int) -> None:
    """Raise unless an array of `ndim` dimensions has room for a new axis there."""
    if not -ndim - 1 <= axis <= ndim:
        raise AxisError(
            f"axis {axis} is out of range: an array of {ndim} dimensions has room for a new one at "
            f"{-ndim - 1} to {ndim}."
        )


def only_axis(function: str, ndim: int) -> int:
    """The axis of a vector, for functions that may leave it out; other arrays raise.

    >>> only_axis("take", 1)
    0
    """
    if ndim > 1:
        raise ShapeError(
            f"{function}() of an array of {ndim} dimensions needs an axis. Write axis=0, for "
            "example."
        )
    return 0


def check_squeezable(axes: Sequence[int], shape: Sequence[Any]) -> None:
    """Raise unless all those axes have the length 1."""
    for a in axes:
        if shape[a] != 1 and shape[a] is not None:
            raise ShapeError(
                f"squeeze() drops axes of length 1 only; axis {a} of shape {tuple(shape)} has "
                f"{shape[a]}."
            )


def check_three(x1: int | None, x2: int | None) -> None:
    """Raise unless both vectors of a cross product have three elements."""
    if x1 not in (3, None) or x2 not in (3, None):
        raise ShapeError(f"cross() needs vectors of 3 elements, got {x1} and {x2}.")


def check_lengths(function: str, what: str, x1: int | None, x2: int | None) -> None:
    """Raise unless two lengths that must be equal are."""
    if x1 != x2 and x1 is not None and x2 is not None:
        raise ShapeError(f"{function}() needs {what} of equal lengths, got {x1} and {x2}.")


# Shapes -------------------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Sequence[Any], function: str = "") -> tuple[Any, ...]:
    """The shape that all broadcast to; where there is none, the error names the function.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    >>> broadcast_shapes((None, 1), (5, 4))
    (5, 4)
    """
    # Without `default=`: Dynamo has processes in which it does not know it.
    rank = max([0, *[len(shape) for shape in shapes]])
    result = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if result[i] == 1 or (result[i] is None and size != 1):
                result[i] = size
            elif size not in (1, None, result[i]):
                listed = ", ".join([str(tuple(shape)) for shape in shapes])
                whose = f"{function}() got shapes that" if function else "These shapes"
                raise ShapeError(f"{whose} do not broadcast together: {listed}.")
    return tuple(result)


def pad_pairs(pad_width: Any, shape: Sequence[Any], mode: str) -> list[tuple[int, int]]:
    """One (low, high) pair per axis out of an int, one pair, or a pair per axis.

    >>> pad_pairs((1, 2), (5, 5), "constant")
    [(1, 2), (1, 2)]
    """
    one_of("pad", "mode", mode, PAD_MODES)
    ndim = len(shape)
    if type(pad_width) is int:
        pairs = [(pad_width, pad_width)] * ndim
    elif len(pad_width) == 2 and isinstance(pad_width[0], int):
        pairs = [(pad_width[0], pad_width[1])] * ndim
    else:
        pairs = [(low, high) for low, high in pad_width]
        pairs = pairs * ndim if len(pairs) == 1 else pairs
    if len(pairs) != ndim:
        raise ShapeError(f"pad() got {len(pairs)} pairs for an array of {ndim} dimensions.")
    for (low, high), size in zip(pairs, shape, strict=True):
        if low > LARGEST or high > LARGEST:
            raise ArgumentError(f"pad() cannot add {max(low, high)} elements to an axis.")
        if low < 0 or high < 0:
            raise ArgumentError(
                f"pad() cannot take elements away, got the pair {(low, high)}. Slice instead."
            )
        if mode != "constant" and low + high > 0 and size == 0:
            raise ShapeError(
                f"pad() with mode {mode!r} has nothing to repeat on an axis of length 0."
            )
    return pairs


def check_window(window: int, step: int, size: int | None) -> None:
    """Raise unless windows of that length, so far apart, fit an axis."""
    if window < 1 or step < 1 or (size is not None and window > size):
        raise ShapeError(
            f"A window of {window} with step {step} does not fit an axis of {size}. The window has "
            "to be between 1 and the axis, the step at least 1."
        )


def check_count(function: str, k: int, size: int | None) -> None:
    """Raise unless `k` elements can be taken out of `size`."""
    if k < 0 or (size is not None and k > size):
        raise ArgumentError(f"{function}() can take 0 to {size} elements of this axis, got {k}.")
