"""`root` and `fixed_point`: nonlinear equations."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import while_loop
from .._array.linalg import qr, solve
from .._core.typing import Backend
from .._gradients.transforms import jac, stop_gradient
from ._arguments import arguments, choice, count, positive
from ._implicit import solution
from ._quasi_newton import outer, progress
from ._results import CONVERGED, RUNNING, Root
from ._vectors import Packed, apart, constant, flat_like, largest, packed, scalar

Field = Callable[[Any], Any]


class _At(NamedTuple):
    """A point, what the equations are there, and why it ended or `RUNNING`."""

    x: Any
    f: Any
    norm: Any
    steps: Any
    code: Any


def root(
    fn: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str = "newton",
    tol: float | None = None,
    max_steps: int = 100,
) -> Root:
    """The `x` next to `x0` with fn(x, *args) = 0.

    Steps are shortened until the equations come closer to 0. Differentiable by `args`, by one
    linear system with products of the derivative (GMRES).

    Args:
        fn: From the unknowns and `args` to as many numbers as there are unknowns.
        x0: Where to begin: a pytree of float32 or float64 arrays, all of one dtype.
        args: Further arguments of `fn`, pytrees of arrays.
        method: "newton" computes the matrix of derivatives in each step, "broyden" once, and then
            corrects its inverse by what each step shows.
        tol: It has converged when no equation is further from 0; None for 1e-10 in float64 and 1e-5
            in float32.
        max_steps: The largest number of steps.

    >>> import numpy as np, trellis
    >>> found = trellis.optimize.root(lambda x, a: x**2 - a, np.array(1.0), (np.array(2.0),))
    >>> round(float(found.x), 9), found.message
    (1.414213562, 'converged')
    """
    args = arguments("root", fn, args)
    choice("root", "method", method, ("newton", "broyden"))
    limit = count("root", "max_steps", max_steps)
    unknowns = packed("root", "x0", x0, args)
    xp, size = unknowns.xp, int(unknowns.vector.shape[0])
    goal = _goal("root", unknowns, tol)
    fixed = constant(args)

    def equations(x: Any, given: Any) -> Any:
        return flat_like("root", "fn", unknowns, fn(unknowns.unpack(x), *given), size)

    def field(x: Any) -> Any:
        return stop_gradient(equations(x, fixed))

    def slopes(x: Any) -> Any:
        return stop_gradient(jac(lambda x: equations(x, fixed))(x))

    start = stop_gradient(unknowns.vector)
    method_of = _newton if method == "newton" else _broyden
    reached = method_of(xp, field, slopes, start, goal, limit)
    arrays, joined = apart(args)
    x = solution("root", xp, lambda x, known: equations(x, joined(known)), reached.x, arrays)
    return _result(unknowns, x, reached)


def fixed_point(
    fn: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str = "anderson",
    tol: float | None = None,
    max_steps: int = 500,
    history: int = 5,
) -> Root:
    """The `x` next to `x0` with fn(x, *args) = x.

    Differentiable by `args`, by one linear system with products of the derivative (GMRES).

    Args:
        fn: From the unknowns and `args` to the next unknowns, in the same structure.
        x0: Where to begin: a pytree of float32 or float64 arrays, all of one dtype.
        args: Further arguments of `fn`, pytrees of arrays.
        method: "anderson" combines the last results to the one that should change least; "plain"
            only repeats `fn`.
        tol: It has converged when no number changes by more; None for 1e-10 in float64 and 1e-5 in
            float32.
        max_steps: The largest number of calls.
        history: How many results "anderson" combines.

    >>> import numpy as np, trellis
    >>> found = trellis.optimize.fixed_point(trellis.cos, np.array(1.0))
    >>> round(float(found.x), 9)
    0.739085133
    """
    args = arguments("fixed_point", fn, args)
    choice("fixed_point", "method", method, ("anderson", "plain"))
    limit = count("fixed_point", "max_steps", max_steps)
    history = count("fixed_point", "history", history) if method == "anderson" else 1
    unknowns = packed("fixed_point", "x0", x0, args)
    xp, size = unknowns.xp, int(unknowns.vector.shape[0])
    goal = _goal("fixed_point", unknowns, tol)
    fixed = constant(args)

    def change(x: Any, given: Any) -> Any:
        new = fn(unknowns.unpack(x), *given)
        return flat_like("fixed_point", "fn", unknowns, new, size) - x

    def field(x: Any) -> Any:
        return stop_gradient(change(x, fixed))

    start = stop_gradient(unknowns.vector)
    reached = _anderson(xp, field, start, goal, limit, history)
    arrays, joined = apart(args)
    x = solution("fixed_point", xp, lambda x, known: change(x, joined(known)), reached.x, arrays)
    return _result(unknowns, x, reached)


def _goal(function: str, unknowns: Packed, tol: float | None) -> float:
    is_double = unknowns.xp.dtype_name(unknowns.vector.dtype) == "float64"
    return (1e-10 if is_double else 1e-5) if tol is None else positive(function, "tol", tol)


def _result(unknowns: Packed, x: Any, at: _At) -> Root:
    return Root(unknowns.unpack(x), at.norm, at.steps, at.code == CONVERGED, at.code)


def _begun(xp: Backend, field: Field, x: Any, tol: float, limit: int) -> _At:
    f = field(x)
    norm, zero = largest(xp, f), scalar(xp, x, 0, "int32")
    no = xp.zeros_like(norm) > 0
    return _At(x, f, norm, zero, progress(xp, norm, norm, tol, zero, limit, no))


def _damped(xp: Backend, field: Field, at: _At, step: Any) -> tuple[Any, Any, Any]:
    """The point and the equations behind a step that is halved until they shrink; the part of it
    that was taken, 0 if there is none."""
    before = xp.sum(at.f * at.f)

    def is_too_long(state: Any) -> Any:
        part, f, n = state
        after = xp.sum(f * f)
        shrinks = after <= (1.0 - 2e-4 * part) * before
        return xp.logical_and(xp.logical_not(shrinks), n < 40)

    def shorter(state: Any) -> Any:
        part = 0.5 * state[0]
        return part, field(at.x + part * step), state[2] + 1

    one = xp.ones_like(before)
    first = (one, field(at.x + step), scalar(xp, step, 0, "int32"))
    part, f, n = while_loop(is_too_long, shorter, first)
    part = xp.where(n < 40, part, 0.0)
    return at.x + part * step, xp.where(n < 40, f, at.f), part


def _inverse_times(xp: Backend, matrix: Any, b: Any) -> Any:
    """inv(matrix) @ b. A singular matrix, which eager frameworks answer with an error and compiled
    ones with nan, leads downhill by its transpose, as far as its norm allows."""
    q, r = qr(matrix)
    eye = xp.eye(int(matrix.shape[0]), dtype=matrix.dtype, device=xp.device(matrix))
    sizes = xp.abs(xp.sum(r * eye, axis=0))
    small = 1e-14 if xp.dtype_name(matrix.dtype) == "float64" else 1e-6
    is_regular = xp.min(sizes) > small * xp.max(sizes)
    turned = xp.matrix_transpose(matrix)
    norm = xp.sum(matrix * matrix)
    downhill = xp.matmul(turned, b) / xp.where(norm > 0, norm, xp.ones_like(norm))
    exact = solve(xp.where(is_regular, r, eye), xp.matmul(xp.matrix_transpose(q), b))
    return xp.where(is_regular, exact, downhill)


def _newton(xp: Backend, field: Field, slopes: Field, x: Any, tol: float, limit: int) -> _At:
    def body(at: _At) -> _At:
        x, f, part = _damped(xp, field, at, -_inverse_times(xp, slopes(at.x), at.f))
        norm, steps = largest(xp, f), at.steps + 1
        return _At(x, f, norm, steps, progress(xp, norm, norm, tol, steps, limit, part == 0))

    return while_loop(lambda at: at.code == RUNNING, body, _begun(xp, field, x, tol, limit))


def _broyden(xp: Backend, field: Field, slopes: Field, x: Any, tol: float, limit: int) -> _At:
    """Broyden's first method, with the inverse matrix; a new one where a step leads nowhere."""
    eye = xp.eye(int(x.shape[0]), dtype=x.dtype, device=xp.device(x))

    def inverse_at(x: Any) -> Any:
        return _inverse_times(xp, slopes(x), eye)

    def body(state: Any) -> Any:
        at, inverse, is_fresh = state
        new, f, part = _damped(xp, field, at, -xp.matmul(inverse, at.f))
        s, y = new - at.x, f - at.f
        hy = xp.matmul(inverse, y)
        below = xp.sum(s * hy)
        is_used = xp.abs(below) > 1e-10 * xp.sqrt(xp.sum(s * s) * xp.sum(hy * hy))
        row = xp.matmul(s, inverse) / xp.where(is_used, below, 1.0)
        updated = inverse + xp.where(is_used, outer(xp, s - hy, row), 0.0)
        is_lost = xp.logical_or(part == 0, part < 0.1)
        last = updated

        def anew(state: Any) -> Any:
            return inverse_at(new), xp.logical_not(state[1])

        # Computed only where it is needed: a loop of one round.
        inverse, _ = while_loop(lambda state: state[1], anew, (last, is_lost))
        is_stuck = xp.logical_and(part == 0, is_fresh)
        norm, steps = largest(xp, f), at.steps + 1
        code = progress(xp, norm, norm, tol, steps, limit, is_stuck)
        return _At(new, f, norm, steps, code), inverse, is_lost

    start = _begun(xp, field, x, tol, limit)
    state = (start, inverse_at(x), start.norm >= 0)
    return while_loop(lambda state: state[0].code == RUNNING, body, state)[0]


def _anderson(xp: Backend, field: Field, x: Any, tol: float, limit: int, history: int) -> _At:
    """Anderson's mixing; with a history of 1 the plain iteration."""
    width = history - 1
    eye = xp.eye(max(width, 1), dtype=x.dtype, device=xp.device(x))
    small = 1e-14 if xp.dtype_name(x.dtype) == "float64" else 1e-6

    def body(state: Any) -> Any:
        at, moves, changes = state
        new = at.x + at.f
        if width:
            gram = xp.matmul(changes, xp.matrix_transpose(changes))
            # Rows of zeros, and those that say nothing new, have no weight.
            size = xp.sum(gram * eye)
            ridge = small * size + xp.where(size > 0, xp.zeros_like(size), 1.0)
            weights = solve(gram + ridge * eye, xp.matmul(changes, at.f))
            new = new - xp.matmul(weights, moves + changes)
        f = field(new)
        if width:
            moved, changed = xp.reshape(new - at.x, (1, -1)), xp.reshape(f - at.f, (1, -1))
            moves = xp.concat([moves[1:], moved], axis=0)
            changes = xp.concat([changes[1:], changed], axis=0)
        norm, steps = largest(xp, f), at.steps + 1
        code = progress(xp, norm, norm, tol, steps, limit, xp.zeros_like(norm) > 0)
        return _At(new, f, norm, steps, code), moves, changes

    rows = xp.zeros((max(width, 1), int(x.shape[0])), dtype=x.dtype, device=xp.device(x))
    state = (_begun(xp, field, x, tol, limit), rows, rows)
    return while_loop(lambda state: state[0].code == RUNNING, body, state)[0]
