"""Learning rates that change: functions from the step (the first is 0) to the rate.

The step may be a Python number, which gives a Python number (for plots), or an array, also a traced
one. An optimizer calls its schedule with a float array in the precision of the variables. Any
function of this form is a schedule; those made here can be compared, copied and pickled.

>>> from trellis.optim import schedules
>>> rate = schedules.warmup_cosine(1e-3, warmup_steps=10, steps=100)
>>> rate(0), rate(10)
(0.0, 0.001)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._core.dispatch import load, xp_of
from .._core.dtypes import FLOATING, default_dtype, name_of
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.typing import Array, Backend
from .arguments import count, explained, flag, number, positive
from .scaling import Schedule as Schedule


@dataclass(frozen=True)
class Formula:
    """`rate(xp, t, *arguments)` with a float array t, as a function of a number or an array."""

    rate: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, step: Array | int) -> Any:
        if not hasattr(step, "dtype"):
            xp = load("numpy")
            return float(self.rate(xp, xp.asarray(step, dtype="float64"), *self.arguments))
        xp = xp_of(step)
        is_float = name_of(step.dtype) in FLOATING
        t = step if is_float else xp.astype(step, default_dtype())
        return self.rate(xp, t, *self.arguments)

    def __repr__(self) -> str:
        return f"<schedule {self.rate.__name__.strip('_')}{self.arguments!r}>"


@explained
def constant(value: float) -> Schedule:
    """The same rate at every step.

    Args:
        value: The rate.

    >>> from trellis.optim import schedules
    >>> schedules.constant(0.1)(5)
    0.1
    """
    return Formula(_constant, (number("value", value),))


def _constant(xp: Backend, t: Array, value: float) -> Any:
    return xp.zeros_like(t) + value


@explained
def step(value: float, every: int, factor: float = 0.1) -> Schedule:
    """`value * factor**(step // every)`.

    Args:
        value: The first rate.
        every: How many steps a rate stays.
        factor: What the rate is multiplied by then.

    >>> from trellis.optim import schedules
    >>> [schedules.step(1.0, every=2, factor=0.5)(i) for i in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return exponential(value, count("every", every), factor, staircase=True)


@explained
def piecewise(value: float, factors: Mapping[int, float]) -> Schedule:
    """`value`, multiplied by each factor once the step has reached its key.

    Args:
        value: The first rate.
        factors: From steps to factors.

    >>> from trellis.optim import schedules
    >>> [schedules.piecewise(1.0, {2: 0.5, 4: 0.5})(i) for i in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    if not isinstance(factors, Mapping):
        raise ArgumentTypeError(f"factors must be a dict from steps to factors, got {factors!r}.")
    pairs = [
        (count("a key of factors", at, 0), number("a factor", by)) for at, by in factors.items()
    ]
    return Formula(_piecewise, (number("value", value), tuple(pairs)))


def _piecewise(xp: Backend, t: Array, value: float, pairs: tuple[tuple[int, float], ...]) -> Any:
    result = xp.zeros_like(t) + value
    for start, factor in pairs:
        result = xp.where(t >= start, result * factor, result)
    return result


@explained
def exponential(value: float, steps: int, factor: float, *, staircase: bool = False) -> Schedule:
    """`value * factor**(step / steps)`.

    Args:
        value: The first rate.
        steps: After how many steps the rate has been multiplied by `factor`.
        factor: A number above 0.
        staircase: Whether the exponent is rounded down.

    >>> from trellis.optim import schedules
    >>> schedules.exponential(1.0, 10, 0.25)(5)
    0.5
    """
    numbers = number("value", value), count("steps", steps), positive("factor", factor)
    return Formula(_exponential, (*numbers, flag("staircase", staircase)))


def _exponential(
    xp: Backend, t: Array, value: float, steps: int, factor: float, staircase: bool
) -> Any:
    exponent = xp.floor(t / steps) if staircase else t / steps
    return value * xp.pow(xp.zeros_like(t) + factor, exponent)


@explained
def polynomial(
    value: float, end: float, steps: int, *, power: float = 1.0, begin: int = 0
) -> Schedule:
    """From `value` to `end`: `(value - end) * (1 - step / steps)**power + end`.

    Args:
        value: The first rate, which stays until the step `begin`.
        end: The last rate, which stays.
        steps: How many steps lie between them.
        power: 1 for a straight line; a number above 0.
        begin: The step at which the change begins.

    >>> from trellis.optim import schedules
    >>> [schedules.polynomial(1.0, 0.0, 4)(i) for i in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    ends = number("value", value), number("end", end), count("steps", steps)
    return Formula(_polynomial, (*ends, positive("power", power), count("begin", begin, 0)))


def _polynomial(
    xp: Backend, t: Array, value: float, end: float, steps: int, power: float, begin: int
) -> Any:
    remaining = 1 - xp.clip(t - begin, 0.0, float(steps)) / steps
    return (value - end) * xp.pow(remaining, xp.zeros_like(t) + power) + end


@explained
def linear(value: float, end: float, steps: int) -> Schedule:
    """From `value` to `end` in a straight line, then constant.

    Args:
        value: The first rate.
        end: The last rate, which stays.
        steps: How many steps lie between them.

    >>> from trellis.optim import schedules
    >>> schedules.linear(0.0, 1.0, 4)(1)
    0.25
    """
    return polynomial(value, end, steps)


@explained
def cosine(value: float, steps: int, *, end: float = 0.0) -> Schedule:
    """Along half a wave: `end + (value - end) * (1 + cos(pi * step / steps)) / 2`.

    Args:
        value: The first rate.
        steps: How many steps lie between the first and the last rate.
        end: The last rate, which stays.

    >>> from trellis.optim import schedules
    >>> [round(schedules.cosine(1.0, 4)(i), 6) for i in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    return Formula(_cosine, (number("value", value), count("steps", steps), number("end", end)))


def _cosine(xp: Backend, t: Array, value: float, steps: int, end: float) -> Any:
    wave = 0.5 * (1 + xp.cos(math.pi / steps * xp.clip(t, 0.0, float(steps))))
    return (value - end) * wave + end


@explained
def warmup_cosine(
    peak: float, warmup_steps: int, steps: int, *, start: float = 0.0, end: float = 0.0
) -> Schedule:
    """A straight line from `start` to `peak`, then a cosine to `end`.

    Args:
        peak: The largest rate.
        warmup_steps: How many steps there are before the peak.
        steps: How many steps there are in all.
        start: The first rate.
        end: The last rate, which stays.

    >>> from trellis.optim import schedules
    >>> [round(schedules.warmup_cosine(1.0, 2, 6)(i), 6) for i in (0, 1, 2, 4, 6)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    turn, whole = count("warmup_steps", warmup_steps), count("steps", steps)
    if turn >= whole:
        raise ArgumentError(f"warmup_steps must be less than steps={steps}, got {warmup_steps!r}.")
    start, peak, end = number("start", start), number("peak", peak), number("end", end)
    return join([linear(start, peak, turn), cosine(peak, whole - turn, end=end)], [turn])


@explained
def one_cycle(
    peak: float,
    steps: int,
    *,
    warmup_fraction: float = 0.3,
    division: float = 25.0,
    final_division: float = 1e4,
) -> Schedule:
    """Smith's one cycle: a cosine up to `peak`, then one down to almost nothing.

    Args:
        peak: The largest rate.
        steps: How many steps there are in all.
        warmup_fraction: The part of them before the peak.
        division: The first rate is `peak / division`.
        final_division: The last rate is the first one divided by this.

    >>> from trellis.optim import schedules
    >>> rate = schedules.one_cycle(1.0, 10)
    >>> round(rate(0), 6), rate(3)
    (0.04, 1.0)
    """
    turn = int(number("warmup_fraction", warmup_fraction) * count("steps", steps))
    if not 0 < turn < steps:
        raise ArgumentError(
            f"The peak must lie inside the cycle, not at step {turn} of {steps}: change "
            "warmup_fraction."
        )
    start = number("peak", peak) / positive("division", division)
    end = start / positive("final_division", final_division)
    return join([cosine(start, turn, end=peak), cosine(peak, steps - turn, end=end)], [turn])


@explained
def cosine_restarts(
    value: float, steps: int, *, growth: float = 1.0, shrink: float = 1.0, end: float = 0.0
) -> Schedule:
    """A cosine from `value` to `end` again and again (Loshchilov and Hutter, 2017).

    Args:
        value: The rate at the beginning of the first cycle.
        steps: How many steps the first cycle has.
        growth: What the length of a cycle is multiplied by after it, at least 1.
        shrink: What `value - end` is multiplied by after each cycle, above 0.
        end: The rate that each cycle falls to.

    >>> from trellis.optim import schedules
    >>> rate = schedules.cosine_restarts(1.0, 2, growth=2.0)
    >>> [round(rate(i), 6) for i in (0, 1, 2, 4, 6)]
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """
    factor = number("growth", growth)
    if factor < 1:
        raise ArgumentError(f"growth must be at least 1, got {growth!r}.")
    ends = number("value", value), number("end", end)
    numbers = count("steps", steps), factor, positive("shrink", shrink)
    return Formula(_cosine_restarts, (*ends, *numbers))


def _cosine_restarts(
    xp: Backend, t: Array, value: float, end: float, steps: int, growth: float, shrink: float
) -> Any:
    def begin(cycle: Any) -> Any:
        """The step at which a cycle begins."""
        if growth == 1:
            return cycle * steps
        powers = xp.pow(xp.zeros_like(t) + growth, cycle)
        return xp.round(steps * (powers - 1) / (growth - 1))

    if growth == 1:
        cycle = xp.floor(t / steps)
    else:
        cycle = xp.floor(xp.log1p(t * (growth - 1) / steps) / math.log(growth))
        # The logarithm is rounded, the steps at which cycles begin are not.
        cycle = xp.where(t >= begin(cycle + 1), cycle + 1, cycle)
        cycle = xp.where(t < begin(cycle), cycle - 1, cycle)
    start = begin(cycle)
    wave = 0.5 * (1 + xp.cos(math.pi * (t - start) / (begin(cycle + 1) - start)))
    return (value - end) * xp.pow(xp.zeros_like(t) + shrink, cycle) * wave + end


@explained
def warmup(schedule: Schedule | float, steps: int, *, start: float = 0.0) -> Schedule:
    """A straight line from `start` to the first rate of a schedule, then that schedule.

    Args:
        schedule: A function of the step, or a number for a rate that stays.
        steps: How many steps the line has.
        start: The first rate.

    >>> from trellis.optim import schedules
    >>> rate = schedules.warmup(schedules.linear(1.0, 0.0, 4), 2)
    >>> [rate(i) for i in (0, 1, 2, 4)]
    [0.0, 0.5, 1.0, 0.5]
    """
    then = schedule if callable(schedule) else constant(number("schedule", schedule))
    line = linear(number("start", start), float(then(0)), count("steps", steps))
    return join([line, then], [steps])


@explained
def inverse_sqrt(peak: float, warmup_steps: int) -> Schedule:
    """A straight line from 0 to `peak`, then `peak * sqrt(warmup_steps / step)`.

    Args:
        peak: The largest rate.
        warmup_steps: How many steps there are before it.

    >>> from trellis.optim import schedules
    >>> [schedules.inverse_sqrt(1.0, 4)(i) for i in (0, 2, 4, 16)]
    [0.0, 0.5, 1.0, 0.5]
    """
    return Formula(_inverse_sqrt, (number("peak", peak), count("warmup_steps", warmup_steps)))


def _inverse_sqrt(xp: Backend, t: Array, peak: float, steps: int) -> Any:
    return peak * xp.minimum(t / steps, xp.sqrt(steps / xp.clip(t, 1.0, None)))


@explained
def cyclic(
    low: float, high: float, steps_up: int, steps_down: int | None = None, *, shrink: float = 1.0
) -> Schedule:
    """Up from `low` to `high` and down again in straight lines, over and over (Smith, 2017).

    Args:
        low: The smallest rate.
        high: The largest rate.
        steps_up: How many steps it takes from `low` to `high`.
        steps_down: How many it takes back; None for as many.
        shrink: What `high - low` is multiplied by after each cycle, above 0.

    >>> from trellis.optim import schedules
    >>> rate = schedules.cyclic(0.0, 1.0, 2, shrink=0.5)
    >>> [rate(i) for i in range(7)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.25, 0.5]
    """
    up = count("steps_up", steps_up)
    down = up if steps_down is None else count("steps_down", steps_down)
    ends = number("low", low), number("high", high)
    return Formula(_cyclic, (*ends, up, down, positive("shrink", shrink)))


def _cyclic(
    xp: Backend, t: Array, low: float, high: float, up: int, down: int, shrink: float
) -> Any:
    cycle = xp.floor(t / (up + down))
    at = t - cycle * (up + down)
    height = xp.minimum(at / up, (up + down - at) / down)
    return low + (high - low) * xp.pow(xp.zeros_like(t) + shrink, cycle) * height


@explained
def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after another: each starts at its step 0 when its boundary is reached.

    Args:
        schedules: Functions of the step.
        boundaries: The steps at which the second, third, ... begins.

    >>> from trellis.optim import schedules
    >>> rate = schedules.join([schedules.constant(1.0), schedules.linear(1.0, 0.0, 4)], [2])
    >>> [rate(i) for i in (1, 2, 4)]
    [1.0, 1.0, 0.5]
    """
    for name, given in (("schedules", schedules), ("boundaries", boundaries)):
        if not isinstance(given, (list, tuple)):
            raise ArgumentTypeError(f"{name} must be a list, got {given!r}.")
    unfit = [schedule for schedule in schedules if not callable(schedule)]
    if unfit:
        raise ArgumentTypeError(f"schedules must be functions of the step, got {unfit[0]!r}.")
    if len(schedules) != len(boundaries) + 1:
        raise ArgumentError(
            f"join() needs one boundary between two schedules: {len(schedules)} schedules, "
            f"{len(boundaries)} boundaries."
        )
    turns = tuple([count("a boundary", boundary, 0) for boundary in boundaries])
    return Formula(_join, (tuple(schedules), turns))


def _join(
    xp: Backend, t: Array, schedules: tuple[Schedule, ...], boundaries: tuple[int, ...]
) -> Any:
    result = schedules[0](t)
    for schedule, boundary in zip(schedules[1:], boundaries, strict=True):
        result = xp.where(t < boundary, result, schedule(t - boundary))
    return result
