"""What the models with an encoder and a decoder share."""

from typing import Any, NamedTuple

from .._core.errors import ArgumentError, ShapeError


class Seq2SeqCache(NamedTuple):
    """What a decoder keeps: caches of its layers, keys and values of the encoder's states for each
    layer, and which of these are real (None: all)."""

    layers: Any
    memory: Any
    mask: Any


def checked_source(model: Any, batch: int, source: Any) -> Any:
    """What the encoder reads, of as many rows as the cache."""
    name = type(model).__name__
    if source is None:
        raise ArgumentError(
            f"{name}.init_cache() needs what the encoder reads: init_cache(batch, length, source)."
        )
    if source.shape[0] != batch:
        raise ShapeError(
            f"{name}.init_cache() got batch={batch} and {source.shape[0]} rows for the encoder."
        )
    return source


def checked_decoder_tokens(model: Any, tokens: Any) -> Any:
    """The decoder's tokens, which a call without a cache needs."""
    if tokens is None:
        raise ArgumentError(
            f"{type(model).__name__} needs tokens of its decoder too: model(source, "
            "decoder_tokens); or, with a cache of the source, model(decoder_tokens, cache=cache)."
        )
    return tokens
