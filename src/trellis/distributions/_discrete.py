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
            f"{type(family).__name__} sums over all values here, so total_count must be an int "
            "while a function is compiled."
        )
    largest = int(xp.max(count))
    ks = xp.arange(largest + 1, dtype=count.dtype)
    # One more axis than the parameters have, before theirs.
    rank = max(len(count.shape), len(family.batch_shape))
    ks = xp.reshape(ks, (largest + 1,) + (1,) * rank)
    logs = log_prob(ks)
    inside = (ks <= count) & (logs == logs)
    return xp.sum(xp.where(inside, term(ks, xp.where(inside, logs, 0.0)), 0.0), axis=0)


def one_hot(xp: Backend, indices: Array, count: int, dtype: Any) -> Any:
    """Ones at the indices, along a new last axis."""
    return xp.astype(xp.expand_dims(indices, axis=-1) == xp.arange(count, dtype=indices.dtype),
                     dtype)  # fmt: skip
