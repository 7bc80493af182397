"""Checks of arguments, the same on every backend. Sizes of None are not known while tracing."""

import operator
from collections.abc import Sequence
from typing import SupportsFloat, cast

from .._core.arrays import plain
from .._core.dispatch import xp_of
from .._core.dtypes import COMPLEX, FLOATING
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.shapes import normal_axes
from .._core.typing import Array, Backend

# Numbers and words --------------------------------------------------------------------------------


# The frameworks count windows, groups and classes in 32 bits; TensorFlow ends the process on more.
MOST = 2**31 - 1


def whole_number(name: str, what: str, value: object, least: int | None = None) -> int:
    """An integer; bools, floats and arrays with a fraction raise, and numbers below `least`, or of
    more than 32 bits.

    >>> whole_number("conv1d", "strides", 2)
    2
    """
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        if (least is None or value >= least) and -MOST <= value <= MOST:
            return value
        number = value
    elif hasattr(value, "__index__") and not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:  # an array of floats, or of more than one element
            number = None
    if number is None:
        raise ArgumentTypeError(f"{name}() expects integers for {what}, got {value!r}.")
    if least is not None and number < least:
        raise ArgumentError(f"{name}() expects {what} of at least {least}, got {value!r}.")
    if abs(number) > MOST:
        raise ArgumentError(f"{name}() expects {what} of at most {MOST}, got {value!r}.")
    return number


def per_axis(name: str, what: str, value: object, dims: int) -> tuple[int, ...]:
    """One entry >= 1 per spatial axis, out of an int, one entry, or all of them.

    >>> per_axis("conv2d", "strides", 2, 2)
    (2, 2)
    """
    if type(value) is int and 0 < value <= MOST:
        return (value,) * dims
    entries = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if len(entries) not in (1, dims):
        raise ArgumentError(
            f"{name}() expects {what} as an int or with 1 or {dims} entries, "
            f"got {value!r} with {len(entries)}."
        )
    numbers = tuple([whole_number(name, what, entry) for entry in entries])
    if min(numbers) < 1:
        raise ArgumentError(
            f"{name}() expects {what} of at least 1 along every axis, got {value!r}."
        )
    return numbers if len(numbers) == dims else numbers * dims


def flag(name: str, what: str, value: object) -> bool:
    """True or False; words and numbers raise, since "no" and "False" would count as true."""
    value = plain(value)
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name}() expects True or False for {what}, got {value!r}.")
    return value


def number(name: str, what: str, value: object) -> float:
    """A Python number, or what can become one; bools and words raise."""
    # Python's own numbers first: torch.compile can trace no `hasattr` of a number that changes.
    is_number = isinstance(value, (int, float)) or hasattr(value, "__float__")
    if isinstance(value, (bool, str)) or not is_number:
        raise ArgumentTypeError(f"{name}() expects a number for {what}, got {value!r}.")
    return float(cast(SupportsFloat, value))


def probability(name: str, what: str, value: SupportsFloat) -> float:
    """A number from 0 to 1."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name}() expects a number for {what}, got {value!r}.") from None
    if not 0 <= number <= 1:
        raise ArgumentError(f"{name}() expects {what} from 0 to 1, got {value!r}.")
    return number


# Shapes -------------------------------------------------------------------------------------------


def differ(size: int | None, other: int | None) -> bool:
    """Whether two sizes are known and not the same."""
    return size is not None and other is not None and size != other


def shapes_differ(shape: Sequence[int | None], other: Sequence[int | None]) -> bool:
    """Whether two shapes cannot be the same.

    >>> shapes_differ((2, 3), (None, 3)), shapes_differ((2, 3), (2,))
    (False, True)
    """
    if len(shape) != len(other):
        return True
    return any([differ(a, b) for a, b in zip(shape, other, strict=True)])


def known(*sizes: int | None) -> tuple[int, ...]:
    """Sizes for a reshape, which finds out one that is not known.

    Of several that are not, each None says that this axis stays as it is.

    >>> known(None, 3), known(None, None)
    ((-1, 3), (None, None))
    """
    if len([size for size in sizes if size is None]) > 1:
        return sizes  # type: ignore[return-value]
    return tuple([-1 if size is None else size for size in sizes])


def same_shape(name: str, **arrays: Array) -> None:
    """Raise unless the arrays have one shape."""
    labels = list(arrays)
    first = tuple(arrays[labels[0]].shape)
    for label in labels[1:]:
        shape = tuple(arrays[label].shape)
        if shapes_differ(first, shape):
            raise ShapeError(
                f"{name}() expects {labels[0]} and {label} of one shape, got {first} and {shape}."
            )


def axes_of(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes in rising order, each once."""
    return tuple(sorted(normal_axes(axis, ndim)))


# Values: compiled code has none to look at, and there these checks pass ---------------------------


def check_range(name: str, what: str, x: Array, low: float, high: float, instead: str) -> None:
    """Raise if a value is outside low..high."""
    xp = xp_of(x)
    if not xp.is_concrete(x) or 0 in tuple(x.shape):
        return
    x = xp.stop_gradient(x)
    as_number = float if xp.dtype_name(x.dtype) in FLOATING else int
    least, most = as_number(xp.min(x)), as_number(xp.max(x))
    if least < low or most > high:
        worst = least if least < low else most
        raise ArgumentError(f"{name}() expects {what} from {low} to {high}, got {worst}. {instead}")


def check_indices(
    name: str, what: str, indices: Array, count: int, also: int | None = None
) -> None:
    """Raise unless `indices` are integers from 0 to count - 1, or `also`."""
    xp = xp_of(indices)
    kind = xp.dtype_name(indices.dtype)
    if not kind.startswith(("int", "uint")):
        raise DtypeError(
            f"{name}() expects integer {what}, got an array of {kind}. "
            f"Write astype({what}, 'int64')."
        )
    if not xp.is_concrete(indices):
        return
    if also is not None:
        indices = xp.where(indices == also, 0, indices)
    check_range(
        name, what, indices, 0, count - 1, f"There are {count} classes or rows, numbered from 0."
    )


def check_real(name: str, xp: Backend, x: Array) -> None:
    """Raise for an array of bools or of complex numbers."""
    kind = xp.dtype_name(x.dtype)
    if kind == "bool" or kind in COMPLEX:
        raise DtypeError(f"{name}() is for real numbers, got an array of {kind}.")


def check_signs(name: str, targets: Array) -> None:
    """Raise unless all targets are -1 or 1."""
    xp = xp_of(targets)
    if not xp.is_concrete(targets) or 0 in tuple(targets.shape):
        return
    values = xp.stop_gradient(targets)
    if float(xp.min(xp.abs(values))) != 1 or float(xp.max(xp.abs(values))) != 1:
        raise ArgumentError(
            f"{name}() expects targets of -1 and 1, got others. "
            "For targets of 0 and 1 write 2 * targets - 1."
        )
