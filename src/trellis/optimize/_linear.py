"""Iterations for linear equations, on vectors: only products with the matrix are needed."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import scan, while_loop
from .._array.linalg import qr, solve
from .._core.typing import Backend
from ._results import CONVERGED, EXHAUSTED, NOT_FINITE, RUNNING, STALLED
from ._vectors import scalar

Product = Callable[[Any], Any]


class Ended(NamedTuple):
    """A vector, the length of its residual, the steps and why they ended."""

    x: Any
    norm: Any
    steps: Any
    code: Any


def length(xp: Backend, vector: Any) -> Any:
    return xp.sqrt(xp.sum(vector * vector))


def code_of(xp: Backend, norm: Any, goal: Any, n: Any, limit: int, is_stuck: Any = None) -> Any:
    """Whether to go on, and if not, why."""
    running = xp.where(n >= limit, EXHAUSTED, RUNNING)
    if is_stuck is not None:
        running = xp.where(is_stuck, STALLED, running)
    running = xp.where(xp.isfinite(norm), running, NOT_FINITE)
    return xp.astype(xp.where(norm <= goal, CONVERGED, running), "int32")


def conjugate_gradients(
    xp: Backend, product: Product, b: Any, x: Any, tol: float, limit: int, precondition: Product
) -> Ended:
    """For symmetric positive definite matrices."""
    goal = tol * length(xp, b)
    r = b - product(x)
    z = precondition(r)
    zero = scalar(xp, b, 0, "int32")

    def body(state: Any) -> Any:
        x, r, p, rz, n, _ = state
        q = product(p)
        curvature = xp.sum(p * q)
        is_stuck = xp.logical_not(curvature > 0)
        step = xp.where(is_stuck, 0.0, rz / xp.where(is_stuck, 1.0, curvature))
        x, r = x + step * p, r - step * q
        z = precondition(r)
        new = xp.sum(r * z)
        p = z + xp.where(rz == 0, 0.0, new / xp.where(rz == 0, 1.0, rz)) * p
        n = n + 1
        return x, r, p, new, n, code_of(xp, length(xp, r), goal, n, limit, is_stuck)

    start = (x, r, z, xp.sum(r * z), zero, code_of(xp, length(xp, r), goal, zero, limit))
    x, r, _, _, n, code = while_loop(lambda state: state[-1] == RUNNING, body, start)
    return Ended(x, length(xp, r), n, code)


def bicgstab(
    xp: Backend, product: Product, b: Any, x: Any, tol: float, limit: int, precondition: Product
) -> Ended:
    """For any matrices, in little memory."""
    goal = tol * length(xp, b)
    r = b - product(x)
    shadow, zero, one = r, scalar(xp, b, 0, "int32"), scalar(xp, b, 1.0)

    def quotient(a: Any, b: Any) -> Any:
        return xp.where(b == 0, 0.0, a / xp.where(b == 0, 1.0, b))

    def body(state: Any) -> Any:
        x, r, p, v, rho, alpha, omega, n, _ = state
        new = xp.sum(shadow * r)
        beta = quotient(new, rho) * quotient(alpha, omega)
        p = r + beta * (p - omega * v)
        y = precondition(p)
        v = product(y)
        alpha = quotient(new, xp.sum(shadow * v))
        s = r - alpha * v
        z = precondition(s)
        t = product(z)
        omega = quotient(xp.sum(t * s), xp.sum(t * t))
        x, r = x + alpha * y + omega * z, s - omega * t
        n = n + 1
        is_stuck = xp.logical_or(alpha == 0, new == 0)
        return (
            x,
            r,
            p,
            v,
            new,
            alpha,
            omega,
            n,
            code_of(xp, length(xp, r), goal, n, limit, is_stuck),
        )

    nothing = xp.zeros_like(b)
    first = code_of(xp, length(xp, r), goal, zero, limit)
    start = (x, r, nothing, nothing, one, one, one, zero, first)
    x, r, *_, n, code = while_loop(lambda state: state[-1] == RUNNING, body, start)
    return Ended(x, length(xp, r), n, code)


def gmres(
    xp: Backend,
    product: Product,
    b: Any,
    x: Any,
    tol: float,
    limit: int,
    precondition: Product,
    restart: int,
) -> Ended:
    """For any matrices: the smallest residual in a Krylov space of `restart` dimensions, again
    and again."""
    size = int(b.shape[0])
    width = min(restart, size)
    goal = tol * length(xp, b)
    places = xp.arange(width + 1, device=xp.device(b))
    zero = scalar(xp, b, 0, "int32")

    def round_of(state: Any) -> Any:
        x, before, n, _ = state
        r = b - product(x)
        norm = length(xp, r)
        first = r / xp.where(norm == 0, 1.0, norm)
        basis = xp.where(xp.reshape(places == 0, (-1, 1)), first, 0.0)

        def add(basis: Any, k: Any) -> tuple[Any, Any]:
            here = xp.astype(places == k, b.dtype)
            w = product(precondition(xp.matmul(here, basis)))
            # Twice: once alone leaves the basis orthogonal only to half of the digits.
            h = xp.matmul(basis, w)
            w = w - xp.matmul(h, basis)
            again = xp.matmul(basis, w)
            w = w - xp.matmul(again, basis)
            rest = length(xp, w)
            # Nothing new in this direction: what is left is rounding.
            is_new = rest > 4 * _epsilon(xp, b) * length(xp, h)
            w = xp.where(is_new, w / xp.where(is_new, rest, 1.0), 0.0)
            basis = xp.where(xp.reshape(places == k + 1, (-1, 1)), w, basis)
            rest = xp.where(places == k + 1, xp.where(is_new, rest, 0.0), 0.0)
            return basis, h + again + rest

        basis, columns = scan(add, basis, places[:-1])
        target = xp.where(places == 0, norm, xp.zeros_like(basis[:, 0]))
        weights = _least(xp, xp.matrix_transpose(columns), target)
        x = x + precondition(xp.matmul(weights, basis[:-1]))
        left = length(xp, b - product(x))
        n = n + width
        is_stuck = left > 0.999 * before
        return x, left, n, code_of(xp, left, goal, n, limit, is_stuck)

    norm = length(xp, b - product(x))
    start = (x, norm, zero, code_of(xp, norm, goal, zero, limit))
    x, norm, n, code = while_loop(lambda state: state[-1] == RUNNING, round_of, start)
    return Ended(x, norm, n, code)


def _least(xp: Backend, matrix: Any, target: Any) -> Any:
    """The least squares solution; columns of zeros, which come last, get zeros."""
    q, upper = qr(matrix)
    eye = xp.eye(int(matrix.shape[1]), dtype=matrix.dtype, device=xp.device(matrix))
    is_empty = xp.sum(xp.abs(matrix), axis=0) == 0
    right = xp.where(is_empty, 0.0, xp.matmul(xp.matrix_transpose(q), target))
    return solve(upper + xp.where(is_empty, eye, 0.0), right)


def _epsilon(xp: Backend, x: Any) -> float:
    return 2.2e-16 if xp.dtype_name(x.dtype) == "float64" else 1.2e-7
