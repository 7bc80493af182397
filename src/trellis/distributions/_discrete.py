"""What distributions of whole numbers share."""

from collections.abc import Callable
from typing import Any

from .._core.errors import NotSupportedError
from .._core.typing import Array, Backend
from ..special import expit, log_expit, xlog1py, xlogy


def as_integers(xp: Backend, x: Any) -> Any:
    """Draws as the default integer."""
    return xp.astype(x, xp.asarray(0).dtype)


def share_of(xp: Backend, probs: Any, logits: Any) -> Any:
    """The probability of a yes, of which one of the two is given."""
    return expit(logits) if probs is None else probs


def log_shares(xp: Backend, yes: Any, no: Any, probs: Any, logits: Any) -> Any:
    """The log-probability of so many times yes and so many times no, in one order."""
    if probs is None:
        return yes * log_expit(logits) + no * log_expit(-logits)
    return xlogy(yes, probs) + xlog1py(no, -probs)


def over_support(xp: Backend, family: Any, count: Any, log_prob: Callable[[Any], Any],
                 term: Callable[[Any, Any], Any]) -> Any:  # fmt: skip
    """The sum of `term(k, log_prob(k))` for all k from 0 to the largest `count`, which must be
    known."""
    if not xp.is_concrete(count):
        raise NotSupportedError(
            f"{type(family).__name__} sums over all values here, so their number must be known: "
            "total_count must be an int while a function is compiled, and other parameters "
            "constants."
        )
    largest = int(xp.max(count))
    ks = xp.arange(largest + 1, dtype=count.dtype)
    # One more axis than the parameters have, before theirs.
    rank = max(len(count.shape), len(family.batch_shape))
    ks = xp.reshape(ks, (largest + 1,) + (1,) * rank)
    logs = log_prob(ks)
    inside = (ks <= count) & (logs > -float("inf"))
    return xp.sum(xp.where(inside, term(ks, xp.where(inside, logs, 0.0)), 0.0), axis=0)


# More values than this are not summed over.
_MOST = 10_000_000


def entropy_of_counts(
    xp: Backend, family: Any, log_prob: Callable[[Any], Any], mean: Any, variance: Any, ratio: Any
) -> Any:
    """The sum over all values with a probability above rounding, for counts from 0 on without end.

    Far out, one probability is at most `ratio` of that before.
    """
    reach = mean + 12.0 * xp.sqrt(variance) - 40.0 / xp.log(ratio) + 40.0
    count = xp.stop_gradient(xp.ceil(reach))
    if xp.is_concrete(count) and not bool(xp.all(count < _MOST)):
        raise NotSupportedError(
            f"The entropy of {type(family).__name__} is a sum over all values, of which these "
            "parameters have too many."
        )
    return over_support(xp, family, count, log_prob, lambda k, logs: -xp.exp(logs) * logs)


def one_hot(xp: Backend, indices: Array, count: int, dtype: Any) -> Any:
    """Ones at the indices, along a new last axis."""
    return xp.astype(xp.expand_dims(indices, axis=-1) == xp.arange(count, dtype=indices.dtype),
                     dtype)  # fmt: skip
