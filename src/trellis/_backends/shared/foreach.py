"""Arithmetic over lists of arrays, one array after another: the fallback.

A list of leaves goes in, the list of results comes out. The second operand is a list of the same
length, a number, or one array for all leaves. With `reuse` the arrays of `xs` are the caller's own
temporaries, and a backend may write the result into them. Here nothing is overwritten.
"""

from collections.abc import Callable
from typing import Any

# A whole step of an optimizer: the variables, the gradients, the columns of the state, the number
# of the step, the learning rate, the numbers of the transformation, and whether the state may be
# overwritten. It returns the new variables and the new state, or None for arrays that it does not
# support.
Step = tuple[list[Any], tuple[list[Any], ...]] | None
StepKernel = Callable[
    [list[Any], list[Any], tuple[list[Any], ...], Any, Any, tuple[float, ...], bool], Step
]


def spread(y: Any, xs: list[Any]) -> list[Any]:
    """`y` as a list of the length of `xs`."""
    return y if isinstance(y, list) else [y] * len(xs)


def foreach_add(xs: list[Any], ys: Any, alpha: Any = 1, *, reuse: bool = False) -> list[Any]:
    """`x + alpha * y` for every leaf."""
    if isinstance(alpha, int) and alpha == 1:
        return [x + y for x, y in zip(xs, spread(ys, xs), strict=True)]
    return [x + alpha * y for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_mul(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    """`x * y` for every leaf."""
    return [x * y for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_div(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    """`x / y` for every leaf."""
    return [x / y for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_lerp(xs: list[Any], ys: list[Any], weight: float) -> list[Any]:
    """`x + weight * (y - x)` for every leaf: a moving average with decay 1 - weight."""
    return [x + weight * (y - x) for x, y in zip(xs, ys, strict=True)]


def foreach_addcmul(
    xs: list[Any], ys: list[Any], zs: list[Any], value: float = 1, *, reuse: bool = False
) -> list[Any]:
    """`x + value * y * z` for every leaf."""
    return [x + value * (y * z) for x, y, z in zip(xs, ys, zs, strict=True)]


def foreach_addcdiv(
    xs: list[Any], ys: list[Any], zs: list[Any], value: float = 1, *, reuse: bool = False
) -> list[Any]:
    """`x + value * y / z` for every leaf."""
    return [x + value * (y / z) for x, y, z in zip(xs, ys, zs, strict=True)]
