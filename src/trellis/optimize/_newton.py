"""Newton's method for minima with products alone: truncated, along a line or in a trust region."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import while_loop
from .._core.typing import Backend
from .._gradients.transforms import stop_gradient, vjp
from ._line_search import Evaluate, wolfe_step
from ._linear import Product, length
from ._quasi_newton import Reached, begun, progress
from ._results import RUNNING
from ._vectors import largest, scalar

Gradient = Callable[[Any], Any]


class _Inner(NamedTuple):
    """Conjugate gradients inside a radius (Steihaug)."""

    step: Any
    residual: Any
    direction: Any
    rounds: Any
    is_done: Any


def curvature_of(gradient: Gradient, x: Any) -> Product:
    """Products with the second derivatives at `x`: symmetric, so by a pullback of the gradient."""
    pull = vjp(gradient, x)[1]
    return lambda w: stop_gradient(pull(w)[0])


def truncated(xp: Backend, product: Product, gradient: Any, radius: Any, rounds: int) -> Any:
    """About the minimum of the quadratic model within a radius; its edge where the model bends
    down."""
    norm = length(xp, gradient)
    goal = norm * xp.minimum(xp.sqrt(norm), xp.full_like(norm, 0.5))

    def edge(step: Any, direction: Any) -> Any:
        a, b = xp.sum(direction * direction), xp.sum(step * direction)
        c = xp.sum(step * step) - radius * radius
        root = xp.sqrt(xp.maximum(b * b - a * c, xp.zeros_like(a)))
        return step + (root - b) / xp.where(a > 0, a, 1.0) * direction

    def body(s: _Inner) -> _Inner:
        q = product(s.direction)
        curvature, rr = xp.sum(s.direction * q), xp.sum(s.residual * s.residual)
        is_bent = xp.logical_not(curvature > 0)
        alpha = rr / xp.where(is_bent, 1.0, curvature)
        inside = s.step + alpha * s.direction
        leaves = xp.logical_or(is_bent, length(xp, inside) >= radius)
        residual = s.residual + alpha * q
        step = xp.where(leaves, edge(s.step, s.direction), inside)
        beta = xp.sum(residual * residual) / xp.where(rr > 0, rr, 1.0)
        is_done = xp.logical_or(leaves, length(xp, residual) <= goal)
        return _Inner(step, residual, beta * s.direction - residual, s.rounds + 1, is_done)

    zero, no = scalar(xp, gradient, 0, "int32"), xp.zeros_like(norm) > 0
    start = _Inner(xp.zeros_like(gradient), gradient, -gradient, zero, no)
    last = while_loop(
        lambda s: xp.logical_and(xp.logical_not(s.is_done), s.rounds < rounds), body, start
    )
    return last.step


def newton_cg(
    xp: Backend, evaluate: Evaluate, gradient: Gradient, x: Any, tol: float, limit: int
) -> Reached:
    """Truncated Newton directions, and a step along each by the Wolfe conditions."""
    rounds = 2 * int(x.shape[0]) + 10

    def body(at: Reached) -> Reached:
        # A direction of negative curvature is followed for about the length of the gradient.
        radius = 1e3 * (1.0 + length(xp, at.x))
        step = truncated(xp, curvature_of(gradient, at.x), at.gradient, radius, rounds)
        is_downhill = xp.sum(step * at.gradient) < 0
        step = xp.where(is_downhill, step, -at.gradient)
        one = xp.ones_like(at.value)
        found = wolfe_step(xp, evaluate, at.x, at.value, at.gradient, step, one)
        norm, steps = largest(xp, found.gradient), at.steps + 1
        code = progress(xp, norm, found.value, tol, steps, limit, found.length == 0)
        new = at.x + found.length * step
        return Reached(new, found.value, found.gradient, norm, steps, code)

    start = begun(xp, evaluate, x, tol, limit)
    return while_loop(lambda at: at.code == RUNNING, body, start)


def trust_region(
    xp: Backend, evaluate: Evaluate, gradient: Gradient, x: Any, tol: float, limit: int
) -> Reached:
    """Newton steps within a radius that follows how well the model predicts the function."""
    rounds = 2 * int(x.shape[0]) + 10
    smallest = 1e-14 if xp.dtype_name(x.dtype) == "float64" else 1e-6

    def body(state: tuple[Reached, Any]) -> tuple[Reached, Any]:
        at, radius = state
        product = curvature_of(gradient, at.x)
        step = truncated(xp, product, at.gradient, radius, rounds)
        predicted = -(xp.sum(at.gradient * step) + 0.5 * xp.sum(step * product(step)))
        value, new_gradient = evaluate(at.x + step)
        # Near the minimum the decrease is lost in rounding, and the model is right.
        rounding = 10 * smallest * xp.abs(at.value)
        ratio = (at.value - value + rounding) / xp.where(
            predicted + rounding > 0, predicted + rounding, 1.0
        )
        ratio = xp.where(xp.isfinite(ratio), ratio, -1.0)
        is_taken = xp.logical_and(ratio > 1e-4, xp.isfinite(xp.sum(new_gradient)))
        size = length(xp, step)
        grown = xp.where(xp.logical_and(ratio > 0.75, size > 0.9 * radius), 2.0 * radius, radius)
        radius = xp.where(ratio < 0.25, 0.25 * size, grown)
        new = Reached(at.x + step, value, new_gradient, largest(xp, new_gradient), 0, 0)
        x, value, g, norm = [xp.where(is_taken, a, b) for a, b in zip(new[:4], at[:4], strict=True)]
        steps = at.steps + 1
        is_stuck = radius <= smallest * (length(xp, at.x) + smallest)
        code = progress(xp, norm, value, tol, steps, limit, is_stuck)
        return Reached(x, value, g, norm, steps, code), radius

    start = begun(xp, evaluate, x, tol, limit)
    radius = xp.ones_like(start.value)
    return while_loop(lambda state: state[0].code == RUNNING, body, (start, radius))[0]
