"""The polynomials of all steps, and the solution at any time between."""

from typing import Any, NamedTuple

from .._array.searching import searchsorted
from .._core.arrays import is_array
from .._core.dispatch import xp_of


class Path(NamedTuple):
    """The steps of a solution, in the solver's time, which increases.

    Attributes:
        t: Where each step begins; zeros after the last one.
        h: Its length.
        y: The state there, as a vector.
        coefficients: Of its polynomial: (steps, degree, numbers).
        count: How many steps there are.
        end: Where the solution ends.
        sign: -1 if the times of the user decrease.
    """

    t: Any
    h: Any
    y: Any
    coefficients: Any
    count: Any
    end: Any
    sign: Any


def recorded(t: Any, h: Any, y: Any, coefficients: Any) -> list[Any]:
    """What is kept of a step."""
    return [t, h, y, coefficients]


def along(path: Path, ts: Any) -> Any:
    """The states at times, as vectors along the last axis."""
    xp = xp_of(path.t)
    kind = xp.dtype_name(path.t.dtype)
    if not is_array(ts):
        ts = xp.asarray(ts, dtype=kind, device=xp.device(path.t))
    shape = tuple(ts.shape)
    when = path.sign * xp.reshape(xp.astype(ts, kind), (-1,))
    size = int(path.t.shape[0])
    numbers = xp.arange(size, dtype="int32", device=xp.device(path.t))
    starts = xp.where(numbers < path.count, path.t, float("inf"))
    step = xp.astype(searchsorted(starts, when, side="right"), "int32") - 1
    is_inside = xp.logical_and(step >= 0, when <= path.end)
    step = xp.where(step >= 0, step, 0)
    begin, length = xp.take(path.t, step, axis=0), xp.take(path.h, step, axis=0)
    # An unused step has the length 0.
    part = (when - begin) / xp.where(length > 0, length, 1.0)
    rows = xp.take(path.coefficients, step, axis=0)
    total = xp.zeros_like(rows[:, 0])
    for i in range(int(rows.shape[1]) - 1, -1, -1):
        total = (total + rows[:, i]) * xp.reshape(part, (-1, 1))
    found = xp.take(path.y, step, axis=0) + total
    found = xp.where(xp.reshape(is_inside, (-1, 1)), found, float("nan"))
    return xp.reshape(found, (*shape, int(found.shape[-1])))
