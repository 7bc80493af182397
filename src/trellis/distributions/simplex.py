"""Shares that add up to 1, and how often each of several categories is drawn."""

from typing import Any

from .._array.control import while_loop
from .._core.errors import NotSupportedError
from .._core.typing import Array, Backend
from .._random.choosing import categorical
from .._random.distributions import dirichlet
from .._random.keys import split
from ..special import digamma, entr, gammaln, xlog1py, xlogy
from . import constraints
from ._calling import Value
from ._discrete import one_hot, over_support
from .categorical import VECTORS, OfVectors, log_probs, probs_of
from .constraints import Constraint
from .parametric import INF, NAN, named


class Dirichlet(OfVectors):
    """Distribution of shares that add up to 1, with weights along the last axis of `concentration`.

    >>> import numpy as np
    >>> from trellis.distributions import Dirichlet
    >>> Dirichlet(np.array([1.0, 3.0])).mean
    array([0.25, 0.75])
    """

    parameters = named(concentration=constraints.positive_vector)
    _has_rsample = True

    def __init__(self, concentration: Array):
        self._set(concentration=concentration)

    @property
    def support(self) -> Constraint:
        """The simplex."""
        return constraints.simplex

    def _log_prob(self, xp: Backend, x: Any, a: Any) -> Any:
        logs = xp.sum(xlogy(a - 1.0, x) - gammaln(a), axis=-1)
        return logs + gammaln(xp.sum(a, axis=-1))

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any) -> Any:
        return dirichlet(key, a, sizes, kind)

    def _entropy(self, xp: Backend, a: Any) -> Any:
        total, count = xp.sum(a, axis=-1), a.shape[-1]
        front = xp.sum(gammaln(a), axis=-1) - gammaln(total)
        return front + (total - count) * digamma(total) - xp.sum((a - 1.0) * digamma(a), axis=-1)

    def _mean(self, xp: Backend, a: Any) -> Any:
        return a / xp.sum(a, axis=-1, keepdims=True)

    def _variance(self, xp: Backend, a: Any) -> Any:
        total = xp.sum(a, axis=-1, keepdims=True)
        shares = a / total
        return shares * (1.0 - shares) / (total + 1.0)

    def _mode(self, xp: Backend, a: Any) -> Any:
        is_hill = xp.all(a > 1, axis=-1, keepdims=True)
        less = xp.where(is_hill, a - 1.0, 1.0)
        return xp.where(is_hill, less / xp.sum(less, axis=-1, keepdims=True), NAN)


class _Counts(OfVectors):
    """Families of vectors of counts that add up to `total_count`."""

    _is_discrete = True
    total_count: Any

    @property
    def support(self) -> Constraint:
        """Vectors of whole numbers from 0 up; those with another sum have no probability."""
        return constraints.counts

    def _guarded(self, xp: Backend, x: Any, n: Any, logs: Any) -> Any:
        """Minus infinity where the counts do not add up."""
        is_inside = constraints.counts._check(xp, x) & (xp.sum(x, axis=-1) == n)
        return xp.where(is_inside, logs, -INF)

    def _counted(self, xp: Backend, key: Any, sizes: Any, logs: Any) -> Any:
        """How often each category comes in so many draws."""
        n = self.total_count
        is_array = hasattr(n, "dtype")
        if is_array and not xp.is_concrete(n):
            raise NotSupportedError(
                f"{type(self).__name__} draws as often as total_count says, so it must be an int "
                "while a function is compiled."
            )
        most = int(xp.max(n)) if is_array else int(n)
        kinds = int(logs.shape[-1])
        if most == 0:
            return xp.zeros((*sizes, kinds), dtype=xp.asarray(0).dtype)
        drawn = one_hot(
            xp, categorical(key, logs, shape=(most, *sizes)), kinds, xp.asarray(0).dtype
        )
        if is_array:
            steps = xp.reshape(xp.arange(most), (most,) + (1,) * len(sizes))
            drawn = xp.where(xp.expand_dims(steps < n, axis=-1), drawn, 0)
        return xp.sum(drawn, axis=0, dtype=xp.asarray(0).dtype)


class Multinomial(_Counts):
    """Distribution of how often each category comes in `total_count` draws.

    The categories have the weights `probs`, or `logits`, along the last axis.

    >>> import numpy as np
    >>> from trellis.distributions import Multinomial
    >>> Multinomial(8, np.array([0.25, 0.75])).mean
    array([2., 6.])
    """

    parameters = named(total_count=constraints.nonnegative_integer, **VECTORS)

    def __init__(
        self, total_count: Value, probs: Array | None = None, *, logits: Array | None = None
    ):
        self._set_one("probs", "logits", total_count=total_count, probs=probs, logits=logits)

    def _log_prob(self, xp: Backend, x: Any, n: Any, probs: Any, logits: Any) -> Any:
        if probs is None:
            logs = log_probs(xp, probs, logits)
            weights = x * xp.where((x == 0) & (logs == -INF), 0.0, logs)
        else:
            weights = xlogy(x, probs)
        logs = gammaln(n + 1.0) + xp.sum(weights - gammaln(x + 1.0), axis=-1)
        return self._guarded(xp, x, n, logs)

    def _log_prob_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        return self._log_prob(xp, x, *values)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        return self._counted(xp, key, sizes, log_probs(xp, *values[1:]))

    def _mean(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        return xp.expand_dims(n, axis=-1) * probs_of(xp, probs, logits)

    def _variance(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        shares = probs_of(xp, probs, logits)
        return xp.expand_dims(n, axis=-1) * shares * (1.0 - shares)

    def _entropy(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        shares = probs_of(xp, probs, logits)
        wide = xp.expand_dims(n, axis=-1) + 0.0 * shares

        # The mean of log(k!) over the binomial distribution of each category.
        def log_prob(k: Any) -> Any:
            inside = xp.minimum(k, wide)
            choices = gammaln(wide + 1.0) - gammaln(inside + 1.0) - gammaln(wide - inside + 1.0)
            return choices + xlogy(inside, shares) + xlog1py(wide - inside, -shares)

        logs = over_support(
            xp, self, wide, log_prob, lambda k, logs: xp.exp(logs) * gammaln(k + 1.0)
        )
        return xp.sum(logs, axis=-1) + n * xp.sum(entr(shares), axis=-1) - gammaln(n + 1.0)

    def _mode(self, xp: Backend, n: Any, probs: Any, logits: Any) -> Any:
        # At least the floor of each mean (Finucan, 1964); what is left goes to one after the other.
        shares = probs_of(xp, probs, logits)
        wide = xp.expand_dims(n, axis=-1)
        kinds = int(shares.shape[-1])

        def is_open(counts: Any) -> Any:
            return xp.any(xp.sum(counts, axis=-1, keepdims=True) < wide)

        def grown(counts: Any) -> Any:
            best = xp.argmax(shares / (counts + 1.0), axis=-1)
            step = one_hot(xp, best, kinds, counts.dtype)
            is_short = xp.sum(counts, axis=-1, keepdims=True) < wide
            return counts + xp.where(is_short, step, 0.0)

        start = xp.floor(wide * xp.stop_gradient(shares))
        return while_loop(is_open, grown, start)


class DirichletMultinomial(_Counts):
    """Multinomial distribution of `total_count` draws whose weights are those of a Dirichlet one.

    `concentration` is the parameter of that, along the last axis.

    >>> import numpy as np
    >>> from trellis.distributions import DirichletMultinomial
    >>> DirichletMultinomial(np.array([1.0, 3.0]), 8).mean
    array([2., 6.])
    """

    parameters = named(
        concentration=constraints.positive_vector,
        total_count=constraints.nonnegative_integer,
    )

    def __init__(self, concentration: Array, total_count: Value):
        self._set(concentration=concentration, total_count=total_count)

    def _log_prob(self, xp: Backend, x: Any, a: Any, n: Any) -> Any:
        total = xp.sum(a, axis=-1)
        front = gammaln(n + 1.0) + gammaln(total) - gammaln(n + total)
        rest = gammaln(x + a) - gammaln(a) - gammaln(x + 1.0)
        return self._guarded(xp, x, n, front + xp.sum(rest, axis=-1))

    def _log_prob_inside(self, xp: Backend, x: Any, *values: Any) -> Any:
        return self._log_prob(xp, x, *values)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, a: Any, n: Any) -> Any:
        keys = split(key)
        shares = dirichlet(keys[0, ...], a, sizes, kind)
        return self._counted(xp, keys[1, ...], sizes, xp.log(shares))

    def _mean(self, xp: Backend, a: Any, n: Any) -> Any:
        return xp.expand_dims(n, axis=-1) * a / xp.sum(a, axis=-1, keepdims=True)

    def _variance(self, xp: Backend, a: Any, n: Any) -> Any:
        total = xp.sum(a, axis=-1, keepdims=True)
        shares, count = a / total, xp.expand_dims(n, axis=-1)
        return count * shares * (1.0 - shares) * (count + total) / (1.0 + total)
