"""Learning rates that change: functions from the step (the first is 0) to the rate.

The step may be a Python number, which gives a Python number (for plots), or an array, also a traced one. An
optimizer calls its schedule with a float array in the precision of the variables. Any function of this form
is a schedule.

>>> from trellis.optim import schedules
>>> rate = schedules.warmup_cosine(1e-3, warmup_steps=10, steps=100)
>>> rate(0), rate(10)
(0.0, 0.001)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core.dispatch import load, xp_of
from .._core.dtypes import FLOATING, default_dtype, name_of
from .._core.errors import ArgumentError

Schedule = Callable[[Any], Any]


def constant(value: float) -> Schedule:
    """The same rate at every step.

    >>> from trellis.optim import schedules
    >>> schedules.constant(0.1)(5)
    0.1
    """
    return _schedule(lambda xp, t: xp.zeros_like(t) + value)


def step(value: float, every: int, factor: float = 0.1) -> Schedule:
    """`value * factor**(step // every)`.

    >>> from trellis.optim import schedules
    >>> [schedules.step(1.0, every=2, factor=0.5)(i) for i in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    _positive("every", every)
    return exponential(value, every, factor, staircase=True)


def piecewise(value: float, factors: Mapping[int, float]) -> Schedule:
    """`value`, multiplied by each factor once the step has reached its key.

    >>> from trellis.optim import schedules
    >>> [schedules.piecewise(1.0, {2: 0.5, 4: 0.5})(i) for i in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def rate(xp: Any, t: Any) -> Any:
        result = xp.zeros_like(t) + value
        for start, factor in factors.items():
            result = xp.where(t >= start, result * factor, result)
        return result

    return _schedule(rate)


def exponential(value: float, steps: int, factor: float, *, staircase: bool = False) -> Schedule:
    """`value * factor**(step / steps)`; with `staircase` the exponent is rounded down.

    >>> from trellis.optim import schedules
    >>> schedules.exponential(1.0, 10, 0.25)(5)
    0.5
    """
    _positive("steps", steps)
    _positive("factor", factor)

    def rate(xp: Any, t: Any) -> Any:
        exponent = xp.floor(t / steps) if staircase else t / steps
        return value * xp.pow(xp.zeros_like(t) + factor, exponent)

    return _schedule(rate)


def polynomial(
    value: float, end: float, steps: int, *, power: float = 1.0, begin: int = 0
) -> Schedule:
    """From `value` to `end`: `(value - end) * (1 - step / steps)**power + end`, constant before and after.

    >>> from trellis.optim import schedules
    >>> [schedules.polynomial(1.0, 0.0, 4)(i) for i in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _positive("steps", steps)

    def rate(xp: Any, t: Any) -> Any:
        remaining = 1 - xp.clip(t - begin, 0.0, float(steps)) / steps
        return (value - end) * xp.pow(remaining, xp.zeros_like(t) + power) + end

    return _schedule(rate)


def linear(value: float, end: float, steps: int) -> Schedule:
    """From `value` to `end` in a straight line, then constant.

    >>> from trellis.optim import schedules
    >>> schedules.linear(0.0, 1.0, 4)(1)
    0.25
    """
    return polynomial(value, end, steps)


def cosine(value: float, steps: int, *, end: float = 0.0) -> Schedule:
    """From `value` down to `end` along half a wave: `end + (value - end) * (1 + cos(pi * step / steps)) / 2`.

    >>> from trellis.optim import schedules
    >>> [round(schedules.cosine(1.0, 4)(i), 6) for i in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _positive("steps", steps)

    def rate(xp: Any, t: Any) -> Any:
        wave = 0.5 * (1 + xp.cos(math.pi / steps * xp.clip(t, 0.0, float(steps))))
        return (value - end) * wave + end

    return _schedule(rate)


def warmup_cosine(
    peak: float, warmup_steps: int, steps: int, *, start: float = 0.0, end: float = 0.0
) -> Schedule:
    """A straight line from `start` to `peak` in `warmup_steps`, then a cosine to `end` at `steps` in all.

    >>> from trellis.optim import schedules
    >>> [round(schedules.warmup_cosine(1.0, 2, 6)(i), 6) for i in (0, 1, 2, 4, 6)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if not 0 < warmup_steps < steps:
        raise ArgumentError(
            f"warmup_steps must lie between 0 and steps={steps}, got {warmup_steps!r}."
        )
    parts = [linear(start, peak, warmup_steps), cosine(peak, steps - warmup_steps, end=end)]
    return join(parts, [warmup_steps])


def one_cycle(
    peak: float,
    steps: int,
    *,
    warmup_fraction: float = 0.3,
    division: float = 25.0,
    final_division: float = 1e4,
) -> Schedule:
    """Smith's one cycle: cosines from `peak / division` up to `peak`, then down to `start / final_division`.

    >>> from trellis.optim import schedules
    >>> rate = schedules.one_cycle(1.0, 10)
    >>> round(rate(0), 6), rate(3)
    (0.04, 1.0)
    """
    turn = int(warmup_fraction * steps)
    if not 0 < turn < steps:
        raise ArgumentError(
            f"The peak must lie inside the cycle, not at step {turn} of {steps}: change warmup_fraction."
        )
    start = peak / division
    rise = cosine(start, turn, end=peak)
    return join([rise, cosine(peak, steps - turn, end=start / final_division)], [turn])


def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after another: each starts anew, at its step 0, when its boundary is reached.

    >>> from trellis.optim import schedules
    >>> rate = schedules.join([schedules.constant(1.0), schedules.linear(1.0, 0.0, 4)], [2])
    >>> [rate(i) for i in (1, 2, 4)]
    [1.0, 1.0, 0.5]
    """
    if len(schedules) != len(boundaries) + 1:
        raise ArgumentError(
            f"join() needs one boundary between two schedules: {len(schedules)} schedules, "
            f"{len(boundaries)} boundaries."
        )

    def rate(xp: Any, t: Any) -> Any:
        result = schedules[0](t)
        for schedule, boundary in zip(schedules[1:], boundaries, strict=True):
            result = xp.where(t < boundary, result, schedule(t - boundary))
        return result

    return _schedule(rate)


def _schedule(rate: Callable[[Any, Any], Any]) -> Schedule:
    """`rate(xp, t)` with a float array t, as a function of a number or an array."""

    def schedule(step: Any) -> Any:
        if not hasattr(step, "dtype"):
            xp = load("numpy")
            return float(rate(xp, xp.asarray(step, dtype="float64")))
        xp = xp_of(step)
        is_float = name_of(step.dtype) in FLOATING
        return rate(xp, step if is_float else xp.astype(step, default_dtype()))

    return schedule


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise ArgumentError(f"{name} must be positive, got {value!r}.")
