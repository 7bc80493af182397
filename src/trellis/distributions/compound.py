"""Distributions made of one other: events of several axes, transformed, a constant."""

from collections.abc import Sequence
from typing import Any, ClassVar

from .._core.dispatch import xp_of
from .._core.errors import ArgumentTypeError, ShapeError
from .._core.typing import Array
from . import constraints
from ._calling import Value, as_value, in_one_dtype, quietly
from ._maps import Bijection, Compose, summed
from .constraints import Constraint
from .distribution import Distribution, rebuilt_with
from .expanded import Expanded
from .parametric import INF, NAN


def check_distribution(owner: str, value: object) -> Distribution:
    """Raise for anything that is no distribution."""
    if not isinstance(value, Distribution):
        raise ArgumentTypeError(
            f"{owner} is made of distributions, such as Normal(0.0, 1.0); got {value!r}."
        )
    return value


class Wrapping(Distribution):
    """A distribution that has the batch shape, the parameters and the kind of another, `base`.

    >>> from trellis.distributions import Expanded, Normal
    >>> Normal(0.0, 1.0).expand(2).base
    Normal(loc=0.0, scale=1.0)
    """

    _parts: ClassVar[tuple[str, ...]] = ("base",)
    base: Distribution

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
        """That of the base."""
        return self.base.batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """That of the base."""
        return self.base.event_shape

    @property
    def support(self) -> Constraint:
        """That of the base."""
        return self.base.support

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        expanded: Distribution = rebuilt_with(self, {"base": self.base.expand(sizes)})
        return expanded


class Independent(Wrapping):
    """The distribution `base` with its last `rank` axes of the batch as axes of the event.

    A draw is the whole of them, and its log-probability the sum over them.

    >>> import numpy as np
    >>> from trellis.distributions import Independent, Normal
    >>> d = Independent(Normal(np.zeros(3), 1.0), 1)
    >>> d.batch_shape, d.event_shape
    ((), (3,))
    """

    _constants = ("rank",)

    def __init__(self, base: Distribution, rank: int = 1):
        self.base, self.rank = check_distribution("Independent", base), rank
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 0:
            raise ArgumentTypeError(f"Independent expects a number of axes for rank, got {rank!r}.")
        if rank > len(base.batch_shape):
            raise ShapeError(
                f"Independent takes {rank} axes of the batch, but the batch shape is "
                f"{base.batch_shape}. expand() gives it more axes."
            )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """That of the base, without its last axes."""
        sizes = self.base.batch_shape
        return sizes[: len(sizes) - self.rank]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The last axes of the base's batch, and its event."""
        sizes = self.base.batch_shape
        return (*sizes[len(sizes) - self.rank :], *self.base.event_shape)

    @property
    def support(self) -> Constraint:
        """That of each element of an event."""
        return self.base.support

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        own = self.base.batch_shape
        return Independent(self.base.expand((*sizes, *own[len(own) - self.rank :])), self.rank)

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        own = self.base.batch_shape
        return self.base._draw(key, (*sizes, *own[len(own) - self.rank :]))

    def log_prob(self, x: Value, /) -> Any:
        """The sum of the log-probabilities of the elements of `x`."""
        return summed(self.base.log_prob(x), self.rank)

    def entropy(self) -> Any:
        """The sum of the entropies of the elements."""
        return summed(self.base.entropy(), self.rank)

    @property
    def mean(self) -> Any:
        """The mean of each element."""
        return self.base.mean

    @property
    def variance(self) -> Any:
        """The variance of each element."""
        return self.base.variance

    @property
    def mode(self) -> Any:
        """The mode of each element."""
        return self.base.mode


class Transformed(Wrapping):
    """Distribution of the images of draws of `base` under a bijection, or under several in order.

    `bijections` is one of `trellis.distributions.bijections`, or a list. A bijection of vectors
    takes axes of the batch as those of an event where the base has none. With bijections that have
    parameters this is a normalising flow.

    >>> from trellis.distributions import Normal, Transformed, bijections
    >>> d = Transformed(Normal(0.0, 1.0), [bijections.Exp(), bijections.Affine(1.0, 2.0)])
    >>> d.icdf(0.5).item()
    3.0
    """

    _parts = ("base", "bijection")

    def __init__(self, base: Distribution, bijections: Bijection | Sequence[Bijection]):
        check_distribution("Transformed", base)
        self.bijection = bijections if isinstance(bijections, Bijection) else Compose(bijections)
        missing = self.bijection.ranks[0] - base.event_rank
        self.base = Independent(base, missing) if missing > 0 else base

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of the image of an event of the base."""
        return self.bijection.shape_of(self.base.event_shape)

    @property
    def support(self) -> Constraint:
        """All numbers, or vectors: those that are no images have no probability."""
        return (constraints.real, constraints.real_vector, constraints.real_matrix)[
            min(self.event_rank, 2)
        ]

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        return self.bijection(self.base._draw(key, sizes))

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density at `x`, by what the base has at the point before it."""
        xp, (y,), _ = in_one_dtype([x])
        return quietly(xp, self._log_prob, y)

    def _log_prob(self, xp: Any, y: Any) -> Any:
        before = self.bijection.inverse(y)
        rank = self.base.event_rank - self.bijection.ranks[0]
        if len(self.event_shape) > 0:
            return self.base.log_prob(before) - summed(self.bijection.log_det(before), rank)
        is_image = before == before
        safe = xp.where(is_image, before, 0.5)
        found = self.base.log_prob(safe) - self.bijection.log_det(safe)
        # At the end of the support the map is infinitely steep, or its point is infinitely far.
        is_image = is_image & (found == found)
        return xp.where(is_image, found, xp.where(xp.isnan(y), NAN, -INF))

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        if self.event_rank > 0:
            raise self._without("cdf")
        xp, (y,), _ = in_one_dtype([x])
        return quietly(xp, self._cdf, y)

    def _cdf(self, xp: Any, y: Any) -> Any:
        before = self.bijection.inverse(y)
        is_image = before == before
        safe = xp.where(is_image, before, 0.5)
        share = self.base.cdf(safe)
        share = xp.where(self.bijection.slope(safe) < 0, 1.0 - share, share)
        # What is no image lies below all images or above them.
        is_above = y > self.bijection(xp.full_like(safe, 0.5))
        outside = xp.where(is_above, 1.0, xp.where(xp.isnan(y), NAN, xp.zeros_like(share)))
        return xp.where(is_image, share, outside)

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        if self.event_rank > 0:
            raise self._without("icdf")
        xp, (at,), _ = in_one_dtype([p])
        inner = xp.full_like(at, 0.5)
        falls = self.bijection.slope(inner) < 0
        return self.bijection(self.base.icdf(xp.where(falls, 1.0 - at, at)))


class Delta(Distribution):
    """Distribution that always draws `value`, whose last `rank` axes are those of an event.

    >>> from trellis.distributions import Delta
    >>> Delta(2.0).log_prob(2.0).item()
    0.0
    """

    _parts = ("value",)
    _constants = ("rank",)
    _has_rsample = True
    _is_discrete = True

    def __init__(self, value: Value, rank: int = 0):
        self.value, self.rank = as_value("Delta", "value", value, False), rank

    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.value.shape) if hasattr(self.value, "shape") else ()

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the value, without the axes of an event."""
        sizes = self._sizes()
        return sizes[: len(sizes) - self.rank]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The last axes of the value."""
        sizes = self._sizes()
        return sizes[len(sizes) - self.rank :]

    @property
    def support(self) -> Constraint:
        """All numbers: only the value has a probability."""
        return constraints.real

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        if not hasattr(self.value, "shape"):
            return Expanded(self, sizes)
        wide = xp_of(self.value).broadcast_to(self.value, (*sizes, *self.event_shape))
        return Delta(wide, self.rank)

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        xp, (value,), _ = in_one_dtype([self.value], key)
        return xp.broadcast_to(value, (*sizes, *self.event_shape))

    def log_prob(self, x: Value, /) -> Any:
        """0 where `x` is the value, and minus infinity elsewhere."""
        xp, (at, value), _ = in_one_dtype([x, self.value])
        return summed(xp.where(at == value, xp.zeros_like(at), -INF), self.rank)

    def cdf(self, x: Value, /) -> Any:
        """0 below the value, and 1 from there on."""
        xp, (at, value), _ = in_one_dtype([x, self.value])
        return xp.where(at >= value, xp.ones_like(at), 0.0)

    def icdf(self, p: Value, /) -> Any:
        """The value, for every `p`."""
        xp, (at, value), _ = in_one_dtype([p, self.value])
        return value + xp.zeros_like(at)

    def entropy(self) -> Any:
        """0: every draw is the same."""
        xp, (value,), _ = in_one_dtype([self.value])
        return xp.zeros(self.batch_shape, dtype=value.dtype, device=xp.device(value))

    @property
    def mean(self) -> Any:
        """The value."""
        return in_one_dtype([self.value])[1][0]

    @property
    def variance(self) -> Any:
        """0."""
        xp, (value,), _ = in_one_dtype([self.value])
        return xp.zeros_like(value)

    @property
    def mode(self) -> Any:
        """The value."""
        return self.mean
