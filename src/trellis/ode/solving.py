"""`solve` and `odeint`: initial value problems."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core import tree
from .._core.arrays import is_array
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.kinds import check_callable, shown
from .._core.typing import Array, Backend
from .._gradients.transforms import stop_gradient
from ..interchange import to_numpy
from ..optimize._arguments import arguments, choice, count, positive
from ..optimize._implicit import refusing
from ..optimize._vectors import Packed, apart, flat_like, is_plain, packed
from ._dense import Path, along, recorded
from ._derivatives import Problem, attached
from ._events import located, with_time
from ._loop import EVENT, FINISHED, Rules, Watch, run
from ._steps import quiet
from .tableaus import TABLEAUS

GRADIENTS = ("discrete", "adjoint", "direct")
_SENTENCES = (
    "reached the last time",
    "max_steps reached",
    "the step became too small: stiff for this method, or a solution that does not go on",
    "ended by the event",
)


class Solution(NamedTuple):
    """The result of `solve`.

    Attributes:
        ys: The solution at the times, in the structure of `y0` with an axis for the times in front;
            nan at times that were not reached.
        t: Where it ended: the last time, or that of the event.
        y: The solution there.
        accepted: How many steps were made.
        rejected: How many steps were tried and were not exact enough.
        finished: Whether the last time or the event was reached.
        reason: Why it ended, as a number; `message` is the same in words.
        path: The polynomials of all steps, with `dense`; `at` evaluates them.
    """

    ys: Any
    t: Array
    y: Any
    accepted: Array
    rejected: Array
    finished: Array
    reason: Array
    path: Any = None

    def at(self, ts: Any, /) -> Any:
        """The solution at any times, with `dense`: the axes of `ts` in front of those of the state;
        nan outside of the times that were reached.

        >>> import numpy as np, trellis
        >>> found = trellis.ode.solve(
        ...     lambda t, y: -y, np.array(1.0), [0.0, 2.0], gradient="direct", dense=True
        ... )
        >>> found.at(np.array([0.5, 1.5])).round(5)
        array([0.60653, 0.22313])
        """
        if self.path is None:
            raise ArgumentError(
                "at() evaluates the polynomials of all steps: write "
                "solve(..., gradient='direct', dense=True)."
            )
        return _rows_like(self.y, along(self.path, ts))

    @property
    def message(self) -> str:
        """Why it ended, in words; outside of compiled functions."""
        codes = np.unique(np.asarray(to_numpy(self.reason)))
        return "; ".join([_SENTENCES[int(code)] for code in codes])


def solve(
    fn: Callable[..., Any],
    y0: Any,
    ts: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str = "tsit5",
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    step: float | None = None,
    first_step: float | None = None,
    controller: Sequence[float] = (0.0, 1.0, 0.0),
    max_steps: int = 4096,
    event: Callable[..., Any] | None = None,
    direction: int = 0,
    gradient: str = "discrete",
    dense: bool = False,
) -> Solution:
    """The solution of dy/dt = fn(t, y, *args) from `y0` at ts[0] on, at all times in `ts`.

    Runs eagerly, compiled, and batched by `vmap`. Differentiable by `y0`, `args` and `ts`; arrays
    that `fn` closes over raise where they are differentiated.

    Args:
        fn: From a time, a state and `args` to the derivative, in the structure of the state.
        y0: The first state: a pytree of float32 or float64 arrays, all of one dtype.
        ts: The times, at least two, which increase or decrease: an array or numbers.
        args: Further arguments of `fn`, pytrees of arrays.
        method: "tsit5", "dopri5", "dopri8" or "bosh3"; "kvaerno5" or "kvaerno3" for stiff equations
            (they solve linear systems with the derivative of `fn`, as a matrix).
        rtol: The relative tolerance of a step.
        atol: The absolute one, a number or a state.
        step: The length of all steps, which then do not adapt.
        first_step: The length of the first step; None chooses it.
        controller: How the next step follows from the errors of the last three: the weights of
            their proportional, integral and derivative parts. (0.3, 0.3, 0) is smoother.
        max_steps: The largest number of steps; a "discrete" gradient needs memory for so many
            states.
        event: From a time, a state and `args` to a number; the solution ends where it becomes 0.
            Times after it are nan.
        direction: Which event counts: 1 if the number rises through 0, -1 if it falls, 0 both.
        gradient: "discrete" for the exact derivative of the steps made; "adjoint" for the equation
            of the derivative, solved backwards with the same tolerances in little memory; "direct"
            goes through the loop: for forward mode and second derivatives, not in compiled reverse
            mode.
        dense: Whether to keep the polynomials of all steps, for `Solution.at`: memory for
            `max_steps` of them. Needs gradient="direct".

    >>> import numpy as np, trellis
    >>> found = trellis.ode.solve(lambda t, y: -y, np.array([1.0]), [0.0, 1.0], rtol=1e-9)
    >>> found.ys.round(6), found.message
    (array([[1.      ],
           [0.367879]]), 'reached the last time')
    """
    args = arguments("solve", fn, args)
    choice("solve", "method", method, tuple(TABLEAUS))
    choice("solve", "gradient", gradient, GRADIENTS)
    if not isinstance(dense, bool):
        raise ArgumentTypeError(f"solve() expects a bool for dense, got {shown(dense)}.")
    if dense and gradient != "direct":
        raise ArgumentError(
            "solve() differentiates the polynomials of all steps through the loop alone: write "
            "gradient='direct' beside dense=True."
        )
    if direction not in (-1, 0, 1):
        raise ArgumentError(f"solve() expects -1, 0 or 1 for direction, got {direction!r}.")
    unknowns = packed("solve", "y0", y0, args)
    xp, start = unknowns.xp, unknowns.vector
    times = _times(xp, ts, start)
    rules = Rules(
        positive("solve", "rtol", rtol),
        _tolerance(unknowns, y0, atol),
        _controller(controller),
        count("solve", "max_steps", max_steps),
        None if step is None else positive("solve", "step", step),
        None if first_step is None else positive("solve", "first_step", first_step),
    )
    # The solver's time increases.
    sign = stop_gradient(xp.where(times[-1, ...] >= times[0, ...], 1.0, -1.0 + 0.0 * times[0, ...]))
    is_forward = is_plain(xp, sign) and bool(sign > 0)
    leaves, joined = apart(args)
    size = int(start.shape[0])

    def field_of(arrays: list[Any]) -> Any:
        given = joined(arrays)

        def field(t: Any, y: Any) -> Any:
            when = t if is_forward else sign * t
            found = flat_like("solve", "fn", unknowns, fn(when, unknowns.unpack(y), *given), size)
            return found if is_forward else sign * found

        return field

    if event is not None:
        check_callable("solve", event)

    def signal(t: Any, y: Any, arrays: list[Any]) -> Any:
        found = event(sign * t, unknowns.unpack(y), *joined(arrays))  # type: ignore[misc]
        return flat_like("solve", "event", unknowns, found, 1)[0, ...]

    tableau, going = TABLEAUS[method], sign * times
    path = None
    if gradient == "direct":
        field = field_of(leaves)
        watch = None if event is None else Watch(lambda t, y: signal(t, y, leaves), direction)
        first = field(going[0, ...], start)
        kept = recorded if dense else None
        made = run(
            xp, field, tableau, rules, going, start, first, watch=watch, kept=kept, mode="any"
        )
        rows, y, end = made.outputs, made.y, made.t
        if event is not None:
            rows, y, end = located(xp, watch, made, going)
            end, y = with_time(xp, field, lambda t, y: signal(t, y, leaves), end, y, made)
        if dense:
            begins, lengths, states, coefficients = made.record
            path = Path(begins, lengths, states, coefficients, made.accepted, end, sign)
    else:
        fixed = [stop_gradient(x) for x in leaves]
        still, where, exact = stop_gradient(start), stop_gradient(going), field_of(fixed)
        first = exact(where[0, ...], still)

        still_field = quiet(tableau, exact)
        watch = None
        if event is not None:
            watch = Watch(lambda t, y: stop_gradient(signal(t, y, fixed)), direction)
        made = run(xp, still_field, tableau, rules, where, still, stop_gradient(first), watch=watch)
        rows, y, end = made.outputs, made.y, made.t
        if event is not None:
            rows, y, end = located(xp, watch, made, where)
        problem = Problem(xp, field_of, tableau, rules)
        is_continuous = gradient == "adjoint"
        if is_continuous and event is not None:
            raise ArgumentError(
                "solve() has no adjoint gradient of a solution with an event: write "
                "gradient='discrete'."
            )
        rows, y = attached(problem, is_continuous, rows, y, end, start, going, leaves)
        zero = refusing("solve", xp, first)
        rows, y = rows + zero, y + zero
        if event is not None:
            field = field_of(leaves)
            end, y = with_time(xp, field, lambda t, y: signal(t, y, leaves), end, y, made)
    whole = xp.concat([xp.reshape(start, (1, -1)), rows], axis=0)
    is_there = xp.logical_or(made.code == FINISHED, made.code == EVENT)
    return Solution(
        _unpacked(unknowns, whole),
        sign * end,
        unknowns.unpack(y),
        made.accepted,
        made.rejected,
        is_there,
        made.code,
        path,
    )


def odeint(
    fn: Callable[..., Any],
    y0: Any,
    ts: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str = "tsit5",
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    max_steps: int = 4096,
    gradient: str = "discrete",
) -> Any:
    """The states at the times `ts` alone: `solve(...).ys`.

    Args:
        fn: From a time, a state and `args` to the derivative, in the structure of the state.
        y0: The first state: a pytree of float32 or float64 arrays, all of one dtype.
        ts: The times, at least two, which increase or decrease: an array or numbers.
        args: Further arguments of `fn`, pytrees of arrays.
        method: As in `solve`.
        rtol: The relative tolerance of a step.
        atol: The absolute one, a number or a state.
        max_steps: The largest number of steps.
        gradient: As in `solve`.

    >>> import numpy as np, trellis
    >>> ts = np.array([0.0, 1.0, 2.0])
    >>> trellis.ode.odeint(lambda t, y: -y, np.array(1.0), ts).round(5)
    array([1.     , 0.36788, 0.13534])
    """
    return solve(
        fn,
        y0,
        ts,
        args,
        method=method,
        rtol=rtol,
        atol=atol,
        max_steps=max_steps,
        gradient=gradient,
    ).ys


def _times(xp: Backend, ts: Any, like: Any) -> Any:
    """The times as an array of the dtype of the state."""
    kind = xp.dtype_name(like.dtype)
    if not is_array(ts):
        if not isinstance(ts, (list, tuple)) or (tree.is_nest(ts) and len(ts) == 0):
            raise ArgumentTypeError(f"solve() expects an array of times for ts, got {shown(ts)}.")
        parts = [
            xp.astype(t, kind)
            if is_array(t)
            else xp.full((), t, dtype=kind, device=xp.device(like))
            for t in ts
        ]
        ts = xp.stack(parts, axis=0)
    if len(ts.shape) != 1 or int(ts.shape[0]) < 2:
        raise ShapeError(f"solve() expects at least two times in one row, got {shown(ts)}.")
    return ts if xp.dtype_name(ts.dtype) == kind else xp.astype(ts, kind)


def _tolerance(unknowns: Packed, y0: Any, atol: Any) -> Any:
    if isinstance(atol, (int, float)) and not isinstance(atol, bool):
        return positive("solve", "atol", atol)
    found = packed("solve", "atol", atol, (y0,))
    if tuple(found.vector.shape) == (1,):
        return found.vector
    if found.vector.shape != unknowns.vector.shape:
        raise ShapeError("solve() expects a number for atol, or as many as there are in y0.")
    return stop_gradient(found.vector)


def _controller(controller: Any) -> tuple[float, float, float]:
    if not isinstance(controller, (list, tuple)) or len(controller) != 3:
        raise ArgumentTypeError(
            "solve() expects three numbers for controller, (proportional, integral, derivative), "
            f"got {controller!r}."
        )
    p, i, d = [float(x) for x in controller]
    if not i > 0:
        raise ArgumentError("solve() needs an integral part above 0 in controller.")
    return p, i, d


def _unpacked(unknowns: Packed, rows: Any) -> Any:
    """Each leaf with the axis of times in front."""
    return _rows_like(unknowns.unpack(unknowns.vector), rows)


def _rows_like(state: Any, rows: Any) -> Any:
    """Rows of numbers as states with an axis in front."""
    xp, parts, begin = xp_of(rows), [], 0
    front = tuple(rows.shape[:-1])
    for leaf in tree.leaves(state):
        length = math.prod([int(n) for n in leaf.shape])
        part = rows[..., begin : begin + length]
        parts.append(xp.reshape(part, (*front, *tuple(leaf.shape))))
        begin += length
    return tree.unflatten(tree.structure(state), parts)
