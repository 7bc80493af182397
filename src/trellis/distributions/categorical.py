"""One of several categories, by number or as a vector with one 1."""

from typing import Any

from .._core.shapes import broadcast_shapes
from .._core.typing import Array, Backend
from .._random.choosing import categorical
from .._random.distributions import gumbel
from ..special import gammaln, log_expit, logit, xlogy
from . import constraints
from ._calling import Value
from ._discrete import as_integers, one_hot
from .constraints import Constraint
from .location_scale import open_uniform
from .parametric import INF, Parametric, named

VECTORS = {"probs": constraints.simplex, "logits": constraints.real_vector}


def log_probs(xp: Backend, probs: Any, logits: Any) -> Any:
    """Log-probabilities of all categories, from the one that is given."""
    if probs is not None:
        return xp.log(probs)
    top = xp.stop_gradient(xp.max(logits, axis=-1, keepdims=True))
    moved = logits - top
    return moved - xp.log(xp.sum(xp.exp(moved), axis=-1, keepdims=True))


def probs_of(xp: Backend, probs: Any, logits: Any) -> Any:
    """Probabilities of all categories, from the one that is given."""
    return probs if probs is not None else xp.exp(log_probs(xp, probs, logits))


class Categorical(Parametric):
    """Distribution of a number from 0 up, by the last axis of `probs` or of `logits`.

    >>> import numpy as np
    >>> from trellis.distributions import Categorical
    >>> round(Categorical(np.array([0.25, 0.75])).log_prob(0).item(), 4)
    -1.3863
    """

    parameters = VECTORS
    _is_discrete = True

    def __init__(self, probs: Array | None = None, *, logits: Array | None = None):
        self._set_one("probs", "logits", probs=probs, logits=logits)

    def _bounds(self, probs: Any, logits: Any) -> tuple[Any, Any]:
        given = logits if probs is None else probs
        return 0, int(given.shape[-1]) - 1

    def _taken(self, xp: Backend, x: Any, table: Any) -> Any:
        """The entries of a table over the categories, one for each of the numbers x."""
        sizes = broadcast_shapes(tuple(x.shape), self.batch_shape)
        wide = xp.broadcast_to(table, (*sizes, int(table.shape[-1])))
        at = xp.expand_dims(xp.astype(xp.broadcast_to(x, sizes), xp.int32), axis=-1)
        return xp.squeeze(xp.take_along_axis(wide, at, axis=-1), axis=-1)

    def _log_prob(self, xp: Backend, x: Any, probs: Any, logits: Any) -> Any:
        return self._taken(xp, xp.where(xp.isnan(x), 0.0, x), log_probs(xp, probs, logits))

    def _cdf(self, xp: Backend, x: Any, probs: Any, logits: Any) -> Any:
        sums = xp.cumulative_sum(probs_of(xp, probs, logits), axis=-1)
        return self._taken(xp, xp.where(xp.isnan(x), 0.0, x), sums)

    def _icdf(self, xp: Backend, p: Any, probs: Any, logits: Any) -> Any:
        sums = xp.cumulative_sum(probs_of(xp, probs, logits), axis=-1)
        # The last sum is 1 but for rounding, so it is not asked.
        are_below = xp.astype(sums[..., :-1] < p[..., None], sums.dtype)
        return xp.sum(are_below, axis=-1)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        return as_integers(xp, categorical(key, log_probs(xp, *values), shape=sizes))

    def _entropy(self, xp: Backend, probs: Any, logits: Any) -> Any:
        if logits is None:
            return -xp.sum(xlogy(probs, probs), axis=-1)
        logs = log_probs(xp, probs, logits)
        return -xp.sum(xp.exp(logs) * xp.where(logs == -INF, 0.0, logs), axis=-1)

    def _mean(self, xp: Backend, probs: Any, logits: Any) -> Any:
        shares = probs_of(xp, probs, logits)
        return xp.sum(shares * xp.arange(shares.shape[-1], dtype=shares.dtype), axis=-1)

    def _variance(self, xp: Backend, probs: Any, logits: Any) -> Any:
        shares = probs_of(xp, probs, logits)
        apart = xp.arange(shares.shape[-1], dtype=shares.dtype)
        apart = apart - xp.expand_dims(self._mean(xp, probs, logits), axis=-1)
        return xp.sum(shares * apart * apart, axis=-1)

    def _mode(self, xp: Backend, probs: Any, logits: Any) -> Any:
        given = logits if probs is None else probs
        return xp.astype(xp.argmax(given, axis=-1), given.dtype)


class OfVectors(Parametric):
    """Families whose events are vectors as long as the last axis of a parameter."""

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The number of categories."""
        for name, constraint in self.parameters.items():
            value = getattr(self, name)
            if constraint.event_rank > 0 and value is not None:
                return (int(value.shape[-1]),)
        raise NotImplementedError


class OneHotCategorical(OfVectors):
    """Distribution of a vector with one 1, by the last axis of `probs` or of `logits`.

    >>> import numpy as np
    >>> from trellis.distributions import OneHotCategorical
    >>> OneHotCategorical(np.array([0.25, 0.75])).mean
    array([0.25, 0.75])
    """

    parameters = VECTORS
    _is_discrete = True

    def __init__(self, probs: Array | None = None, *, logits: Array | None = None):
        self._set_one("probs", "logits", probs=probs, logits=logits)

    @property
    def support(self) -> Constraint:
        """Vectors with one 1 among zeros."""
        return constraints.one_hot

    def _log_prob_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        found = xp.sum(xp.where(x == 1, log_probs(xp, *values), 0.0), axis=-1)
        return xp.where(constraints.one_hot._check(xp, x), found, -INF)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        logs = log_probs(xp, *values)
        drawn = categorical(key, logs, shape=sizes)
        return one_hot(xp, drawn, logs.shape[-1], xp.asarray(0).dtype)

    def _entropy(self, xp: Backend, probs: Any, logits: Any) -> Any:
        return Categorical(probs, logits=logits).entropy()

    def _mean(self, xp: Backend, probs: Any, logits: Any) -> Any:
        return probs_of(xp, probs, logits)

    def _variance(self, xp: Backend, probs: Any, logits: Any) -> Any:
        shares = probs_of(xp, probs, logits)
        return shares * (1.0 - shares)

    def _mode(self, xp: Backend, probs: Any, logits: Any) -> Any:
        given = logits if probs is None else probs
        return one_hot(xp, xp.argmax(given, axis=-1), given.shape[-1], given.dtype)


class RelaxedOneHotCategorical(OfVectors):
    """Distribution of points of the simplex, nearly one-hot for a low `temperature`.

    The categories have the weights `probs`, or `logits`. Draws are differentiable: a softmax of
    logits with Gumbel noise.

    >>> import numpy as np, trellis
    >>> from trellis.distributions import RelaxedOneHotCategorical
    >>> d = RelaxedOneHotCategorical(0.1, np.array([0.25, 0.75]))
    >>> round(d.rsample(trellis.random.key(0)).sum().item(), 4)
    1.0
    """

    parameters = named(temperature=constraints.positive, **VECTORS)
    _has_rsample = True

    def __init__(
        self, temperature: Value, probs: Array | None = None, *, logits: Array | None = None
    ):
        self._set_one("probs", "logits", temperature=temperature, probs=probs, logits=logits)

    @property
    def support(self) -> Constraint:
        """The simplex."""
        return constraints.simplex

    def _log_prob(self, xp: Backend, x: Any, t: Any, probs: Any, logits: Any) -> Any:
        count = int(x.shape[-1])
        logs = xp.log(x)
        score = log_probs(xp, probs, logits) - xp.expand_dims(t, axis=-1) * logs
        score = log_probs(xp, None, score)
        constant = gammaln(xp.full_like(t, float(count))) + (count - 1) * xp.log(t)
        return xp.sum(score - logs, axis=-1) + constant

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        t, probs, logits = values
        logs = log_probs(xp, probs, logits)
        noisy = logs + gumbel(key, (*sizes, int(logs.shape[-1])), kind)
        return xp.exp(log_probs(xp, None, noisy / xp.expand_dims(t, axis=-1)))


class RelaxedBernoulli(Parametric):
    """Distribution of numbers between 0 and 1, nearly 0 or 1 for a low `temperature`.

    1 has the weight `probs`, or the log-odds `logits`.

    >>> from trellis.distributions import RelaxedBernoulli
    >>> round(RelaxedBernoulli(1.0, 0.5).cdf(0.3).item(), 4)
    0.3
    """

    parameters = named(
        temperature=constraints.positive,
        probs=constraints.unit_interval,
        logits=constraints.real,
    )
    _has_rsample = True
    _is_open = True

    def __init__(
        self, temperature: Value, probs: Value | None = None, *, logits: Value | None = None
    ):
        self._set_one("probs", "logits", temperature=temperature, probs=probs, logits=logits)

    def _bounds(self, t: Any, probs: Any, logits: Any) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _log_prob(self, xp: Backend, x: Any, t: Any, probs: Any, logits: Any) -> Any:
        apart = t * logit(x) - (logit(probs) if logits is None else logits)
        logs = log_expit(apart) + log_expit(-apart)
        return xp.log(t) + logs - xp.log(x) - xp.log1p(-x)

    def _cdf(self, xp: Backend, x: Any, t: Any, probs: Any, logits: Any) -> Any:
        apart = t * logit(x) - (logit(probs) if logits is None else logits)
        return xp.exp(log_expit(apart))

    def _icdf(self, xp: Backend, p: Any, t: Any, probs: Any, logits: Any) -> Any:
        odds = logit(p) + (logit(probs) if logits is None else logits)
        return xp.exp(log_expit(odds / t))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        return self._icdf(xp, open_uniform(xp, key, sizes, kind), *values)
