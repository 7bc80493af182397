"""What the formulas share: polynomials, exact squares, angles in half turns."""

import math
from collections.abc import Callable
from typing import Any

from .._core.typing import Backend
from . import _coefficients as table
from ._calling import is_double

INF, NAN = math.inf, math.nan
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
EULER = 0.5772156649015329


def horner(t: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


def repeated(xp: Backend, steps: int, body: Callable[..., Any], *state: Any) -> Any:
    """`body(n, *state)` for n = 0, 1, ... below `steps`: a loop of the program, not many copies.

    It has no derivative: for values, whose derivatives are given. The count is no part of a batch,
    so that `vmap` can tell where it ends.
    """

    def goes_on(carried: tuple[Any, ...]) -> Any:
        return carried[0] < float(steps)

    def step(carried: tuple[Any, ...]) -> tuple[Any, ...]:
        return (carried[0] + 1.0, *body(*carried))

    like = state[0]
    count = xp.zeros((), dtype=xp.dtype_name(like.dtype), device=xp.device(like))
    return xp.while_loop(goes_on, step, (count, *state))[1:]


def on_piece(xp: Backend, x: Any, piece: table.Piece) -> Any:
    """A piece of `_coefficients` at `x`, which lies in its interval."""
    t = (x - piece.middle) * (1.0 / piece.half)
    return horner(t, piece.float64 if is_double(xp, x) else piece.float32)


def exp_of_half_square(xp: Backend, x: Any) -> Any:
    """exp(-x**2 / 2) without the error of the square, which the exponential would magnify."""
    size = xp.minimum(xp.abs(x), 60.0)
    # Sixteenths below 60 have 10 bits, and their squares 20: exact in float32 too.
    high = xp.floor(size * 16.0) * 0.0625
    return xp.exp(-0.5 * high * high) * xp.exp(-0.5 * (size - high) * (size + high))


def exp_of_square(xp: Backend, x: Any, sign: float = -1.0) -> Any:
    """exp(-x**2), or exp(x**2), in the same way; `x` up to 30 in size."""
    size = xp.minimum(xp.abs(x), 30.0)
    high = xp.floor(size * 16.0) * 0.0625
    return xp.exp(sign * high * high) * xp.exp(sign * (size - high) * (size + high))


def log1p_less(xp: Backend, u: Any) -> Any:
    """log1p(u) - u, without cancellation next to 0."""
    # With s = u / (2 + u), log1p(u) = 2 atanh(s), and 2 s - u = -u s.
    near = xp.logical_and(u > -0.55, u < 1.2)
    v = xp.where(near, u, xp.zeros_like(u))
    s = v / (2.0 + v)
    square = s * s
    close = 2.0 * s * square * on_piece(xp, square, table.ATANH_REST) - v * s
    return xp.where(near, close, xp.log(1.0 + xp.where(near, xp.zeros_like(u), u)) - u)


def log1p(xp: Backend, u: Any) -> Any:
    """log(1 + u): XLA's own is 50 units of the last place off in float64, around u = -0.4."""
    near = xp.logical_and(u > -0.55, u < 1.2)
    return xp.where(near, u + log1p_less(xp, u), xp.log(1.0 + u))


def less_parts(xp: Backend, x: Any, parts: tuple[float, ...]) -> Any:
    """x, above 0, less a number that is the sum of several floats: exact next to that number."""
    apart = x - parts[0]
    for part in parts[1:]:
        # No constant: TensorFlow would add it to the one before, and round.
        apart = apart - xp.where(x > 0.0, xp.full_like(x, part), 0.0)
    return apart


def sin_half_turns(xp: Backend, x: Any) -> Any:
    """sin(pi x) for finite `x`; 0 exactly at whole numbers."""
    whole = xp.round(x)
    odd = whole - 2.0 * xp.floor(whole * 0.5)
    return xp.sin(math.pi * (x - whole)) * (1.0 - 2.0 * odd)


def cot_half_turns(xp: Backend, x: Any) -> Any:
    """cos(pi x) / sin(pi x) for finite `x`; a number of no meaning at whole ones."""
    part = x - xp.round(x)
    sine = xp.sin(math.pi * part)
    # The cosine by a sine, which is exact next to its zero.
    return xp.sin(math.pi * (0.5 - xp.abs(part))) / xp.where(sine == 0.0, 1.0, sine)


def is_whole(xp: Backend, x: Any) -> Any:
    return x == xp.floor(x)
