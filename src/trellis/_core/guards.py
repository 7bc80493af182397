"""Exact and cheap checks that come before a call, where one framework would answer a mistake that
the others refuse.

They raise `WrongKind`, and `explain` finds the words. A caller passes the usual value by:

    if keepdims is not False:
        check_flag(keepdims)
"""

from numbers import Number
from typing import Any

import numpy as np

from .dtypes import COMPLEX, FLOATING, default_dtype
from .errors import ArgumentError, DtypeError, ShapeError
from .shapes import LARGEST, check_lengths
from .typing import Array, Backend


class WrongKind(TypeError):
    """An argument is not of the kind that the signature asks for."""


def check_flag(value: object) -> None:
    """Raise unless an option is True or False."""
    if value is not True and value is not False:
        raise WrongKind(f"{value!r} is neither True nor False")


def _is_integer(n: object) -> bool:
    # In this order: of a size that torch.compile keeps open only the class can be asked. NumPy's
    # scalars raise too: `explain` calls again with Python numbers.
    if isinstance(n, (bool, np.generic)):
        return False
    if isinstance(n, int):
        return True
    # TensorFlow's tensors of any shape have this method.
    return hasattr(n, "__index__") and getattr(n, "shape", ()) == ()


def check_axis(axis: object) -> None:
    """Raise unless an axis is an integer, several, or None."""
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if a is not None and type(a) is not int and not _is_integer(a):
            raise WrongKind(f"{a!r} is not an axis")


def check_over(axis: object, *flags: object) -> None:
    """Raise unless `axis` is as `check_axis` wants it and each flag is True or False."""
    if axis is not None and type(axis) is not int:
        check_axis(axis)
    for flag in flags:
        if flag is not True and flag is not False:
            check_flag(flag)


def check_one_axis(axis: object) -> None:
    """Raise unless an axis is one integer."""
    if not _is_integer(axis):
        raise WrongKind(f"{axis!r} is not one axis")


def check_axes(axes: object) -> None:
    """The same, each axis once."""
    check_axis(axes)
    if isinstance(axes, (tuple, list)) and len(set(axes)) < len(axes):
        raise ShapeError(f"The axes {tuple(axes)} name one axis twice.")


def check_whole(value: Any) -> None:
    """Raise unless an option is an integer, or several."""
    is_one = not hasattr(value, "__iter__") or hasattr(value, "dtype")
    for n in (value,) if is_one else value:
        if not _is_integer(n):
            raise WrongKind(f"{n!r} is not an integer")


def check_within(value: object) -> None:
    """Raise unless an option is one integer that could count elements."""
    if type(value) is not int:
        if hasattr(value, "__iter__") and not hasattr(value, "dtype"):
            raise WrongKind(f"{value!r} is not an integer")
        check_whole(value)
    elif not -LARGEST <= value <= LARGEST:
        raise OverflowError(f"{value} is more than any array has elements")


def check_scalar(value: object) -> None:
    """Raise unless a value is a Python number or an array."""
    if not isinstance(value, Number) and not hasattr(value, "dtype"):
        raise WrongKind(f"{value!r} is not a number")


def check_array(value: object) -> None:
    """Raise unless a value is an array, or a pytree of them."""
    if not hasattr(value, "dtype") and not isinstance(value, dict):
        raise WrongKind(f"{value!r} is not an array")


def check_integers(xp: Backend, function: str, indices: Array) -> None:
    """Raise unless `indices` are an array of integers."""
    if not hasattr(indices, "dtype"):
        raise WrongKind(f"{indices!r} is not an array")
    name = xp.dtype_name(indices.dtype)
    if not name.startswith(("int", "uint")):
        raise DtypeError(
            f"{function}() expects integers, got an array of {name}. "
            "Write trellis.astype(indices, 'int64')."
        )


def check_rank(function: str, x: Any, least: int) -> None:
    """Raise unless an array has that many axes."""
    if len(x.shape) < least:
        raise ShapeError(
            f"{function}() needs an array of {least} axes or more, got shape {tuple(x.shape)}."
        )


def real_floats(xp: Backend, function: str, x: Array) -> Any:
    """`x` as floats: integers become the default float; complex numbers and bools raise."""
    kind = xp.dtype_name(x.dtype)
    if kind in COMPLEX or kind == "bool":
        raise DtypeError(f"{function}() expects real numbers, got an array of {kind}.")
    return x if kind in FLOATING else xp.astype(x, str(default_dtype()))


def check_segments(name: str, xp: Backend, x: Array, segment_ids: Array) -> None:
    """Raise unless `x` are numbers with one id for each slice."""
    check_integers(xp, name, segment_ids)
    check_rank(name, x, 1)
    if xp.dtype_name(x.dtype) == "bool":
        raise DtypeError(f"{name}() expects numbers, got an array of bool.")
    if len(segment_ids.shape) != 1:
        raise ShapeError(
            f"{name}() needs one id per slice of x, got shape {tuple(segment_ids.shape)}."
        )
    check_lengths(name, "x and segment_ids", x.shape[0], segment_ids.shape[0])


def check_number(value: object) -> None:
    """Raise unless an option is a real number: a Python number or an array of one element."""
    if isinstance(value, np.generic):  # as in `_is_integer`
        raise WrongKind(f"{value!r} is not a Python number")
    is_number = isinstance(value, Number) and not isinstance(value, (bool, complex))
    if not is_number and getattr(value, "shape", None) != ():
        raise WrongKind(f"{value!r} is not a number")


def check_numbers(*values: object) -> None:
    """Raise unless all of several options are numbers."""
    for value in values:
        if type(value) is not float:
            check_number(value)


def check_tolerances(function: str, rtol: object, atol: object) -> None:
    """Raise unless both are numbers of at least 0."""
    for tolerance in (rtol, atol):
        if type(tolerance) is not float:
            check_number(tolerance)
        elif not tolerance >= 0:
            raise ArgumentError(f"{function}() needs tolerances of at least 0, got {tolerance}.")


def unordered(function: str) -> DtypeError:
    """The error for complex numbers where an order is needed."""
    return DtypeError(f"{function}() cannot compare complex numbers, which have no order.")


def not_bools(dtype: object, function: str = "where", what: str = "a condition") -> DtypeError:
    """The error for an argument that is not an array of bools, as the condition of `where`."""
    return DtypeError(f"{function}() expects {what} of bools, got {dtype}: write x != 0.")


def singular(function: str) -> ArgumentError:
    """The error for a matrix that a function of linear algebra cannot do."""
    if function == "cholesky":
        return ArgumentError(
            "cholesky() needs positive definite matrices, and got one that is not. "
            "Write linalg.eigh(x) for any symmetric one."
        )
    return ArgumentError(
        f"{function}() needs matrices that can be inverted, and got one that is singular. "
        "Write linalg.pinv(x) for the pseudo-inverse."
    )
