"""The loop over adaptive steps."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import while_loop
from .._array.indexing import at
from .._core.typing import Backend
from .._gradients.transforms import stop_gradient
from ..optimize._vectors import chosen, decided, scalar
from ._steps import Field, error_of, evaluated, polynomial, step
from .tableaus import Tableau

RUNNING, FINISHED, EXHAUSTED, TOO_SMALL, EVENT = -1, 0, 1, 2, 3


class Rules(NamedTuple):
    """How a solver chooses its steps.

    Attributes:
        rtol: The relative tolerance.
        atol: The absolute one: a number or a vector.
        controller: The weights of the error: proportional, integral, derivative.
        max_steps: The largest number of accepted and rejected steps.
        size: The length of all steps, if it is fixed.
        first: The length of the first step, if it is given.
    """

    rtol: float
    atol: Any
    controller: tuple[float, float, float]
    max_steps: int
    size: float | None
    first: float | None


class State(NamedTuple):
    """Where the loop is.

    `outputs` are the rows at the requested times, `record` what else is kept of each accepted step,
    `crossing` where an event was seen: (before, after, coefficients, point before).
    """

    t: Any
    y: Any
    f: Any
    h: Any
    last_error: Any
    earlier_error: Any
    accepted: Any
    rejected: Any
    code: Any
    outputs: Any
    record: Any
    crossing: Any


class Watch(NamedTuple):
    """An event: from (t, y) to a number that changes its sign, and in which direction."""

    value: Callable[[Any, Any], Any]
    direction: int


def tolerance_of(xp: Backend, rules: Rules, y: Any, new: Any) -> Any:
    return rules.atol + rules.rtol * xp.maximum(xp.abs(y), xp.abs(new))


def first_length(
    xp: Backend, field: Field, tableau: Tableau, rules: Rules, t: Any, y: Any, f: Any, span: Any
) -> Any:
    """A first step by the size of the field and of its change (Hairer, Norsett and Wanner,
    II.4)."""
    if rules.size is not None or rules.first is not None:
        given = rules.size if rules.size is not None else rules.first
        return xp.full_like(t, given)
    scale = rules.atol + rules.rtol * xp.abs(y)
    d0, d1 = _rms(xp, y / scale), _rms(xp, f / scale)
    is_small = xp.logical_or(d0 < 1e-5, d1 < 1e-5)
    h0 = xp.where(is_small, 1e-6, 0.01 * d0 / xp.where(is_small, 1.0, d1))
    h0 = xp.minimum(h0, span)
    d2 = _rms(xp, (field(t + h0, y + h0 * f) - f) / scale) / h0
    biggest = xp.maximum(d1, d2)
    is_flat = biggest <= 1e-15
    power = 1.0 / tableau.error_order
    h1 = xp.where(
        is_flat,
        xp.maximum(1e-3 * h0, xp.full_like(h0, 1e-6)),
        (0.01 / xp.where(is_flat, 1.0, biggest)) ** power,
    )
    return xp.minimum(xp.minimum(100.0 * h0, h1), span)


def _rms(xp: Backend, x: Any) -> Any:
    return xp.sqrt(xp.mean(x * x))


def run(
    xp: Backend,
    field: Field,
    tableau: Tableau,
    rules: Rules,
    ts: Any,
    y: Any,
    f: Any,
    end: Any = None,
    watch: Watch | None = None,
    kept: Callable[[Any, Any, Any, Any], list[Any]] | None = None,
    mode: str = "",
) -> State:
    """Steps from ts[0] to ts[-1], times that increase, with the points at the times after the
    first; nan at those that are not reached.

    Args:
        xp: The backend.
        field: The right-hand side.
        tableau: The method.
        rules: Tolerances and limits.
        ts: The times.
        y: The first point.
        f: The field there.
        end: Where to end, if not at ts[-1].
        watch: An event that ends it.
        kept: What to record of an accepted step, from (t, h, y, coefficients).
        mode: How implicit steps are differentiated, if this loop is.
    """
    t, wanted, is_short = ts[0, ...], ts[1:], end is not None
    end = end if is_short else ts[-1, ...]
    count = int(ts.shape[0]) - 1
    # The last time is the end of a step: no polynomial is needed if there is no other.
    is_dense = count > 1 or is_short or kept is not None or watch is not None
    digits = 2.2e-16 if xp.dtype_name(y.dtype) == "float64" else 1.2e-7
    zero, one = scalar(xp, y, 0, "int32"), xp.ones_like(t)
    tiny, large, lowest, highest = 1e-10 * one, 1e10 * one, 0.2 * one, 10.0 * one
    quarter = 0.25 * one
    p, i, d = rules.controller
    order = float(tableau.error_order)
    powers = ((p + i + d) / order, -(p + 2.0 * d) / order, d / order)

    def factor(error: Any, last: Any, earlier: Any) -> Any:
        """By which the step changes."""
        product = 0.9 * xp.maximum(error, tiny) ** -powers[0]
        if powers[1] != 0:
            product = product * last ** -powers[1]
        if powers[2] != 0:
            product = product * earlier ** -powers[2]
        return xp.minimum(xp.maximum(product, lowest), highest)

    def body(s: State) -> State:
        rest = end - s.t
        is_last = s.h >= rest * (1.0 - 100.0 * digits)
        h = chosen(xp, is_last, rest, s.h)
        before = tolerance_of(xp, rules, s.y, s.y) if tableau.diagonal != 0 else None
        made = step(xp, field, tableau, s.t, s.y, s.f, h, before, is_dense, mode)
        if rules.size is None:
            tolerance = tolerance_of(xp, rules, s.y, made.y)
            error = error_of(xp, tableau, h, made.stages, tolerance)
            is_good = xp.logical_and(xp.logical_and(error <= 1.0, made.is_solved), error >= 0.0)
            usable = chosen(xp, xp.isfinite(error), error, large)
            change = factor(usable, s.last_error, s.earlier_error)
            change = chosen(xp, is_good, change, xp.minimum(change, one))
            change = chosen(xp, made.is_solved, change, quarter)
            # What was cut at the end says little of the next length.
            length = h * change
            last = chosen(xp, is_good, xp.maximum(usable, tiny), s.last_error)
            earlier = chosen(xp, is_good, s.last_error, s.earlier_error)
        else:
            is_good, length, last, earlier = made.is_solved, s.h, one, one
        t = chosen(xp, is_good, chosen(xp, is_last, end, s.t + h), s.t)
        outputs, record, crossing = s.outputs, s.record, s.crossing
        if is_dense:
            coefficients = polynomial(xp, tableau, h, made.stages)
            inside = xp.logical_and(wanted > s.t, wanted <= s.t + h)
            inside = xp.logical_and(inside, is_good)
            part = xp.where(inside, (wanted - s.t) / h, 0.0)
            rows = s.y + evaluated(xp, coefficients, part)
            outputs = xp.where(xp.reshape(inside, (-1, 1)), rows, outputs)
            if kept is not None:
                place = xp.reshape(s.accepted, (1,))
                new = kept(s.t, h, s.y, coefficients)
                record = [
                    chosen(xp, is_good, at(old, place).set(xp.reshape(x, (1, *x.shape))), old)
                    for old, x in zip(record, new, strict=True)
                ]
        is_final = xp.logical_and(is_good, is_last)
        if not is_short:
            outputs = _with_last(xp, outputs, made.y, is_final, count)
        accepted = s.accepted + xp.astype(is_good, "int32")
        rejected = s.rejected + xp.astype(xp.logical_not(is_good), "int32")
        too_small = length <= 4.0 * digits * xp.abs(t)
        stopped = xp.logical_or(too_small, xp.logical_not(length > 0))
        if rules.size is not None:
            stopped = xp.logical_not(is_good)
        is_limit = accepted + rejected >= rules.max_steps
        cases = [(is_limit, EXHAUSTED), (stopped, TOO_SMALL), (is_final, FINISHED)]
        if watch is not None:
            seen = _is_crossed(xp, watch, s.t, s.y, t, chosen(xp, is_good, made.y, s.y))
            seen = xp.logical_and(seen, is_good)
            cases.append((seen, EVENT))
            found = (s.t, h, s.y, coefficients)
            crossing = [
                chosen(xp, seen, new, old) for new, old in zip(found, crossing, strict=True)
            ]
        return State(
            t,
            chosen(xp, is_good, made.y, s.y),
            chosen(xp, is_good, made.f, s.f),
            length,
            last,
            earlier,
            accepted,
            rejected,
            decided(xp, y, RUNNING, *cases),
            outputs,
            record,
            crossing,
        )

    h = first_length(xp, field, tableau, rules, t, y, f, end - t)
    if not mode:
        h = stop_gradient(h)
    size, device = int(y.shape[0]), xp.device(y)
    nothing = xp.full((count, size), float("nan"), dtype=y.dtype, device=device)
    degree = len(tableau.polynomial)
    blank = xp.zeros((degree, size), dtype=y.dtype, device=device)
    record = []
    if kept is not None:
        for x in kept(t, h, y, blank):
            shape = (rules.max_steps, *tuple(x.shape))
            record.append(xp.zeros(shape, dtype=x.dtype, device=device))
    crossing = [] if watch is None else [t, h, y, blank]
    # A span of length 0 is finished, and a field that is nan never is.
    is_over = xp.logical_not(end > t)
    code = xp.astype(xp.where(is_over, FINISHED, RUNNING), "int32")
    nothing = xp.where(is_over, y, nothing)
    start = State(t, y, f, h, one, one, zero, zero, code, nothing, record, crossing)
    return while_loop(lambda s: s.code == RUNNING, body, start)


def _with_last(xp: Backend, outputs: Any, y: Any, is_final: Any, count: int) -> Any:
    """The last row is the end of the last step itself, without the polynomial's rounding."""
    if count == 1:
        return chosen(xp, is_final, xp.reshape(y, (1, -1)), outputs)
    final = chosen(xp, is_final, y, outputs[-1, ...])
    return xp.concat([outputs[:-1], xp.reshape(final, (1, -1))], axis=0)


def _is_crossed(xp: Backend, watch: Watch, t: Any, y: Any, new_t: Any, new: Any) -> Any:
    before, after = watch.value(t, y), watch.value(new_t, new)
    rises = xp.logical_and(before < 0, after >= 0)
    falls = xp.logical_and(before > 0, after <= 0)
    if watch.direction > 0:
        return rises
    return falls if watch.direction < 0 else xp.logical_or(rises, falls)
