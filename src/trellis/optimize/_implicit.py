"""Derivatives of a solution by what its equations depend on, without those of the iterations.

Where F(x, a) = 0, dx/da = -(dF/dx)^-1 dF/da: one linear system for each backward pass, by products
with the matrix. It is solved by the same means, so that there are derivatives of any order.
"""

from collections.abc import Callable
from typing import Any

from .._core.errors import ArgumentError
from .._core.following import is_followed
from .._core.typing import Backend
from .._gradients.transforms import stop_gradient, vjp
from . import _linear
from ._results import CONVERGED
from ._rule import with_rule

# From the unknowns and the arrays that they depend on to as many numbers, 0 at the solution.
Equations = Callable[[Any, list[Any]], Any]


def solution(
    function: str,
    xp: Backend,
    equations: Equations,
    x: Any,
    arrays: list[Any],
    is_symmetric: bool = False,
) -> Any:
    """`x`, a vector that solves the equations, with its derivatives by `arrays`.

    Args:
        function: The public function, for messages.
        xp: The backend.
        equations: What is 0 at the solution.
        x: The solution.
        arrays: What the equations depend on; it may be differentiated.
        is_symmetric: Whether the derivative of the equations by x is a symmetric matrix.
    """
    found = stop_gradient(x)
    constants = [stop_gradient(a) for a in arrays]
    attached = _attached(xp, equations, found, arrays, is_symmetric)
    if is_followed():
        return attached
    # Zeros, whose derivative is asked for only if the equations use more than `arrays`.
    return attached + refusing(function, xp, equations(found, constants))


def refusing(function: str, xp: Backend, residual: Any) -> Any:
    def forward(leaves: list[Any]) -> list[Any]:
        return [xp.zeros_like(leaves[0])]

    def backward(leaves: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        raise ArgumentError(
            f"{function}() has gradients by args, and its function uses other arrays that are "
            "differentiated, whose gradients would be lost. Pass them in args:\n"
            f"    wrong:  {function}(lambda x: fn(x, a), x0)\n"
            f"    right:  {function}(fn, x0, args=(a,))"
        )

    return with_rule(xp, forward, backward, [residual])[0]


def _attached(
    xp: Backend, equations: Equations, x: Any, arrays: list[Any], is_symmetric: bool
) -> Any:
    def forward(leaves: list[Any]) -> list[Any]:
        return [leaves[0] + 0.0]  # not itself, which is a constant

    def backward(leaves: list[Any], ys: list[Any], upstream: list[Any]) -> list[Any]:
        found, *known = leaves
        point = stop_gradient(found)
        if not is_followed():  # for second derivatives; Dynamo would follow this without an end
            point = _attached(xp, equations, point, known, is_symmetric)
        u = _adjoint(xp, equations, [*known, point, upstream[0]], is_symmetric)
        places = [i for i, a in enumerate(known) if a.dtype in xp.FLOAT_DTYPES]

        def by_arrays(*floats: Any) -> Any:
            joined = list(known)
            for i, a in zip(places, floats, strict=True):
                joined[i] = a
            return equations(point, joined)

        gradients: list[Any] = [None for _ in known]
        if places:
            pulled = vjp(by_arrays, *[known[i] for i in places])[1](-u)
            for i, g in zip(places, pulled, strict=True):
                gradients[i] = g
        return [xp.zeros_like(found), *gradients]

    return with_rule(xp, forward, backward, [x, *arrays])[0]


def _adjoint(xp: Backend, equations: Equations, known: list[Any], is_symmetric: bool) -> Any:
    """The solution of the system with the transposed matrix, differentiable itself; nan if it is
    not found. `known` are the arrays, the point and the right-hand side."""
    *others, point, target = [stop_gradient(x) for x in known]
    pull = vjp(lambda x: equations(x, others), point)[1]

    def product(w: Any) -> Any:
        return stop_gradient(pull(w)[0])

    tol = 1e-12 if xp.dtype_name(target.dtype) == "float64" else 1e-6
    limit = 10 * int(target.shape[0]) + 10
    start = xp.zeros_like(target)
    if is_symmetric:
        ended = _linear.conjugate_gradients(xp, product, target, start, tol, limit, _same)
    else:
        ended = _linear.gmres(xp, product, target, start, tol, limit, _same, 10)
    # Rounding ends the iteration early where the matrix is ill-conditioned; what is far from the
    # solution is no derivative, and is not passed off as one.
    near = ended.norm <= 1e4 * tol * _linear.length(xp, target)
    u = xp.where(xp.logical_or(ended.code == CONVERGED, near), ended.x, float("nan"))
    if is_followed():
        return u

    def transposed(w: Any, known: list[Any]) -> Any:
        *others, point, target = known
        return vjp(lambda x: equations(x, others), point)[1](w)[0] - target

    return _attached(xp, transposed, stop_gradient(u), known, is_symmetric)


def _same(w: Any) -> Any:
    return w
