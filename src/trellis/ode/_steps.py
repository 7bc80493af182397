"""One step of any method of `tableaus.py`, on vectors."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._array.control import while_loop
from .._array.linalg import inv
from .._core.typing import Backend
from .._gradients.transforms import jac, stop_gradient
from ..optimize._vectors import scalar
from .tableaus import Tableau

# f(t, y), both native arrays.
Field = Callable[[Any, Any], Any]
_NEWTON_ROUNDS = 10


class Step(NamedTuple):
    """The end of a step.

    Attributes:
        y: The new point.
        f: The field there.
        stages: All stages, those that a polynomial needs too.
        is_solved: Whether the equations of an implicit method were solved.
    """

    y: Any
    f: Any
    stages: list[Any]
    is_solved: Any


def quiet(tableau: Tableau, field: Field) -> Field:
    """The field as a constant for all gradients; implicit steps differentiate it themselves, and
    stop what they compute."""
    if tableau.diagonal != 0:
        return field
    return lambda t, y: stop_gradient(field(t, y))


def weighted(row: Any, stages: list[Any]) -> Any:
    """The sum of stages with the weights of a row of a tableau; None if all of them are 0."""
    total = None
    for weight, k in zip(row, stages, strict=False):
        if weight != 0:
            part = weight * k
            total = part if total is None else total + part
    return total


def explicit_step(
    field: Field, tableau: Tableau, t: Any, y: Any, f: Any, h: Any, is_dense: bool, yes: Any
) -> Step:
    """A step of a method without equations; `f` is the field at its beginning."""
    stages, new = [f], y
    for i in range(1, len(tableau.a) if is_dense else tableau.last + 1):
        point = y + h * weighted(tableau.a[i], stages)
        if i == tableau.last:
            new = point
        stages.append(field(t + tableau.c[i] * h, point))
    return Step(new, stages[tableau.last], stages, yes)


def implicit_step(
    xp: Backend,
    field: Field,
    tableau: Tableau,
    t: Any,
    y: Any,
    f: Any,
    h: Any,
    tolerance: Any,
    mode: str = "",
) -> Step:
    """A step of a method with one system of equations in each stage, by simplified Newton steps
    with the derivative at the beginning of the step.

    Args:
        xp: The backend.
        field: The right-hand side.
        tableau: The method.
        t: The time.
        y: The point.
        f: The field there.
        h: The length of the step.
        tolerance: How large an error of each number may be.
        mode: How the step will be differentiated: "once", to "any" order, or "" for not at all.
            Stages end with Newton steps by the derivative at the solution, whose derivative is that
            of the solution; after two of them, if nothing is cut off, the second one is too.
    """
    steady, eye = stop_gradient(h), xp.eye(int(y.shape[0]), dtype=y.dtype, device=xp.device(y))
    reach = tableau.diagonal * steady

    def inverse(t: Any, y: Any, reach: Any) -> Any:
        return inv(eye - reach * jac(lambda y: field(t, y))(y))

    near = stop_gradient(inverse(stop_gradient(t), stop_gradient(y), reach))
    stages, yes = [f], xp.ones_like(steady) > 0
    is_solved = yes
    for i in range(1, len(tableau.a)):
        when = t + tableau.c[i] * h
        base = y + h * weighted(tableau.a[i], stages)
        fixed_when, fixed_base = stop_gradient(when), stop_gradient(base)

        def body(state: Any, when: Any = fixed_when, base: Any = fixed_base) -> Any:
            k, _, before, n, _ = state
            change = stop_gradient(xp.matmul(near, field(when, base + reach * k) - k))
            size = xp.max(xp.abs(reach * change) / tolerance)
            is_slow = xp.logical_and(n > 0, xp.logical_not(size < 2.0 * before))
            return k + change, size <= 0.01, size, n + 1, is_slow

        zero = scalar(xp, y, 0, "int32")
        no = xp.logical_not(yes)
        # From where the derivative belongs to: the point before the step.
        guess = (stop_gradient(y) - fixed_base) / reach
        start = (guess, no, xp.ones_like(steady), zero, no)
        k, is_found, *_ = while_loop(_goes_on(xp), body, start)
        k, is_solved = stop_gradient(k), xp.logical_and(is_solved, is_found)
        if mode:
            k = _differentiable(xp, field, inverse, when, base, tableau.diagonal * h, k, mode)
        stages.append(k)
    new = y + h * weighted(tableau.b, stages)
    return Step(new, stages[tableau.last], stages, is_solved)


def _differentiable(
    xp: Backend,
    field: Field,
    inverse: Callable[[Any, Any, Any], Any],
    when: Any,
    base: Any,
    reach: Any,
    k: Any,
    mode: str,
) -> Any:
    """The stage `k`, a constant, with its derivatives."""
    exact = inverse(when, base + reach * k, reach)
    if mode == "once":
        exact = stop_gradient(exact)
    for _ in range(2):
        point = stop_gradient(k) if mode == "once" else k
        k = point + xp.matmul(exact, field(when, base + reach * point) - point)
    return k


def _goes_on(xp: Backend) -> Callable[[Any], Any]:
    def goes_on(state: Any) -> Any:
        _, is_found, _, n, is_slow = state
        is_over = xp.logical_or(xp.logical_or(is_found, is_slow), n >= _NEWTON_ROUNDS)
        return xp.logical_not(is_over)

    return goes_on


def step(
    xp: Backend,
    field: Field,
    tableau: Tableau,
    t: Any,
    y: Any,
    f: Any,
    h: Any,
    tolerance: Any,
    is_dense: bool,
    mode: str = "",
) -> Step:
    """A step of either kind."""
    if tableau.diagonal == 0:
        return explicit_step(field, tableau, t, y, f, h, is_dense, xp.ones_like(h) > 0)
    return implicit_step(xp, field, tableau, t, y, f, h, tolerance, mode)


def error_of(xp: Backend, tableau: Tableau, h: Any, stages: list[Any], tolerance: Any) -> Any:
    """The estimated error over the tolerance, as a root mean square."""
    sizes = []
    for row in tableau.errors:
        parts = h * weighted(row, stages) / tolerance
        sizes.append(xp.mean(parts * parts))
    if len(sizes) == 1:
        return xp.sqrt(sizes[0])
    # Hairer, Norsett and Wanner, II.10.
    below = sizes[0] + 0.01 * sizes[1]
    return sizes[0] / xp.sqrt(xp.where(below > 0, below, 1.0))


def polynomial(xp: Backend, tableau: Tableau, h: Any, stages: list[Any]) -> Any:
    """The coefficients of y(t + s h) - y(t) by the powers of s, from 1 on: one row for each."""
    return xp.stack([h * weighted(row, stages) for row in tableau.polynomial], axis=0)


def evaluated(xp: Backend, coefficients: Any, s: Any) -> Any:
    """The polynomial at some s: a row for each."""
    total, power = [], s
    for _ in range(int(coefficients.shape[0])):
        total.append(power)
        power = power * s
    return xp.matmul(xp.stack(total, axis=-1), coefficients)
