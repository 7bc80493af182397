"""From logits to the next token."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._core.typing import Array, Backend
from .._random.choosing import categorical
from .._random.keys import fold_in


class Choice(NamedTuple):
    """How tokens are chosen, as far as it decides what is computed; numbers come as arrays."""

    is_sampled: bool
    top_k: int | None
    is_nucleus: bool
    is_penalised: bool
    beams: int
    candidates: int


def next_tokens(
    xp: Backend, choice: Choice, logits: Array, seen: Array, numbers: Mapping[str, Any]
) -> Any:
    """One token for each row of the logits (batch, vocabulary), as int32."""
    logits = penalised(xp, choice, logits, seen, numbers)
    if not choice.is_sampled:
        return xp.astype(xp.argmax(logits, axis=-1), "int32", copy=False)
    logits = logits / numbers["temperature"]
    if choice.top_k is not None and choice.top_k < logits.shape[-1]:
        logits = _kept(xp, logits, xp.topk(logits, choice.top_k)[0][:, -1:])
    if choice.is_nucleus:
        logits = _kept(xp, logits, _least_of_nucleus(xp, logits, numbers["top_p"]))
    drawn = categorical(fold_in(numbers["key"], numbers["step"]), logits)
    return xp.astype(drawn, "int32", copy=False)


def _kept(xp: Backend, logits: Array, least: Array) -> Any:
    return xp.where(logits < least, float("-inf"), logits)


def _least_of_nucleus(xp: Backend, logits: Array, top_p: float) -> Any:
    """The smallest logit that is needed to bring the probability of those above it to `top_p`."""
    ordered = xp.flip(xp.sort(logits, axis=-1), axis=-1)
    shares = xp.softmax(ordered, axis=-1)
    above = xp.cumulative_sum(shares, axis=-1) - shares
    return xp.min(xp.where(above < top_p, ordered, float("inf")), axis=-1, keepdims=True)


def penalised(
    xp: Backend, choice: Choice, logits: Array, seen: Array, numbers: Mapping[str, Any]
) -> Any:
    """Make tokens that have occurred less likely, whichever sign their logits have."""
    if not choice.is_penalised:
        return logits
    penalty = numbers["penalty"]
    return xp.where(seen, xp.where(logits < 0, logits * penalty, logits / penalty), logits)


def with_seen(
    xp: Backend, choice: Choice, seen: Array, tokens: Array, is_real: Array, count: int
) -> Any:
    """Which of the `count` tokens of the vocabulary have occurred in each row; None: unasked."""
    if not choice.is_penalised:
        return None
    places = xp.arange(count, dtype="int32", device=xp.device(tokens))
    occurs = xp.expand_dims(xp.where(is_real, tokens, -1), axis=-1) == places
    now = xp.any(occurs, axis=1)
    return now if seen is None else xp.logical_or(seen, now)


def best_of_beams(xp: Backend, choice: Choice, logits: Array, seen: Array, scores: Array,
                  numbers: Mapping[str, Any]) -> tuple[Any, Any, Any]:  # fmt: skip
    """The best continuations of each prompt, best first: scores, tokens, and the beams they extend.

    The logits are those of all beams (batch * beams, vocabulary), or, at the prompt, of one.
    """
    shares = xp.log_softmax(logits, axis=-1)
    shares = penalised(xp, choice, shares, seen, numbers)
    batch, count = scores.shape[0], logits.shape[-1]
    shares = xp.reshape(shares, (batch, -1, count)) + xp.expand_dims(scores, axis=-1)
    found = xp.topk(xp.reshape(shares, (batch, -1)), min(choice.candidates, choice.beams * count))
    places = xp.astype(found[1], "int32", copy=False)
    return found[0], places % count, places // count
