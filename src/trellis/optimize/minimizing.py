"""`minimize`: minima of smooth functions without constraints."""

from collections.abc import Callable
from typing import Any

from .._core import tree
from .._core.errors import ShapeError
from .._gradients.transforms import stop_gradient, value_and_grad, vjp
from ._arguments import arguments, choice, count, positive
from ._implicit import solution
from ._newton import newton_cg, trust_region
from ._quasi_newton import limited_memory, matrix_memory, quasi_newton
from ._results import CONVERGED, Minimum
from ._vectors import apart, constant, packed

METHODS = ("lbfgs", "bfgs", "newton-cg", "trust-region")


def minimize(
    fn: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str = "lbfgs",
    tol: float | None = None,
    max_steps: int = 500,
    history: int = 10,
) -> Minimum:
    """The minimum of `fn(x, *args)` next to `x0`.

    Runs eagerly, compiled, and batched by `vmap`. The minimum is differentiable by whatever `fn`
    depends on: by `args`; arrays that `fn` closes over raise where they are
    differentiated. These gradients
    are those of the condition that the gradient is 0, one linear system by conjugate gradients, and
    not of the iterations; so they are as exact as the minimum is. They are nan where that system
    has no solution: at a minimum that is not isolated. `x0` has none.

    Args:
        fn: From the unknowns and `args` to one number.
        x0: Where to begin: a pytree of float32 or float64 arrays, all of one dtype.
        args: Further arguments of `fn`, pytrees of arrays.
        method: "lbfgs" (the last steps stand for the second derivatives), "bfgs" (a full matrix),
            "newton-cg" or "trust-region" (products with the second derivatives). The first three
            go along a line to a point that meets the strong Wolfe conditions.
        tol: It has converged when no element of the gradient is larger than this; None for 1e-8 in
            float64 and 1e-4 in float32.
        max_steps: The largest number of steps.
        history: How many steps "lbfgs" remembers.

    >>> import numpy as np, trellis
    >>> def fn(x, a):
    ...     return trellis.sum((x - a) ** 2) + trellis.sum(x) ** 2
    >>> found = trellis.optimize.minimize(fn, np.zeros(2), (np.array([2.0, 4.0]),))
    >>> abs(found.x - np.array([0.0, 2.0])).max() < 1e-6, found.message
    (np.True_, 'converged')
    """
    args = arguments("minimize", fn, args)
    choice("minimize", "method", method, METHODS)
    limit, history = (
        count("minimize", "max_steps", max_steps),
        count("minimize", "history", history),
    )
    unknowns = packed("minimize", "x0", x0, args)
    xp = unknowns.xp
    is_double = xp.dtype_name(unknowns.vector.dtype) == "float64"
    goal = (1e-8 if is_double else 1e-4) if tol is None else positive("minimize", "tol", tol)
    fixed = constant(args)

    def objective(x: Any, *given: Any) -> Any:
        value = fn(unknowns.unpack(x), *given)
        return _checked(value)

    differentiated = value_and_grad(objective)

    def evaluate(x: Any) -> tuple[Any, Any]:
        value, gradient = differentiated(x, *fixed)
        return stop_gradient(_scalar(xp, value)), stop_gradient(gradient)

    def gradient_of(x: Any) -> Any:
        return differentiated(x, *fixed)[1]

    start = stop_gradient(unknowns.vector)
    if method == "lbfgs":
        reached = quasi_newton(xp, evaluate, start, limited_memory(xp, history), goal, limit)
    elif method == "bfgs":
        reached = quasi_newton(xp, evaluate, start, matrix_memory(xp), goal, limit)
    else:
        steps = newton_cg if method == "newton-cg" else trust_region
        reached = steps(xp, evaluate, gradient_of, start, goal, limit)
    arrays, joined = apart(args)

    def slope(x: Any, arrays: list[Any]) -> Any:
        value, pull = vjp(lambda x: objective(x, *joined(arrays)), x)
        return pull(xp.ones_like(value))[0]

    x = solution("minimize", xp, slope, reached.x, arrays, is_symmetric=True)
    return Minimum(
        unknowns.unpack(x),
        objective(x, *args),
        reached.norm,
        reached.steps,
        reached.code == CONVERGED,
        reached.code,
    )


def _checked(value: Any) -> Any:
    size = 1
    for n in getattr(value, "shape", ()):
        size *= int(n)
    if size != 1 or tree.is_nest(value):
        raise ShapeError(
            "minimize() expects a function that returns one number, got "
            f"{'a ' + type(value).__name__ if tree.is_nest(value) else tuple(value.shape)}. "
            "Write trellis.sum(...) or trellis.mean(...) around the result, or use least_squares."
        )
    return value


def _scalar(xp: Any, value: Any) -> Any:
    return xp.reshape(value, ())
