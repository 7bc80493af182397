"""From vectors without constraints to the set of a constraint."""

from typing import Any

from .._core.errors import ArgumentError, NotSupportedError
from . import constraints
from ._maps import Affine, Bijection, Compose, Exp, Identity, OverEvent, Sigmoid
from ._vector_maps import CorrelationCholesky, LowerCholesky, Ordered, StickBreaking
from .constraints import Constraint, interval


def biject_to(constraint: Constraint, /) -> Bijection:
    """A bijection from numbers without bounds to the set of `constraint`.

    It turns a problem with bounds, such as a fit or a sampler of a positive parameter, into one
    without.

    >>> from trellis.distributions import bijections, constraints
    >>> bijections.biject_to(constraints.unit_interval)(0.0).item()
    0.5
    """
    if not isinstance(constraint, Constraint):
        raise ArgumentError(f"biject_to() expects a constraint, got {constraint!r}.")
    if constraint.is_discrete:
        raise NotSupportedError(
            f"There is no bijection from the line to {constraint!r}: its numbers are whole."
        )
    if isinstance(constraint, interval):
        return _to_interval(constraint.low, constraint.high)
    for known, bijection in _KNOWN:
        if constraint is known:
            return bijection
    raise NotSupportedError(f"There is no bijection to {constraint!r}.")


def _to_interval(low: Any, high: Any) -> Bijection:
    if low is None and high is None:
        return Identity()
    if high is None:
        is_zero = not hasattr(low, "dtype") and low == 0
        return Exp() if is_zero else Compose([Exp(), Affine(low, 1.0)])
    if low is None:
        return Compose([Exp(), Affine(high, -1.0)])
    return Compose([Sigmoid(), Affine(low, high - low)])


_KNOWN: tuple[tuple[Constraint, Bijection], ...] = (
    (constraints.real, Identity()),
    (constraints.real_vector, OverEvent(Identity(), 1)),
    (constraints.real_matrix, OverEvent(Identity(), 2)),
    (constraints.positive_vector, OverEvent(Exp(), 1)),
    (constraints.simplex, StickBreaking()),
    (constraints.ordered, Ordered()),
    (constraints.lower_cholesky, LowerCholesky()),
    (constraints.correlation_cholesky, CorrelationCholesky()),
)
