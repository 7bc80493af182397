"""Exact and cheap checks that come before a call, where one framework would answer a mistake that
the others refuse.

They raise `WrongKind`, and `explain` finds the words. A caller passes the usual value by:

    if keepdims is not False:
        check_flag(keepdims)
"""

from numbers import Number
from typing import Any

from .errors import DtypeError


class WrongKind(TypeError):
    """An argument is not of the kind that the signature asks for."""


def check_flag(value: object) -> None:
    """Raise unless an option is True or False."""
    if value is not True and value is not False:
        raise WrongKind(f"{value!r} is neither True nor False")


def check_axis(axis: Any) -> None:
    """Raise unless an axis is an integer, several, or None."""
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if a is not None and (isinstance(a, bool) or not hasattr(a, "__index__")):
            raise WrongKind(f"{a!r} is no axis")


def check_whole(value: Any) -> None:
    """Raise unless an option is an integer, or several."""
    is_one = not hasattr(value, "__iter__") or hasattr(value, "dtype")
    for n in (value,) if is_one else value:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise WrongKind(f"{n!r} is no integer")


def check_number(value: Any) -> None:
    """Raise unless an option is a number: a Python number or an array of one element."""
    is_number = isinstance(value, Number) and not isinstance(value, bool)
    if not is_number and getattr(value, "shape", None) != ():
        raise WrongKind(f"{value!r} is no number")


def unordered(function: str) -> DtypeError:
    """The error for complex numbers where an order is needed."""
    return DtypeError(f"{function}() orders numbers, and complex numbers have no order.")
