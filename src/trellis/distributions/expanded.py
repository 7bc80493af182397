"""Distributions whose batch shape is larger than that of their parameters."""

from typing import Any

from .._core.dispatch import xp_of
from .._core.shapes import broadcast_shapes
from .._core.typing import Array
from ._calling import Value
from .constraints import Constraint
from .distribution import Distribution


class Expanded(Distribution):
    """The distribution `base` with the batch shape `sizes`; `expand` makes it.

    Only distributions without an array among their parameters become one: an array is broadcast.

    >>> from trellis.distributions import Normal
    >>> Normal(0.0, 1.0).expand(3)
    Expanded(base=Normal(loc=0.0, scale=1.0), sizes=(3,))
    """

    _parts = ("base",)
    _constants = ("sizes",)

    def __init__(self, base: Distribution, sizes: tuple[int, ...]):
        self.base, self.sizes = base, sizes

    @property
    def has_rsample(self) -> bool:
        """That of the base."""
        return self.base.has_rsample

    @property
    def is_discrete(self) -> bool:
        """That of the base."""
        return self.base.is_discrete

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape it was expanded to."""
        return self.sizes

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        return self.base.event_shape

    @property
    def support(self) -> Constraint:
        """The set of the values that can be drawn."""
        return self.base.support

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        return Expanded(self.base, sizes)

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        return self.base._draw(key, sizes)

    def _wide(self, x: Any, event: tuple[int, ...] = ()) -> Any:
        return xp_of(x).broadcast_to(x, (*self.sizes, *event))

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density, or of the probability, at `x`."""
        return self._of_points(self.base.log_prob(x))

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        return self._of_points(self.base.cdf(x))

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        return self._of_points(self.base.icdf(p))

    def _of_points(self, found: Any) -> Any:
        return xp_of(found).broadcast_to(found, broadcast_shapes(tuple(found.shape), self.sizes))

    def entropy(self) -> Any:
        """The entropy in nats: the mean of `-log_prob` over draws."""
        return self._wide(self.base.entropy())

    @property
    def mean(self) -> Any:
        """The mean of the draws."""
        return self._wide(self.base.mean, self.event_shape)

    @property
    def variance(self) -> Any:
        """The variance of each element of the draws."""
        return self._wide(self.base.variance, self.event_shape)

    @property
    def mode(self) -> Any:
        """The value with the largest density or probability."""
        return self._wide(self.base.mode, self.event_shape)
