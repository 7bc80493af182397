"""Derivatives of a solution: of the steps that were made, or of the differential equation."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import scan, while_loop
from .._core.errors import ArgumentError
from .._core.following import is_followed
from .._core.typing import Backend
from .._gradients.transforms import stop_gradient, vjp
from ..optimize._rule import with_rule
from ._loop import Rules, State, run, tolerance_of
from ._steps import Field, polynomial, quiet, step
from .tableaus import Tableau


class Problem(NamedTuple):
    """A differential equation and how it is solved; `field` makes it from the arrays in `args`."""

    xp: Backend
    field: Callable[[list[Any]], Field]
    tableau: Tableau
    rules: Rules


def attached(
    problem: Problem,
    is_continuous: bool,
    rows: Any,
    y: Any,
    end: Any,
    y0: Any,
    ts: Any,
    arrays: list[Any],
) -> tuple[Any, Any]:
    """The rows of a solution and its last point, constants, with their derivatives by the first
    point, the times and `arrays`."""
    xp = problem.xp

    def forward(leaves: list[Any]) -> list[Any]:
        return [leaves[0] + 0.0, leaves[1] + 0.0]  # not themselves, which are constants

    def backward(leaves: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        rows, y, end, y0, ts, *known = leaves
        g, last = [
            xp.zeros_like(x) if u is None else u for x, u in zip((rows, y), upstream, strict=True)
        ]
        # Rows that were not reached are nan, and have no part in this.
        g = xp.where(xp.isfinite(rows), g, 0.0)
        rows, end, y0, ts, g, last = [stop_gradient(x) for x in (rows, end, y0, ts, g, last)]
        fixed = [stop_gradient(x) for x in known]
        places = [i for i, a in enumerate(known) if a.dtype in xp.FLOAT_DTYPES]
        if is_continuous:
            found, by_arrays = _continuous(problem, rows, y0, ts, g, last, fixed, places)
        else:
            # The last row is the last point itself.
            inner, final = g[:-1, ...], last + g[-1, ...]
            found, by_arrays = _discrete(problem, end, y0, ts, inner, final, fixed, places)
        # The time of an event is not one of the times.
        moved = xp.where(end >= ts[-1, ...], last + g[-1, ...], 0.0)
        moved = xp.concat([g[:-1, ...], xp.reshape(moved, (1, -1))], axis=0)
        by_times = _by_times(problem, rows, y0, ts, moved, fixed, found)
        gradients: list[Any] = [None for _ in known]
        for i, gradient in zip(places, by_arrays, strict=True):
            gradients[i] = gradient
        some = [found, by_times, *[x for x in gradients if x is not None]]
        once = _once(xp, some, [*upstream, *leaves]) if not is_followed() else some
        kept = list(once[2:])
        full = [None if x is None else kept.pop(0) for x in gradients]
        nothing = [xp.zeros_like(x) for x in (rows, y, end)]
        return [*nothing, once[0], once[1], *full]

    found = with_rule(xp, forward, backward, [rows, y, end, y0, ts, *arrays])
    return found[0], found[1]


def _once(xp: Backend, values: list[Any], sources: list[Any]) -> list[Any]:
    """The values, which raise where they are differentiated."""
    floats = [x for x in sources if x is not None and x.dtype in xp.FLOAT_DTYPES]

    def forward(leaves: list[Any]) -> list[Any]:
        return [x + 0.0 for x in leaves[: len(values)]]

    def backward(leaves: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        raise ArgumentError(
            "The gradient of a solution was differentiated again. Write gradient='direct', which "
            "goes through the steps themselves and has derivatives of any order."
        )

    return with_rule(xp, forward, backward, [*values, *floats])[: len(values)]


def _rows_of(xp: Backend, wanted: Any, g: Any, t: Any, h: Any, degree: int) -> tuple[Any, Any]:
    """What the rows inside a step pass to its polynomial, and to the point before it."""
    inside = xp.logical_and(wanted > t, wanted <= t + h)
    part = xp.where(inside, (wanted - t) / h, 0.0)
    g = xp.where(xp.reshape(inside, (-1, 1)), g, 0.0)
    powers = [part]
    for _ in range(degree - 1):
        powers.append(powers[-1] * part)
    return xp.matmul(xp.stack(powers, axis=0), g), xp.sum(g, axis=0)


def _discrete(
    problem: Problem,
    end: Any,
    y0: Any,
    ts: Any,
    g: Any,
    last: Any,
    arrays: list[Any],
    places: list[int],
) -> tuple[Any, list[Any]]:
    """Backwards through the steps: they are made again and recorded, then each is differentiated
    by itself, from the point before it. Their lengths count as constants."""
    xp, field_of, tableau, rules = problem
    field = quiet(tableau, field_of(arrays))
    first = stop_gradient(field(ts[0, ...], y0))
    made: State = run(
        xp,
        field,
        tableau,
        rules,
        ts,
        y0,
        first,
        end=end,
        kept=lambda t, h, y, coefficients: [t, h, y],
    )
    starts, lengths, points = made.record
    degree, has_rows = len(tableau.polynomial), int(ts.shape[0]) > 2

    def body(state: Any) -> Any:
        i, g_y, g_arrays = state
        place = xp.reshape(i, (1,))
        t, h, y = [xp.take(x, place, axis=0)[0, ...] for x in (starts, lengths, points)]

        def local(y: Any, *floats: Any) -> Any:
            full = list(arrays)
            for n, a in zip(places, floats, strict=True):
                full[n] = a
            moving = field_of(full)
            tolerance = stop_gradient(tolerance_of(xp, rules, y, y))
            one = step(xp, moving, tableau, t, y, moving(t, y), h, tolerance, True, "once")
            return one.y, polynomial(xp, tableau, h, one.stages)

        (new, coefficients), pull = vjp(local, y, *[arrays[n] for n in places])
        inner, by_point = xp.zeros_like(coefficients), xp.zeros_like(new)
        if has_rows:
            inner, by_point = _rows_of(xp, ts[1:-1], g, t, h, degree)
        pulled = pull((g_y, inner))
        sums = [old + new for old, new in zip(g_arrays, pulled[1:], strict=True)]
        return i - 1, stop_gradient(pulled[0] + by_point), [stop_gradient(x) for x in sums]

    zeros = [xp.zeros_like(arrays[n]) for n in places]
    start = (made.accepted - 1, last, zeros)
    _, g_y, g_arrays = while_loop(lambda state: state[0] >= 0, body, start)
    return g_y, g_arrays


def _continuous(
    problem: Problem,
    rows: Any,
    y0: Any,
    ts: Any,
    g: Any,
    last: Any,
    arrays: list[Any],
    places: list[int],
) -> tuple[Any, list[Any]]:
    """The adjoint equation, solved backwards from each time to the one before, from the point that
    was found there. It needs no memory for steps, and is as exact as its own tolerance."""
    xp, field_of, tableau, rules = problem
    size = int(y0.shape[0])
    floats = [arrays[n] for n in places]
    shapes = [tuple(x.shape) for x in floats]

    def adjoint(s: Any, z: Any) -> Any:
        y, a = z[:size], z[size : 2 * size]

        def right(y: Any, *floats: Any) -> Any:
            full = list(arrays)
            for n, x in zip(places, floats, strict=True):
                full[n] = x
            return field_of(full)(-s, y)

        f, pull = vjp(right, y, *floats)
        pulled = [xp.reshape(x, (-1,)) for x in pull(a)]
        return xp.concat([-f, *pulled], axis=0)

    field = quiet(tableau, adjoint)

    count = size * 2
    for x in floats:
        count += int(xp.reshape(x, (-1,)).shape[0])
    # One tolerance for all: that of the smallest number.
    wide = rules._replace(atol=xp.min(xp.zeros_like(y0) + rules.atol), first=None)

    def back(state: Any, row: Any) -> Any:
        after, before, y, g = row
        a = state[:size] + g
        z = xp.concat([y, a, state[size:]], axis=0)
        times = xp.stack([-after, -before], axis=0)
        made = run(xp, field, tableau, wide, times, z, stop_gradient(field(times[0, ...], z)))
        return made.outputs[0, size:], after

    start = xp.zeros((count - size,), dtype=y0.dtype, device=xp.device(y0))
    state = xp.concat([last, start[size:]], axis=0)
    state, _ = scan(back, state, (ts[1:], ts[:-1], rows, g), reverse=True)
    found, begin = [], size
    for x, shape in zip(floats, shapes, strict=True):
        length = int(xp.reshape(x, (-1,)).shape[0])
        found.append(xp.reshape(state[begin : begin + length], shape))
        begin += length
    return state[:size], found


def _by_times(
    problem: Problem,
    rows: Any,
    y0: Any,
    ts: Any,
    g: Any,
    arrays: list[Any],
    found: Any,
) -> Any:
    """By the time of each row its point moves along the field; by the first time, against it."""
    xp = problem.xp
    field = problem.field(arrays)

    def one(carry: Any, row: Any) -> Any:
        t, y, g = row
        return carry, xp.sum(stop_gradient(field(t, y)) * g)

    safe = xp.where(xp.isfinite(rows), rows, 0.0)
    later = scan(one, xp.sum(found), (ts[1:], safe, g))[1]
    first = -xp.sum(stop_gradient(field(ts[0, ...], y0)) * found)
    return xp.concat([xp.reshape(first, (1,)), later], axis=0)
