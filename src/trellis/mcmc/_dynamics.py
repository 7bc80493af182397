"""Hamiltonian dynamics: points of phase space, the metric of momenta, and leapfrog steps."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._core import tree
from .._core.dispatch import xp_of
from .._random.distributions import normal

# The log density of a vector, and its gradient.
Density = Callable[[Any], tuple[Any, Any]]
# In place of infinite energies: differences of these are numbers.
MOST_ENERGY = 1e30
# Above this error of the energy a trajectory has left the typical set and does not come back.
DIVERGENT = 1000.0


class Point(NamedTuple):
    """Where a chain is, what its density is there, and where it goes."""

    position: Any
    momentum: Any
    log_density: Any
    gradient: Any


class Metric(NamedTuple):
    """Covariance of positions as learned: a vector (the diagonal) or a matrix."""

    covariance: Any
    # Momenta are this times standard normal numbers: the root of the inverse of the covariance.
    root: Any


def chosen(condition: Any, first: Any, second: Any) -> Any:
    """The leaves of the first pytree where the condition holds, else those of the second."""
    xp = xp_of(condition)
    return tree.map(lambda x, y: xp.where(condition, x, y), first, second)


def velocity(metric: Metric, momentum: Any) -> Any:
    """The rate of the position; of many momenta along axis 0 at once, too."""
    if len(metric.covariance.shape) == 1:
        return metric.covariance * momentum
    return xp_of(momentum).matmul(momentum, metric.covariance)


def energy(metric: Metric, point: Point) -> Any:
    """Potential and kinetic energy, finite also where the density is zero or nan."""
    xp = xp_of(point.position)
    kinetic = 0.5 * xp.sum(point.momentum * velocity(metric, point.momentum))
    total = kinetic - point.log_density
    return xp.where(xp.isfinite(total), total, xp.zeros_like(total) + MOST_ENERGY)


def begin(density: Density, position: Any) -> Point:
    """A point at rest."""
    xp = xp_of(position)
    log_density, gradient = density(position)
    return Point(position, xp.zeros_like(position), log_density, gradient)


def pushed(key: Any, metric: Metric, point: Point) -> Point:
    """The point with a new random momentum."""
    xp = xp_of(point.position)
    noise = normal(key, tuple(point.position.shape), xp.dtype_name(point.position.dtype))
    is_diagonal = len(metric.root.shape) == 1
    return point._replace(
        momentum=metric.root * noise if is_diagonal else xp.matmul(metric.root, noise)
    )


def leapfrog(density: Density, metric: Metric, point: Point, step: Any) -> Point:
    """One step of the dynamics; a negative one goes back in time."""
    half = point.momentum + 0.5 * step * point.gradient
    position = point.position + step * velocity(metric, half)
    log_density, gradient = density(position)
    return Point(position, half + 0.5 * step * gradient, log_density, gradient)
