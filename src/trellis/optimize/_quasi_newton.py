"""Quasi-Newton steps: BFGS with a matrix, L-BFGS with the last few steps."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import scan, while_loop
from .._core.typing import Backend
from ..interchange import to_numpy
from ._line_search import Evaluate, wolfe_step
from ._results import CONVERGED, EXHAUSTED, NOT_FINITE, RUNNING, STALLED
from ._vectors import chosen, decided, is_plain, largest, scalar


class Reached(NamedTuple):
    """Where a minimisation is: a point, what is known there, and why it ended or `RUNNING`."""

    x: Any
    value: Any
    gradient: Any
    norm: Any
    steps: Any
    code: Any


class Memory(NamedTuple):
    """What a method knows of the curvature.

    Attributes:
        first: From a gradient to the memory before the first step.
        direction: From the memory and a gradient to the direction of a step.
        updated: The memory after a step, from it, the step and the change of the gradient.
    """

    first: Callable[[Any], Any]
    direction: Callable[[Any, Any], Any]
    updated: Callable[[Any, Any, Any], Any]


def progress(
    xp: Backend, norm: Any, value: Any, tol: float, steps: Any, limit: int, is_stuck: Any
) -> Any:
    """The code of a point: whether to go on, and if not, why."""
    return decided(
        xp,
        norm,
        RUNNING,
        (steps >= limit, EXHAUSTED),
        (is_stuck, STALLED),
        (xp.logical_not(xp.isfinite(norm + value)), NOT_FINITE),
        (norm <= tol, CONVERGED),
    )


def begun(xp: Backend, evaluate: Evaluate, x: Any, tol: float, limit: int) -> Reached:
    value, gradient = evaluate(x)
    norm, zero = largest(xp, gradient), scalar(xp, x, 0, "int32")
    code = progress(xp, norm, value, tol, zero, limit, xp.zeros_like(value) > 0)
    return Reached(x, value, gradient, norm, zero, code)


def quasi_newton(
    xp: Backend, evaluate: Evaluate, x: Any, memory: Memory, tol: float, limit: int
) -> Reached:
    """Steps along the directions of a memory, as long as they lead down."""

    def body(state: tuple[Reached, Any]) -> tuple[Reached, Any]:
        at, known = state
        direction = memory.direction(known, at.gradient)
        # Rounding may spoil a direction: then the steepest one, as in the first step.
        is_downhill = xp.sum(direction * at.gradient) < 0
        is_steepest = xp.logical_or(at.steps == 0, xp.logical_not(is_downhill))
        direction = chosen(xp, is_steepest, -at.gradient, direction)
        length = xp.sqrt(xp.sum(at.gradient * at.gradient))
        one = xp.ones_like(length)
        short = xp.minimum(one, 1.0 / chosen(xp, length > 0, length, one))
        first = chosen(xp, is_steepest, short, one)
        found = wolfe_step(xp, evaluate, at.x, at.value, at.gradient, direction, first)
        new = at.x + found.length * direction
        known = memory.updated(known, new - at.x, found.gradient - at.gradient)
        norm, steps = largest(xp, found.gradient), at.steps + 1
        code = progress(xp, norm, found.value, tol, steps, limit, found.length == 0)
        return Reached(new, found.value, found.gradient, norm, steps, code), known

    start = begun(xp, evaluate, x, tol, limit)
    known = memory.first(start.gradient)
    return while_loop(lambda state: state[0].code == RUNNING, body, (start, known))[0]


def matrix_memory(xp: Backend) -> Memory:
    """The inverse of the second derivatives as a matrix, and whether it was updated before."""

    def first(gradient: Any) -> Any:
        size = int(gradient.shape[0])
        eye = xp.eye(size, dtype=gradient.dtype, device=xp.device(gradient))
        return eye, scalar(xp, gradient, 0, "int32")

    def direction(known: Any, gradient: Any) -> Any:
        return -xp.matmul(known[0], gradient)

    def updated(known: Any, s: Any, y: Any) -> Any:
        inverse, count = known
        sy, yy = xp.sum(s * y), xp.sum(y * y)
        is_used = is_curved(xp, sy, s, y)
        safe = xp.where(is_used, sy, 1.0)
        # The first matrix has the size of the curvature along the first step.
        scale = xp.where(count == 0, safe / xp.where(yy > 0, yy, 1.0), 1.0)
        inverse = xp.where(is_used, scale, 1.0) * inverse
        hy = xp.matmul(inverse, y)
        product = outer(xp, s, hy)
        rank_two = (1.0 + xp.sum(y * hy) / safe) / safe * outer(xp, s, s)
        rank_two = rank_two - (product + xp.matrix_transpose(product)) / safe
        return inverse + xp.where(is_used, rank_two, 0.0), count + xp.astype(is_used, "int32")

    return Memory(first, direction, updated)


def outer(xp: Backend, a: Any, b: Any) -> Any:
    return xp.reshape(a, (-1, 1)) * xp.reshape(b, (1, -1))


def limited_memory(xp: Backend, history: int) -> Memory:
    """The last steps, the newest last: as a pair of matrices, and 1 / (s y) of each (0 if there is
    none yet)."""

    def first(gradient: Any) -> Any:
        size = int(gradient.shape[0])
        device = xp.device(gradient)
        rows = xp.zeros((history, size), dtype=gradient.dtype, device=device)
        return rows, rows, xp.zeros((history,), dtype=gradient.dtype, device=device)

    def direction(known: Any, gradient: Any) -> Any:
        steps, changes, inverse = known
        return -limited_product(xp, steps, changes, inverse, gradient)

    def updated(known: Any, s: Any, y: Any) -> Any:
        steps, changes, inverse = known
        sy = xp.sum(s * y)
        is_used = is_curved(xp, sy, s, y)
        one = xp.reshape(1.0 / chosen(xp, is_used, sy, xp.ones_like(sy)), (1,))
        new = (
            xp.concat([steps[1:], xp.reshape(s, (1, -1))], axis=0),
            xp.concat([changes[1:], xp.reshape(y, (1, -1))], axis=0),
            xp.concat([inverse[1:], one], axis=0),
        )
        return tuple([chosen(xp, is_used, x, old) for x, old in zip(new, known, strict=True)])

    return Memory(first, direction, updated)


def is_curved(xp: Backend, sy: Any, s: Any, y: Any) -> Any:
    """Whether a step shows a curvature above 0 that is more than rounding."""
    return sy > 1e-10 * xp.sqrt(xp.sum(s * s) * xp.sum(y * y))


def limited_product(xp: Backend, steps: Any, changes: Any, inverse: Any, gradient: Any) -> Any:
    """The inverse of the second derivatives times a gradient (Nocedal's two loops)."""

    def back(q: Any, row: Any) -> tuple[Any, Any]:
        s, y, rho = row
        part = rho * xp.sum(s * q)
        return q - part * y, part

    def forth(q: Any, row: Any) -> tuple[Any, Any]:
        s, y, rho, part = row
        return q + (part - rho * xp.sum(y * q)) * s, part

    def scaled(q: Any) -> Any:
        """By the size of the curvature along the newest step."""
        newest, last = changes[-1, ...], inverse[-1, ...]
        yy = xp.sum(newest * newest)
        is_known = xp.logical_and(last > 0, yy > 0)
        return q / chosen(xp, is_known, last * yy, 1.0)

    if not (is_plain(xp, inverse) and is_plain(xp, gradient)):
        q, parts = scan(back, gradient, (steps, changes, inverse), reverse=True)
        return scan(forth, scaled(q), (steps, changes, inverse, parts))[0]
    # The same in Python, which leaves out the rows that are not there yet and change nothing.
    known = [i for i, number in enumerate(to_numpy(inverse)) if number != 0]
    q, rows = gradient, []
    for i in reversed(known):
        row = (steps[i, ...], changes[i, ...], inverse[i, ...])
        q, part = back(q, row)
        rows.append((*row, part))
    q = scaled(q)
    for whole in reversed(rows):
        q, _ = forth(q, whole)
    return q
