"""Events: where a function of the solution is 0."""

from collections.abc import Callable
from typing import Any

from .._array.control import while_loop
from .._core.typing import Backend
from .._gradients.transforms import stop_gradient, vjp
from ..optimize._vectors import scalar
from ._loop import EVENT, State, Watch
from ._steps import Field, evaluated


def located(xp: Backend, watch: Any, made: State, times: Any) -> tuple[Any, Any, Any]:
    """The rows up to the event, the point and the time of it; those of the end if there was none.

    On the polynomial of the step in which the sign changed, by halving.
    """
    event: Watch = watch
    t, h, y, coefficients = [stop_gradient(x) for x in made.crossing]
    zero, one = xp.zeros_like(t), xp.ones_like(t)
    sign = xp.where(event.value(t, y) < 0, -1.0, one)
    rounds = 60 if xp.dtype_name(y.dtype) == "float64" else 30

    def point(part: Any) -> Any:
        return y + evaluated(xp, coefficients, xp.reshape(part, (1,)))[0, ...]

    def body(state: Any) -> Any:
        low, high, n = state
        middle = 0.5 * (low + high)
        is_before = sign * event.value(t + middle * h, point(middle)) > 0
        return xp.where(is_before, middle, low), xp.where(is_before, high, middle), n + 1

    start = (zero, one, scalar(xp, t, 0, "int32"))
    _, part, _ = while_loop(lambda state: state[2] < rounds, body, start)
    is_seen = made.code == EVENT
    end = xp.where(is_seen, t + part * h, made.t)
    late = xp.logical_and(is_seen, times[1:] > end)
    rows = xp.where(xp.reshape(late, (-1, 1)), float("nan"), made.outputs)
    return rows, xp.where(is_seen, point(part), made.y), end


def with_time(
    xp: Backend, field: Field, signal: Callable[[Any, Any], Any], end: Any, y: Any, made: State
) -> tuple[Any, Any]:
    """The time of an event with its derivatives, and the point that moves with it: one Newton step
    along the solution, of length 0."""
    at, still = stop_gradient(end), stop_gradient(y)
    value = signal(at, y)
    by_time, by_point = vjp(lambda t, y: signal(t, y), at, still)[1](xp.ones_like(value))
    speed = stop_gradient(field(at, still))
    rate = stop_gradient(by_time + xp.sum(by_point * speed))
    is_seen = xp.logical_and(made.code == EVENT, rate != 0)
    moved = -(value - stop_gradient(value)) / xp.where(is_seen, rate, 1.0)
    moved = xp.where(is_seen, moved, 0.0)
    return at + moved, y + speed * moved
