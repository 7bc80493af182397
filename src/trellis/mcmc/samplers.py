"""The samplers: how a chain goes from one draw to the next."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .._array.control import fori_loop
from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._random.distributions import uniform
from .._random.keys import split
from ._dynamics import DIVERGENT, Density, Metric, Point, chosen, energy, leapfrog, pushed
from ._trees import grown


class Statistics(NamedTuple):
    """What is known of one transition."""

    acceptance: Any
    steps: Any
    depth: Any
    is_diverging: Any
    energy: Any


class Sampler(Protocol):
    """What `sample` needs of a sampler."""

    @property
    def target(self) -> float:
        """The mean acceptance to tune for."""

    @property
    def is_dense(self) -> bool:
        """Whether a covariance matrix is learned."""

    def transition(
        self, density: Density, key: Any, metric: Metric, step: Any, point: Point
    ) -> tuple[Point, Statistics]:
        """The next draw."""


@dataclass(frozen=True)
class NUTS:
    """The no-U-turn sampler: each trajectory doubles until it turns back.

    Multinomial sampling along the trajectory, with U-turns looked for in all its subtrees.

    Arguments:
        target: The mean acceptance that the step size is tuned for; nearer to 1 the steps are
            smaller, which helps where chains diverge.
        is_dense: Learn the whole covariance of the parameters, not only its diagonal.
        max_depth: A trajectory has at most 2 ** max_depth - 1 steps.

    >>> from trellis import mcmc
    >>> mcmc.NUTS(target=0.95)
    NUTS(target=0.95, is_dense=False, max_depth=10)
    """

    target: float = 0.8
    is_dense: bool = False
    max_depth: int = 10

    def __post_init__(self) -> None:
        _check_target(self.target)
        if not isinstance(self.max_depth, int) or not 1 <= self.max_depth <= 15:
            raise ArgumentError(f"max_depth is an integer from 1 to 15, got {self.max_depth!r}.")

    def transition(
        self, density: Density, key: Any, metric: Metric, step: Any, point: Point
    ) -> tuple[Point, Statistics]:
        """The next draw of a chain."""
        keys = split(key, 2)
        start = pushed(keys[0], metric, point)
        tree = grown(density, keys[1], metric, step, start, self.max_depth)
        statistics = Statistics(
            tree.acceptance / tree.steps,
            tree.steps,
            tree.depth,
            tree.is_diverging,
            energy(metric, start),
        )
        return tree.proposal, statistics


@dataclass(frozen=True)
class HMC:
    """Hamiltonian Monte Carlo with trajectories of one length.

    Arguments:
        steps: Leapfrog steps of a trajectory.
        target: The mean acceptance that the step size is tuned for.
        is_dense: Learn the whole covariance of the parameters, not only its diagonal.

    >>> from trellis import mcmc
    >>> mcmc.HMC(steps=32)
    HMC(steps=32, target=0.8, is_dense=False)
    """

    steps: int = 16
    target: float = 0.8
    is_dense: bool = False

    def __post_init__(self) -> None:
        _check_target(self.target)
        if not isinstance(self.steps, int) or self.steps < 1:
            raise ArgumentError(f"steps is a positive integer, got {self.steps!r}.")

    def transition(
        self, density: Density, key: Any, metric: Metric, step: Any, point: Point
    ) -> tuple[Point, Statistics]:
        """The next draw of a chain."""
        xp = xp_of(point.position)
        keys = split(key, 2)
        start = pushed(keys[0], metric, point)
        end = fori_loop(
            0, self.steps, lambda i, there: leapfrog(density, metric, there, step), start
        )
        before, after = energy(metric, start), energy(metric, end)
        acceptance = xp.exp(xp.minimum(before - after, xp.zeros_like(before)))
        kind = xp.dtype_name(point.position.dtype)
        is_accepted = uniform(keys[1], (), kind) < acceptance
        count = xp.zeros_like(acceptance)
        statistics = Statistics(
            acceptance, count + self.steps, count, after - before > DIVERGENT, before
        )
        return chosen(is_accepted, end, start), statistics


def _check_target(target: float) -> None:
    if not isinstance(target, (int, float)) or not 0 < target < 1:
        raise ArgumentError(f"target is a number between 0 and 1, got {target!r}.")
