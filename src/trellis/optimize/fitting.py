"""`least_squares`: sums of squares, by the method of Levenberg and Marquardt."""

from collections.abc import Callable
from typing import Any

from .._array.control import while_loop
from .._array.linalg import qr, solve
from .._core.typing import Backend
from .._gradients.transforms import jac, stop_gradient, vjp
from ._arguments import arguments, count, positive
from ._implicit import solution
from ._quasi_newton import Reached, progress
from ._results import CONVERGED, RUNNING, Minimum
from ._vectors import apart, constant, flat_like, largest, packed, scalar


def least_squares(
    fn: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    tol: float | None = None,
    max_steps: int = 500,
) -> Minimum:
    """The `x` next to `x0` with the smallest sum of squares of `fn(x, *args)`.

    The derivative of the residuals is a matrix; each step solves a linear least squares problem by
    its QR decomposition, damped as much as the last steps ask for. `value` is half the sum of
    squares. Differentiable by `args`, as `minimize` is.

    Args:
        fn: From the unknowns and `args` to residuals: a pytree of arrays.
        x0: Where to begin: a pytree of float32 or float64 arrays, all of one dtype.
        args: Further arguments of `fn`, pytrees of arrays.
        tol: It has converged when no element of the gradient is larger than this; None for 1e-8 in
            float64 and 1e-4 in float32.
        max_steps: The largest number of steps.

    >>> import numpy as np, trellis
    >>> def residuals(x, t, y):
    ...     return x[0] * trellis.exp(x[1] * t) - y
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> found = trellis.optimize.least_squares(residuals, np.ones(2), (t, 2 * np.exp(-t)))
    >>> found.x.round(6)
    array([ 2., -1.])
    """
    args = arguments("least_squares", fn, args)
    limit = count("least_squares", "max_steps", max_steps)
    unknowns = packed("least_squares", "x0", x0, args)
    xp = unknowns.xp
    is_double = xp.dtype_name(unknowns.vector.dtype) == "float64"
    goal = (1e-8 if is_double else 1e-4) if tol is None else positive("least_squares", "tol", tol)
    fixed = constant(args)

    def residuals(x: Any, given: Any) -> Any:
        return flat_like("least_squares", "fn", unknowns, fn(unknowns.unpack(x), *given))

    def evaluate(x: Any) -> tuple[Any, Any]:
        matrix = jac(lambda x: residuals(x, fixed))(x)
        return stop_gradient(residuals(x, fixed)), stop_gradient(matrix)

    reached = _levenberg_marquardt(xp, evaluate, stop_gradient(unknowns.vector), goal, limit)
    arrays, joined = apart(args)

    def slope(x: Any, arrays: list[Any]) -> Any:
        given = joined(arrays)
        r, pull = vjp(lambda x: residuals(x, given), x)
        return pull(r)[0]

    x = solution("least_squares", xp, slope, reached.x, arrays, is_symmetric=True)
    r = residuals(x, args)
    return Minimum(
        unknowns.unpack(x),
        0.5 * xp.sum(r * r),
        reached.norm,
        reached.steps,
        reached.code == CONVERGED,
        reached.code,
    )


def _levenberg_marquardt(
    xp: Backend, evaluate: Callable[[Any], tuple[Any, Any]], x: Any, tol: float, limit: int
) -> Reached:
    """With Nielsen's rule for the damping, and Marquardt's scales: the largest column so far."""
    tiny = 1e-15 if xp.dtype_name(x.dtype) == "float64" else 1e-7

    def half_square(r: Any) -> Any:
        return 0.5 * xp.sum(r * r)

    def body(state: Any) -> Any:
        at, r, matrix, damping, growth, scales = state
        root = xp.sqrt(damping)
        size = int(x.shape[0])
        below = xp.eye(size, dtype=x.dtype, device=xp.device(x)) * (root * scales)
        zeros = xp.zeros((size,), dtype=x.dtype, device=xp.device(x))
        q, upper = qr(xp.concat([matrix, below], axis=0))
        right = xp.matmul(xp.matrix_transpose(q), xp.concat([r, zeros], axis=0))
        step = -solve(upper, right)
        linear = r + xp.matmul(matrix, step)
        predicted = at.value - half_square(linear)
        new_x = at.x + step
        new_r, new_matrix = evaluate(new_x)
        value = half_square(new_r)
        rounding = 10 * tiny * at.value
        below_it = predicted + rounding
        ratio = (at.value - value + rounding) / xp.where(below_it > 0, below_it, 1.0)
        ratio = xp.where(xp.isfinite(ratio), ratio, -1.0)
        is_taken = xp.logical_and(ratio > 0, xp.isfinite(xp.sum(new_matrix)))
        shrunk = xp.maximum(1.0 - (2.0 * ratio - 1.0) ** 3, xp.full_like(ratio, 1.0 / 3.0))
        # A damping of 0 would leave a singular matrix singular.
        shrunk = xp.maximum(damping * shrunk, xp.full_like(damping, tiny))
        damping = xp.where(is_taken, shrunk, damping * growth)
        growth = xp.where(is_taken, 2.0, 2.0 * growth)
        r, matrix = xp.where(is_taken, new_r, r), xp.where(is_taken, new_matrix, matrix)
        scales = xp.maximum(scales, xp.sqrt(xp.sum(matrix * matrix, axis=0)))
        g = xp.matmul(r, matrix)
        norm, steps = largest(xp, g), at.steps + 1
        moved = xp.sqrt(xp.sum(step * step))
        is_stuck = moved <= tiny * (xp.sqrt(xp.sum(at.x * at.x)) + tiny)
        value = xp.where(is_taken, value, at.value)
        code = progress(xp, norm, value, tol, steps, limit, is_stuck)
        new = Reached(xp.where(is_taken, new_x, at.x), value, g, norm, steps, code)
        return new, r, matrix, damping, growth, scales

    r, matrix = evaluate(x)
    g = xp.matmul(r, matrix)
    norm, zero = largest(xp, g), scalar(xp, x, 0, "int32")
    value = half_square(r)
    code = progress(xp, norm, value, tol, zero, limit, xp.zeros_like(norm) > 0)
    columns = xp.sqrt(xp.sum(matrix * matrix, axis=0))
    scales = xp.where(columns > 0, columns, 1.0)
    start = Reached(x, value, g, norm, zero, code)
    state = (start, r, matrix, xp.full_like(norm, 1e-3), xp.full_like(norm, 2.0), scales)
    return while_loop(lambda state: state[0].code == RUNNING, body, state)[0]
