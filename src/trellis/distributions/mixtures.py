"""Mixtures: which of several distributions a draw is from is drawn first."""

from collections.abc import Sequence
from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError, ShapeError
from .._core.shapes import broadcast_shapes
from .._core.typing import Array
from .._random.choosing import categorical
from .._random.distributions import uniform
from .._random.keys import fold_in, split
from ..special import entr, expit, xlog1py
from . import constraints
from ._calling import Value, as_value, in_one_dtype, quietly
from .categorical import Categorical, log_probs
from .compound import Wrapping, check_distribution
from .constraints import Constraint
from .discrete import NegativeBinomial, Poisson
from .distribution import Distribution, rebuilt_with
from .parametric import INF, check_parameter
from .searching import implicit, quantile


class _Mixture(Distribution):
    """What mixtures have in common: the parts along one more axis, after those of the batch."""

    mixing: Categorical

    def _stacked(self, what: str, *at: Any) -> Any:
        """A property of all parts, or a method at points, along the axis of the parts."""
        raise NotImplementedError

    def _all_drawn(self, key: Array, sizes: tuple[int, ...]) -> Any:
        raise NotImplementedError

    @property
    def _first(self) -> Distribution:
        raise NotImplementedError

    @property
    def is_discrete(self) -> bool:
        """That of the parts."""
        return self._first.is_discrete

    @property
    def has_rsample(self) -> bool:
        """Whether the parts are continuous and of numbers, and know their cdf."""
        return not self.is_discrete and self.event_rank == 0 and self._has_cdf()

    def _has_cdf(self) -> bool:
        return type(self._first).cdf is not Distribution.cdf

    @property
    def event_shape(self) -> tuple[int, ...]:
        """That of the parts."""
        return self._first.event_shape

    @property
    def support(self) -> Constraint:
        """That of the first part."""
        return self._first.support

    def _logs(self) -> Any:
        """The log-weights of the parts."""
        probs, logits = self.mixing._values()
        xp = xp_of(probs if logits is None else logits)
        return quietly(xp, log_probs, probs, logits)

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        keys = split(key)
        chosen = categorical(keys[0, ...], self._logs(), shape=sizes)
        drawn = self._all_drawn(keys[1, ...], sizes)
        xp, rank = xp_of(drawn), self.event_rank
        count = drawn.shape[-1 - rank]
        is_chosen = xp.expand_dims(chosen, axis=-1) == xp.arange(count, dtype=chosen.dtype)
        for _ in range(rank):
            is_chosen = xp.expand_dims(is_chosen, axis=-1)
        zero = xp.zeros_like(drawn)
        return xp.sum(xp.where(is_chosen, drawn, zero), axis=-1 - rank, dtype=drawn.dtype)

    def rsample(self, key: Array, shape: Any = ()) -> Any:
        """Draws as those of `sample`, with gradients by all parameters, the weights too."""
        if not self.has_rsample:
            return super().rsample(key, shape)
        draws = self.sample(key, shape)
        return implicit(
            xp_of(draws), draws, lambda xp, x: self.cdf(x), lambda xp, x: self.log_prob(x), []
        )

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the density, or of the probability, at `x`."""
        xp, (at,), _ = in_one_dtype([x])
        logs = self._stacked("log_prob", at)
        xp, (logs, weights), _ = in_one_dtype([logs, self._logs()])
        return quietly(xp, _log_of_sum, logs + weights)

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        return self._weighted(self._stacked("cdf", in_one_dtype([x])[1][0]), 0)

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles, by a search."""
        if self.event_rank > 0:
            raise self._without("icdf")
        # A search that ends where the density does: the bounds of the parts may be different.
        xp, (at, _), _ = in_one_dtype([p, self._logs()])
        wide = xp.broadcast_to(at, broadcast_shapes(tuple(at.shape), self.batch_shape))
        return quietly(
            xp, lambda xp: quantile(
                xp, lambda xp, x: self.cdf(x), lambda xp, x: self.log_prob(x), wide, [],
                -1.0 if self.is_discrete else None, None, self.is_discrete,
            ),
        )  # fmt: skip

    @property
    def mean(self) -> Any:
        """The mean of the draws."""
        return self._weighted(self._stacked("mean"), self.event_rank)

    @property
    def variance(self) -> Any:
        """The mean of the variances, and the variance of the means."""
        rank = self.event_rank
        means = self._stacked("mean")
        apart = means - xp_of(means).expand_dims(self.mean, axis=-1 - rank)
        return self._weighted(self._stacked("variance") + apart * apart, rank)

    def _weighted(self, values: Any, rank: int) -> Any:
        xp, (values, logs), _ = in_one_dtype([values, self._logs()])
        weights = xp.exp(logs)
        for _ in range(rank):
            weights = xp.expand_dims(weights, axis=-1)
        return xp.sum(xp.where(weights > 0, weights * values, 0.0), axis=-1 - rank)


def _log_of_sum(xp: Any, logs: Any) -> Any:
    """Of exponentials along the last axis, all of which may be 0."""
    top = xp.stop_gradient(xp.max(logs, axis=-1, keepdims=True))
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.sum(xp.exp(logs - top), axis=-1)
    is_none = total == 0
    logs_of_total = xp.log(xp.where(is_none, 1.0, total)) + xp.squeeze(top, axis=-1)
    return xp.where(is_none, -INF, logs_of_total)


class MixtureSameFamily(_Mixture):
    """Mixture of the distributions along the last axis of the batch of `components`.

    `mixing` is a `Categorical` over that axis. Draws of numbers are differentiable in all
    parameters, the weights too.

    >>> import numpy as np
    >>> from trellis.distributions import Categorical, MixtureSameFamily, Normal
    >>> weights = Categorical(np.array([0.25, 0.75]))
    >>> MixtureSameFamily(weights, Normal(np.array([0.0, 4.0]), 1.0)).mean.item()
    3.0
    """

    _parts = ("mixing", "components")

    def __init__(self, mixing: Categorical, components: Distribution):
        _check_mixing("MixtureSameFamily", mixing)
        self.mixing, self.components = mixing, check_distribution("MixtureSameFamily", components)
        count = int(self._logs().shape[-1])
        if components.batch_shape[-1:] != (count,):
            raise ShapeError(
                f"MixtureSameFamily has {count} weights, so the batch of components must end with "
                f"{count}; it is {components.batch_shape}."
            )

    @property
    def _first(self) -> Distribution:
        return self.components

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """That of the components without its last axis, broadcast with that of the weights."""
        return broadcast_shapes(self.mixing.batch_shape, self.components.batch_shape[:-1])

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        count = self.components.batch_shape[-1]
        wide: Distribution = rebuilt_with(
            self, {"components": self.components.expand((*sizes, count))}
        )
        return wide

    def _all_drawn(self, key: Array, sizes: tuple[int, ...]) -> Any:
        return self.components._draw(key, (*sizes, self.components.batch_shape[-1]))

    def _stacked(self, what: str, *at: Any) -> Any:
        found = getattr(self.components, what)
        if not at:
            return found
        axis = -1 - (self.event_rank if what == "log_prob" else 0)
        return found(*[xp_of(x).expand_dims(x, axis=axis) for x in at])


class Mixture(_Mixture):
    """Mixture of the distributions of the list `components`, which may be of any families.

    `mixing` is a `Categorical` over them.

    >>> import numpy as np
    >>> from trellis.distributions import Categorical, Exponential, Mixture, Normal
    >>> weights = Categorical(np.array([0.25, 0.75]))
    >>> Mixture(weights, [Normal(0.0, 1.0), Exponential(0.25)]).mean.item()
    3.0
    """

    _parts = ("mixing", "components")

    def __init__(self, mixing: Categorical, components: Sequence[Distribution]):
        _check_mixing("Mixture", mixing)
        self.mixing = mixing
        self.components = tuple([check_distribution("Mixture", d) for d in components])
        count = int(self._logs().shape[-1])
        if len(self.components) != count:
            raise ShapeError(
                f"Mixture has {count} weights, so it needs as many components; got "
                f"{len(self.components)}."
            )
        events = [d.event_shape for d in self.components]
        if any([event != events[0] for event in events]):
            raise ShapeError(f"Mixture needs components of one event shape, got {events}.")

    @property
    def _first(self) -> Distribution:
        return self.components[0]

    def _has_cdf(self) -> bool:
        return all([type(d).cdf is not Distribution.cdf for d in self.components])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape to which the weights and the components broadcast."""
        return broadcast_shapes(self.mixing.batch_shape, *[d.batch_shape for d in self.components])

    def _expanded(self, sizes: tuple[int, ...]) -> Distribution:
        wide: Distribution = rebuilt_with(
            self, {"components": tuple([d.expand(sizes) for d in self.components])}
        )
        return wide

    def _all_drawn(self, key: Array, sizes: tuple[int, ...]) -> Any:
        drawn = [d._draw(fold_in(key, i), sizes) for i, d in enumerate(self.components)]
        return _in_a_row(drawn, -1 - self.event_rank)

    def _stacked(self, what: str, *at: Any) -> Any:
        found = []
        for d in self.components:
            value = getattr(d, what)
            found.append(value(*at) if at else value)
        return _in_a_row(found, -1 if at else -1 - self.event_rank)


def _in_a_row(found: list[Any], axis: int) -> Any:
    """Arrays of shapes and dtypes that broadcast, along a new axis."""
    xp, arrays = xp_of(found[0]), found
    if not xp.isdtype(found[0].dtype, "integral"):
        xp, arrays, _ = in_one_dtype(found)
    return xp.stack(list(xp.broadcast_arrays(*arrays)), axis=axis)


def _check_mixing(owner: str, mixing: object) -> None:
    if not isinstance(mixing, Categorical):
        raise ArgumentError(f"{owner} needs a Categorical for its weights, got {mixing!r}.")


class ZeroInflated(Wrapping):
    """The distribution `base` of counts with more zeros: with probability `gate` a draw is 0.

    `gate_logits`, the log-odds, can be given in place of `gate`.

    >>> from trellis.distributions import Poisson, ZeroInflated
    >>> ZeroInflated(Poisson(4.0), 0.25).mean.item()
    3.0
    """

    _parts = ("base", "gate", "gate_logits")
    gate: Any
    gate_logits: Any

    def __init__(
        self, base: Distribution, gate: Value | None = None, *, gate_logits: Value | None = None
    ):
        name = type(self).__name__
        self.base = check_distribution(name, base)
        if (gate is None) == (gate_logits is None):
            raise ArgumentError(f"{name} needs either gate or gate_logits.")
        if not base.is_discrete or base.event_rank > 0:
            raise ArgumentError(f"{name} is of counts; {base!r} is not.")
        self.gate = None if gate is None else as_value(name, "gate", gate, False)
        self.gate_logits = None
        if gate_logits is not None:
            self.gate_logits = as_value(name, "gate_logits", gate_logits, False)
        else:
            check_parameter(name, "gate", self.gate, constraints.unit_interval)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape to which the base and the gate broadcast."""
        shapes = [tuple(x.shape) for x in (self.gate, self.gate_logits) if hasattr(x, "shape")]
        return broadcast_shapes(self.base.batch_shape, *shapes)

    def _with_gate(self, *xs: Any) -> tuple[Any, ...]:
        xp, (*found, gate, logits), _ = in_one_dtype([*xs, self.gate, self.gate_logits])
        return xp, *found, expit(logits) if gate is None else gate

    def _draw(self, key: Array, sizes: tuple[int, ...]) -> Any:
        keys = split(key)
        drawn = self.base._draw(keys[1, ...], sizes)
        xp, (gate, logits), kind = in_one_dtype([self.gate, self.gate_logits], key)
        gate = expit(logits) if gate is None else gate
        is_zero = uniform(keys[0, ...], sizes, kind) < gate
        return xp.where(is_zero, xp.zeros_like(drawn), drawn)

    def log_prob(self, x: Value, /) -> Any:
        """The logarithm of the probability of `x`."""
        xp, at, logs, gate = self._with_gate(x, self.base.log_prob(x))
        return quietly(xp, _inflated, at, logs, gate)

    def cdf(self, x: Value, /) -> Any:
        """The probability of a draw up to `x`."""
        xp, at, share, gate = self._with_gate(x, self.base.cdf(x))
        return xp.where(at < 0, 0.0, gate + (1.0 - gate) * share)

    def icdf(self, p: Value, /) -> Any:
        """The smallest value whose `cdf` is at least `p`: quantiles."""
        xp, at, gate = self._with_gate(p)
        return quietly(xp, self._quantile, at, gate)

    def _quantile(self, xp: Any, p: Any, gate: Any) -> Any:
        share = (p - gate) / (1.0 - gate)
        # Rounding of the quotient must not pass a step of the cdf: the neighbour below decides.
        found = self.base.icdf(xp.maximum(share, xp.zeros_like(share)))
        return xp.where((found > 0) & (self.cdf(found - 1.0) >= p), found - 1.0, found)

    @property
    def mean(self) -> Any:
        """The mean of the draws."""
        _, mean, gate = self._with_gate(self.base.mean)
        return (1.0 - gate) * mean

    @property
    def variance(self) -> Any:
        """The variance of the draws."""
        _, mean, variance, gate = self._with_gate(self.base.mean, self.base.variance)
        return (1.0 - gate) * (variance + gate * mean * mean)

    def entropy(self) -> Any:
        """The entropy in nats: the mean of `-log_prob` over draws."""
        zero = self.base.log_prob(0)
        xp, entropy, zero, gate = self._with_gate(self.base.entropy(), zero)
        return quietly(xp, _inflated_entropy, entropy, zero, gate)

    @property
    def mode(self) -> Any:
        """The value with the largest probability: 0, or the mode of the base."""
        mode = self.base.mode
        logs = self.base.log_prob(mode)
        xp, mode, logs, zero, gate = self._with_gate(mode, logs, self.base.log_prob(0))
        at_zero = gate + (1.0 - gate) * xp.exp(zero)
        return xp.where(at_zero >= (1.0 - gate) * xp.exp(logs), xp.zeros_like(mode + gate), mode)


def _inflated_entropy(xp: Any, entropy: Any, zero: Any, gate: Any) -> Any:
    """That of the base without its 0, and the new 0."""
    share = xp.exp(zero)
    rest = entropy - entr(share) - xlog1py(1.0 - share, -gate)
    return entr(gate + (1.0 - gate) * share) + (1.0 - gate) * rest


def _inflated(xp: Any, x: Any, logs: Any, gate: Any) -> Any:
    at_zero = xp.log(gate + (1.0 - gate) * xp.exp(logs))
    return xp.where(x == 0, at_zero, xp.log1p(-gate) + logs)


class ZeroInflatedPoisson(ZeroInflated):
    """Poisson distribution with mean `rate` and more zeros: a draw is 0 with probability `gate`.

    >>> from trellis.distributions import ZeroInflatedPoisson
    >>> ZeroInflatedPoisson(0.25, 4.0).mean.item()
    3.0
    """

    def __init__(self, gate: Value, rate: Value):
        super().__init__(Poisson(rate), gate)


class ZeroInflatedNegativeBinomial(ZeroInflated):
    """Negative binomial distribution with more zeros: a draw is 0 with probability `gate`.

    `total_count` failures end the count, and `probs` is the probability of a success.

    >>> from trellis.distributions import ZeroInflatedNegativeBinomial
    >>> ZeroInflatedNegativeBinomial(0.25, 4.0, 0.5).mean.item()
    3.0
    """

    def __init__(self, gate: Value, total_count: Value, probs: Value):
        super().__init__(NegativeBinomial(total_count, probs), gate)
