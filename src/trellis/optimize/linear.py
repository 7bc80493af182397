"""`linear_solve`, `cg`, `gmres` and `bicgstab`: linear equations by products with their matrix."""

from collections.abc import Callable
from typing import Any

from .._core.arrays import is_array, shape_of
from .._core.errors import ShapeError
from .._core.kinds import check_callable
from .._gradients.transforms import stop_gradient
from . import _linear
from ._arguments import arguments, choice, count, positive
from ._implicit import solution
from ._results import CONVERGED, Root
from ._vectors import Packed, apart, constant, flat_like, packed

METHODS = ("cg", "gmres", "bicgstab")


def linear_solve(
    operator: Any,
    b: Any,
    x0: Any = None,
    args: tuple[Any, ...] = (),
    *,
    method: str = "gmres",
    tol: float | None = None,
    max_steps: int | None = None,
    preconditioner: Callable[[Any], Any] | None = None,
    restart: int = 20,
) -> Root:
    """The `x` with operator(x, *args) = b, for a linear operator: no matrix is needed.

    Differentiable by `b` and `args`: one more system, with the transposed operator. A matrix in
    place of the operator counts as one of `args`.

    Args:
        operator: A linear function of a pytree like `b` and `args`; or a matrix.
        b: The right-hand side: a pytree of float32 or float64 arrays, all of one dtype.
        x0: Where to begin; None for zeros.
        args: Further arguments of the operator, pytrees of arrays.
        method: "cg" for symmetric positive definite operators, "gmres" for all, "bicgstab" for all
            in less memory.
        tol: It has converged when the residual is no longer than this times `b`; None for 1e-10 in
            float64 and 1e-5 in float32.
        max_steps: The largest number of products, or of pairs of them; None for ten times the
            number of unknowns.
        preconditioner: About the inverse of the operator, a linear function.
        restart: How many vectors "gmres" keeps before it starts again.

    >>> import numpy as np, trellis
    >>> found = trellis.optimize.linear_solve(lambda x: 2 * x, np.array([2.0, 4.0]))
    >>> found.x
    array([1., 2.])
    """
    choice("linear_solve", "method", method, METHODS)
    return _solved(
        "linear_solve", operator, b, x0, args, method, tol, max_steps, preconditioner, restart
    )


def cg(
    operator: Any,
    b: Any,
    x0: Any = None,
    args: tuple[Any, ...] = (),
    *,
    tol: float | None = None,
    max_steps: int | None = None,
    preconditioner: Callable[[Any], Any] | None = None,
) -> Root:
    """`linear_solve` by conjugate gradients, for symmetric positive definite operators.

    Args:
        operator: A linear function of a pytree like `b` and `args`; or a matrix.
        b: The right-hand side: a pytree of float32 or float64 arrays, all of one dtype.
        x0: Where to begin; None for zeros.
        args: Further arguments of the operator, pytrees of arrays.
        tol: As in `linear_solve`.
        max_steps: As in `linear_solve`.
        preconditioner: About the inverse of the operator, symmetric positive definite too.

    >>> import numpy as np, trellis
    >>> a = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> trellis.optimize.cg(a, np.array([3.0, 4.0])).x.round(9)
    array([1., 1.])
    """
    return _solved("cg", operator, b, x0, args, "cg", tol, max_steps, preconditioner, 20)


def gmres(
    operator: Any,
    b: Any,
    x0: Any = None,
    args: tuple[Any, ...] = (),
    *,
    tol: float | None = None,
    max_steps: int | None = None,
    preconditioner: Callable[[Any], Any] | None = None,
    restart: int = 20,
) -> Root:
    """`linear_solve` by the generalised minimal residual.

    Args:
        operator: A linear function of a pytree like `b` and `args`; or a matrix.
        b: The right-hand side: a pytree of float32 or float64 arrays, all of one dtype.
        x0: Where to begin; None for zeros.
        args: Further arguments of the operator, pytrees of arrays.
        tol: As in `linear_solve`.
        max_steps: As in `linear_solve`.
        preconditioner: About the inverse of the operator.
        restart: How many vectors are kept before it starts again.

    >>> import numpy as np, trellis
    >>> a = np.array([[2.0, 1.0], [-1.0, 3.0]])
    >>> trellis.optimize.gmres(a, np.array([3.0, 2.0])).x.round(9)
    array([1., 1.])
    """
    return _solved("gmres", operator, b, x0, args, "gmres", tol, max_steps, preconditioner, restart)


def bicgstab(
    operator: Any,
    b: Any,
    x0: Any = None,
    args: tuple[Any, ...] = (),
    *,
    tol: float | None = None,
    max_steps: int | None = None,
    preconditioner: Callable[[Any], Any] | None = None,
) -> Root:
    """`linear_solve` by stabilised biconjugate gradients.

    Args:
        operator: A linear function of a pytree like `b` and `args`; or a matrix.
        b: The right-hand side: a pytree of float32 or float64 arrays, all of one dtype.
        x0: Where to begin; None for zeros.
        args: Further arguments of the operator, pytrees of arrays.
        tol: As in `linear_solve`.
        max_steps: As in `linear_solve`.
        preconditioner: About the inverse of the operator.

    >>> import numpy as np, trellis
    >>> a = np.array([[2.0, 1.0], [-1.0, 3.0]])
    >>> trellis.optimize.bicgstab(a, np.array([3.0, 2.0])).x.round(9)
    array([1., 1.])
    """
    return _solved(
        "bicgstab", operator, b, x0, args, "bicgstab", tol, max_steps, preconditioner, 20
    )


def _solved(
    function: str,
    operator: Any,
    b: Any,
    x0: Any,
    args: tuple[Any, ...],
    method: str,
    tol: float | None,
    max_steps: int | None,
    preconditioner: Callable[[Any], Any] | None,
    restart: int,
) -> Root:
    if is_array(operator):
        args, operator = (operator, *args), _product
    args = arguments(function, operator, args)
    unknowns = packed(function, "b", b, args)
    xp, size = unknowns.xp, int(unknowns.vector.shape[0])
    is_double = xp.dtype_name(unknowns.vector.dtype) == "float64"
    goal = (1e-10 if is_double else 1e-5) if tol is None else positive(function, "tol", tol)
    limit = 10 * size if max_steps is None else count(function, "max_steps", max_steps)
    restart = count(function, "restart", restart)
    fixed = constant(args)

    def product(x: Any, given: Any) -> Any:
        found = operator(unknowns.unpack(x), *given)
        return flat_like(function, "the operator", unknowns, found, size)

    def still(x: Any) -> Any:
        return stop_gradient(product(x, fixed))

    precondition = _preconditioner(function, unknowns, preconditioner, size)
    target = stop_gradient(unknowns.vector)
    start = xp.zeros_like(target) if x0 is None else _start(function, unknowns, x0)
    if method == "cg":
        ended = _linear.conjugate_gradients(xp, still, target, start, goal, limit, precondition)
    elif method == "gmres":
        ended = _linear.gmres(xp, still, target, start, goal, limit, precondition, restart)
    else:
        ended = _linear.bicgstab(xp, still, target, start, goal, limit, precondition)
    arrays, joined = apart(args)

    def equations(x: Any, known: list[Any]) -> Any:
        return product(x, joined(known[:-1])) - known[-1]

    known = [*arrays, unknowns.vector]
    x = solution(function, xp, equations, ended.x, known, is_symmetric=method == "cg")
    return Root(unknowns.unpack(x), ended.norm, ended.steps, ended.code == CONVERGED, ended.code)


def _product(x: Any, matrix: Any) -> Any:
    from .._array.linalg import matmul

    if len(shape_of(matrix)) != 2:
        raise ShapeError(f"A linear operator is a function or a matrix, got {shape_of(matrix)}.")
    return matmul(matrix, x)


def _preconditioner(
    function: str, unknowns: Packed, preconditioner: Any, size: int
) -> _linear.Product:
    if preconditioner is None:
        return lambda x: x
    check_callable(function, preconditioner)

    def precondition(x: Any) -> Any:
        found = preconditioner(unknowns.unpack(x))
        return stop_gradient(flat_like(function, "preconditioner", unknowns, found, size))

    return precondition


def _start(function: str, unknowns: Packed, x0: Any) -> Any:
    found = packed(function, "x0", x0).vector
    if found.shape != unknowns.vector.shape:
        raise ShapeError(f"{function}() expects an x0 with as many numbers as b.")
    return stop_gradient(found)
