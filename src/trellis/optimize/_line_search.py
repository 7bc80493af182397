"""A step length that meets the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and
3.6), as one loop with one evaluation in each round."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import while_loop
from .._core.typing import Backend
from ._vectors import chosen, is_plain, scalar

# From a vector to the value and the gradient there.
Evaluate = Callable[[Any], tuple[Any, Any]]
_DECREASE = 1e-4
_ROUNDS = 30


class Found(NamedTuple):
    """A step: its length (0 if there is none), and the value and the gradient behind it."""

    length: Any
    value: Any
    gradient: Any


class _Bracket(NamedTuple):
    """The trial, and an interval from the best step so far (`low`) that holds a good one."""

    trial: Any
    low: Any
    low_value: Any
    low_slope: Any
    high: Any
    high_value: Any
    high_slope: Any
    gradient: Any
    is_closed: Any
    is_done: Any
    rounds: Any


def wolfe_step(
    xp: Backend,
    evaluate: Evaluate,
    x: Any,
    value: Any,
    gradient: Any,
    direction: Any,
    first: Any,
    curvature: float = 0.9,
) -> Found:
    """A step from `x` along a direction downhill; `first` is the length that is tried first."""
    slope = xp.sum(gradient * direction)
    # Near the minimum the decrease is lost in rounding: there slopes decide (Hager and Zhang).
    rounding = (1e-15 if xp.dtype_name(x.dtype) == "float64" else 1e-7) * 10 * xp.abs(value)
    no, zero = xp.zeros_like(value) > 0, scalar(xp, x, 0, "int32")

    def body(s: _Bracket) -> _Bracket:
        reached, g = evaluate(x + s.trial * direction)
        incline = xp.sum(g * direction)
        is_lower = reached <= value + _DECREASE * s.trial * slope
        is_flat = xp.logical_and(
            reached <= value + rounding, incline <= (2 * _DECREASE - 1) * slope
        )
        is_best = xp.logical_or(reached < s.low_value, s.low == 0)
        is_good = xp.logical_or(xp.logical_and(is_lower, is_best), is_flat)
        is_good = xp.logical_and(is_good, xp.isfinite(incline))
        is_done = xp.logical_and(is_good, xp.abs(incline) <= -curvature * slope)
        # Past the minimum along the line: it lies between this step and the one before.
        turned = chosen(xp, s.is_closed, incline * (s.high - s.low) >= 0, incline >= 0)
        is_turned = xp.logical_and(is_good, turned)

        def high(this: Any, low: Any, old: Any) -> Any:
            return chosen(xp, is_good, chosen(xp, is_turned, low, old), this)

        new_high = high(s.trial, s.low, s.high)
        new_high_value = high(reached, s.low_value, s.high_value)
        new_high_slope = high(incline, s.low_slope, s.high_slope)
        low = chosen(xp, is_good, s.trial, s.low)
        low_value = chosen(xp, is_good, reached, s.low_value)
        low_slope = chosen(xp, is_good, incline, s.low_slope)
        is_closed = xp.logical_or(s.is_closed, xp.logical_or(xp.logical_not(is_good), is_turned))
        trial = 2.0 * s.trial
        is_between = xp.logical_and(is_closed, xp.logical_not(is_done))
        # Most steps are done at once, without the arithmetic of another trial.
        if not is_plain(xp, is_between) or bool(is_between):
            ends = (low, low_value, low_slope, new_high, new_high_value, new_high_slope)
            trial = chosen(xp, is_closed, _between(xp, *ends), trial)
        return _Bracket(
            chosen(xp, is_done, s.trial, trial),
            low,
            low_value,
            low_slope,
            new_high,
            new_high_value,
            new_high_slope,
            chosen(xp, is_good, g, s.gradient),
            is_closed,
            is_done,
            s.rounds + 1,
        )

    nothing = xp.zeros_like(value)
    start = _Bracket(first, nothing, value, slope, nothing, value, slope, gradient, no, no, zero)
    last = while_loop(
        lambda s: xp.logical_and(xp.logical_not(s.is_done), s.rounds < _ROUNDS), body, start
    )
    return Found(last.low, last.low_value, last.gradient)


def _between(xp: Backend, a: Any, fa: Any, da: Any, b: Any, fb: Any, db: Any) -> Any:
    """The minimum of the cubic through two steps, or their middle where it is next to an end."""
    width = b - a
    safe = xp.where(width == 0, 1.0, width)
    d1 = da + db - 3.0 * (fb - fa) / safe
    square = d1 * d1 - da * db
    is_real = xp.logical_and(square >= 0, xp.isfinite(square))
    root = xp.sqrt(xp.where(is_real, square, 0.0))
    root = xp.where(width > 0, root, -root)
    below = db - da + 2.0 * root
    is_usable = xp.logical_and(is_real, below != 0)
    place = (db + root - d1) / xp.where(is_usable, below, 1.0)
    part = 1.0 - xp.where(is_usable, place, 0.5)
    is_inside = xp.logical_and(part > 0.1, part < 0.9)
    # Far off the minimum of a cubic is a guess, but a better one than the middle.
    near = xp.minimum(xp.maximum(part, xp.full_like(part, 0.1)), xp.full_like(part, 0.9))
    return a + width * xp.where(is_inside, part, xp.where(is_usable, near, 0.5))
