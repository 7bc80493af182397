"""What the models with an encoder and a decoder share."""

from typing import Any, NamedTuple

from .._core.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._core.typing import Array


class Memory(NamedTuple):
    """The output of an encoder: its last states, and which of them are real (None: all)."""

    states: Any
    mask: Any


class Seq2SeqCache(NamedTuple):
    """What a decoder keeps: caches of its layers, keys and values of the encoder's states for each
    layer, and which of these are real (None: all)."""

    layers: Any
    memory: Any
    mask: Any


def checked_memory(model: object, batch: int, memory: Any) -> Memory:
    """What the encoder has made, of as many rows as the cache."""
    name = type(model).__name__
    if not isinstance(memory, Memory):
        raise ArgumentTypeError(
            f"{name}.init_cache() needs the encoder's output: init_cache(batch, length, "
            f"memory=model.encode(source)); got {type(memory).__name__}."
        )
    if memory.states.shape[0] != batch:
        raise ShapeError(
            f"{name}.init_cache() got batch={batch} and a memory of {memory.states.shape[0]} rows."
        )
    return memory


def checked_decoder_tokens(model: object, tokens: Array | None) -> Any:
    """The decoder's tokens, which a call without a cache needs."""
    if tokens is None:
        raise ArgumentError(
            f"{type(model).__name__} needs tokens of its decoder too: model(source, "
            "decoder_tokens); or, with a cache, model(decoder_tokens, cache=cache)."
        )
    return tokens
