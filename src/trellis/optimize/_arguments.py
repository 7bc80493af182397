"""Checks of a solver's arguments."""

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any

from .._core.arrays import plain
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import check_callable, shown


def positive(function: str, name: str, value: object) -> float:
    """`value` as a finite number above 0."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(
            f"{function}() expects a number above 0 for {name}, got {shown(value)}."
        )
    found = float(value)
    if not (math.isfinite(found) and found > 0):
        raise ArgumentError(f"{function}() expects a number above 0 for {name}, got {found!r}.")
    return found


def count(function: str, name: str, value: object) -> int:
    """`value` as an integer above 0."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(
            f"{function}() expects an integer above 0 for {name}, got {shown(value)}."
        )
    found = operator.index(value)
    if not 0 < found < 2**31:
        raise ArgumentError(f"{function}() expects an integer above 0 for {name}, got {found}.")
    return found


def choice(function: str, name: str, value: object, known: Sequence[str]) -> str:
    """`value`, if it is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(
            f"{function}() knows {', '.join([repr(one) for one in known])} as {name}, got "
            f"{value!r}."
        )
    return value


def arguments(function: str, fn: object, args: Any) -> tuple[Any, ...]:
    """The further arguments of the user's function, as a tuple."""
    check_callable(function, fn)
    if not isinstance(args, tuple):
        raise ArgumentTypeError(
            f"{function}() expects a tuple for args, the arguments of the function after its "
            f"first, got {shown(args)}. Write args=(a,) for a single one."
        )
    return args
