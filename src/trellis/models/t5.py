"""T5: an encoder and a decoder, with positions relative to each other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np

from .._array.casting import astype
from .._array.creation import arange, asarray
from .._array.device import device as device_of
from .._array.elementwise import clip
from .._array.indexing import take
from .._array.manipulation import expand_dims, moveaxis
from .._core.dispatch import backend_of
from .._core.errors import ArgumentError
from .._core.typing import Array
from ..functional.cache import cache_mask, cache_positions, extend_cache
from ..functional.dense import linear
from ..nn.layers.dropout import Dropout
from ..nn.layers.layer import Options
from ..nn.layers.norm import RMSNorm
from ..nn.module.around import weight_of
from ..nn.module.module import Module
from .configuration import Configuration
from .layers import SeparateAttention, activation, dense, table
from .masks import cache_for, masked, real_keys
from .pretrained import Pretrained
from .seq2seq import Memory, Seq2SeqCache, checked_decoder_tokens, checked_memory


@dataclass(frozen=True, kw_only=True)
class T5Config(Configuration):
    """The configuration of `T5`.

    >>> from trellis import models
    >>> models.T5Config(feed_forward_proj="gated-gelu").activation
    ('gelu_new', True)
    """

    model_type: ClassVar[str] = "t5"
    harmless: ClassVar[frozenset[str]] = frozenset(
        "classifier_dropout n_positions output_past dense_act_fn is_gated_act id2label".split()
    )

    vocab_size: int = 32128
    d_model: int = 512
    d_kv: int = 64
    d_ff: int = 2048
    num_layers: int = 6
    num_decoder_layers: int | None = None
    num_heads: int = 8
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    dropout_rate: float = 0.1
    layer_norm_epsilon: float = 1e-6
    initializer_factor: float = 1.0
    feed_forward_proj: str = "relu"
    tie_word_embeddings: bool = True
    scale_decoder_outputs: bool = True  # False in version 1.1, whose head is its own

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        is_tied = given.get("tie_word_embeddings", True) is not False
        return {"scale_decoder_outputs": is_tied, **given}

    @property
    def activation(self) -> tuple[str, bool]:
        """The activation between the two layers of a block, and whether a second one gates it."""
        first, _, last = self.feed_forward_proj.rpartition("-")
        if first not in ("", "gated"):
            self._refuse("feed_forward_proj", ("relu", "gelu", "gated-gelu", "gated-silu"))
        # The first files of version 1.1 mean the approximation by this name.
        return ("gelu_new" if self.feed_forward_proj == "gated-gelu" else last), first == "gated"

    @property
    def decoder_depth(self) -> int:
        """Layers of the decoder."""
        given = self.num_decoder_layers
        return self.num_layers if given is None else given

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds."""
        return {key: value for key, value in super().to_dict().items() if value is not None}


class Attention(SeparateAttention):
    """Attention without biases; its products are not scaled, the initial weights are."""

    _scale = 1.0

    def __init__(self, config: T5Config):
        width, inner = config.d_model, config.num_heads * config.d_kv
        factor = config.initializer_factor
        self._heads, self._dropout = config.num_heads, config.dropout_rate
        self.query = dense(width, inner, factor * (width * config.d_kv) ** -0.5, with_bias=False)
        self.key = dense(width, inner, factor * width**-0.5, with_bias=False)
        self.value = dense(width, inner, factor * width**-0.5, with_bias=False)
        self.out = dense(inner, width, factor * inner**-0.5, with_bias=False)
        super().__init__()


class FeedForward(Module):
    """Two dense layers; in newer versions the first one is gated by another."""

    def __init__(self, config: T5Config):
        width, inner, factor = config.d_model, config.d_ff, config.initializer_factor
        name, is_gated = config.activation
        self._activation = activation(name)
        std = factor * width**-0.5
        self.inner = dense(width, inner, std, with_bias=False)
        self.gate = dense(width, inner, std, with_bias=False) if is_gated else None
        self.outer = dense(inner, width, factor * inner**-0.5, with_bias=False)
        self.dropout = Dropout(config.dropout_rate)
        super().__init__()

    def _forward(self, x: Array) -> Any:
        if self.gate is None:
            return self.outer(self.dropout(self._activation(self.inner(x))))
        return self.outer(self.dropout(self._activation(self.gate(x)) * self.inner(x)))


class Block(Module):
    """Attention to the own sequence, in the decoder to the encoder's, dense layers; norms
    before."""

    def __init__(self, config: T5Config, is_decoder: bool):
        width, epsilon = config.d_model, config.layer_norm_epsilon
        self.attention_norm = RMSNorm(width, epsilon)
        self.attention = Attention(config)
        self.cross_norm: Any = RMSNorm(width, epsilon) if is_decoder else None
        self.cross: Any = Attention(config) if is_decoder else None
        self.norm = RMSNorm(width, epsilon)
        self.dense = FeedForward(config)
        self.dropout = Dropout(config.dropout_rate)
        super().__init__()

    def _forward(self, x: Array, mask: Array | None, memory: Any = None,
                 memory_mask: Array | None = None, cache: Any = None) -> Any:  # fmt: skip
        y = self.attention_norm(x)
        keys, values = self.attention.keys_values(y)
        if cache is not None:
            cache = extend_cache(cache, keys, values)
            keys, values = cache.keys, cache.values
        x = x + self.dropout(self.attention(y, mask, memory=(keys, values)))
        if self.cross is not None:
            y = self.cross(self.cross_norm(x), memory_mask, memory=memory)
            x = x + self.dropout(y)
        return x + self.dropout(self.dense(self.norm(x))), cache


class T5(Pretrained):
    """T5: an encoder of one text and a decoder of another.

    `model(tokens, decoder_tokens, mask=mask)` gives logits (batch, T, vocab_size) for the T tokens
    of the decoder; `mask` is 1 or True at real tokens of the encoder. Step by step: `memory =
    model.encode(tokens, mask=mask)`, `cache = model.init_cache(batch, length, memory=memory)`, and
    `logits, cache = model(decoder_tokens, cache=cache)` reads the next tokens only;
    `trellis.generate(model, decoder_tokens, memory=memory, ...)` does so. With
    `return_hidden_states=True` the first result is the pair of logits and (states of the encoder,
    states of the decoder), each the embeddings, after each layer but the last, and after the norm.

    >>> import numpy as np
    >>> from trellis import models
    >>> config = models.T5Config(vocab_size=30, d_model=8, d_kv=4, d_ff=16, num_layers=1,
    ...                          num_heads=2)
    >>> models.T5(config).eval()(np.array([[2, 7, 3]]), np.array([[0, 5]])).shape
    (1, 2, 30)
    """

    config_class = T5Config
    architectures = ("T5ForConditionalGeneration",)
    names: ClassVar[dict[str, str]] = {
        "words": "shared",
        "encoder_bias": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
        "encoder/*/attention_norm": "encoder.block.*.layer.0.layer_norm",
        "encoder/*/attention/query": "encoder.block.*.layer.0.SelfAttention.q",
        "encoder/*/attention/key": "encoder.block.*.layer.0.SelfAttention.k",
        "encoder/*/attention/value": "encoder.block.*.layer.0.SelfAttention.v",
        "encoder/*/attention/out": "encoder.block.*.layer.0.SelfAttention.o",
        "encoder/*/norm": "encoder.block.*.layer.1.layer_norm",
        "encoder/*/dense/inner": "encoder.block.*.layer.1.DenseReluDense.wi",
        "encoder/*/dense/outer": "encoder.block.*.layer.1.DenseReluDense.wo",
        "encoder_norm": "encoder.final_layer_norm",
        "decoder_bias": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
        "decoder/*/attention_norm": "decoder.block.*.layer.0.layer_norm",
        "decoder/*/attention/query": "decoder.block.*.layer.0.SelfAttention.q",
        "decoder/*/attention/key": "decoder.block.*.layer.0.SelfAttention.k",
        "decoder/*/attention/value": "decoder.block.*.layer.0.SelfAttention.v",
        "decoder/*/attention/out": "decoder.block.*.layer.0.SelfAttention.o",
        "decoder/*/cross_norm": "decoder.block.*.layer.1.layer_norm",
        "decoder/*/cross/query": "decoder.block.*.layer.1.EncDecAttention.q",
        "decoder/*/cross/key": "decoder.block.*.layer.1.EncDecAttention.k",
        "decoder/*/cross/value": "decoder.block.*.layer.1.EncDecAttention.v",
        "decoder/*/cross/out": "decoder.block.*.layer.1.EncDecAttention.o",
        "decoder/*/norm": "decoder.block.*.layer.2.layer_norm",
        "decoder/*/dense/inner": "decoder.block.*.layer.2.DenseReluDense.wi",
        "decoder/*/dense/outer": "decoder.block.*.layer.2.DenseReluDense.wo",
        "decoder_norm": "decoder.final_layer_norm",
        "head": "lm_head",
    }
    # Where the first dense layer is gated, there are two of them.
    gated_names: ClassVar[dict[str, str]] = {
        "encoder/*/dense/gate": "encoder.block.*.layer.1.DenseReluDense.wi_0",
        "encoder/*/dense/inner": "encoder.block.*.layer.1.DenseReluDense.wi_1",
        "decoder/*/dense/gate": "decoder.block.*.layer.2.DenseReluDense.wi_0",
        "decoder/*/dense/inner": "decoder.block.*.layer.2.DenseReluDense.wi_1",
    }
    # A table of relative positions for the attention to the encoder, which is not used.
    constants = ("EncDecAttention.relative_attention_bias.weight",)
    second_names: ClassVar[dict[str, str]] = {
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
        "lm_head.weight": "shared.weight",
    }

    def __init__(self, config: T5Config, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: the sizes
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: T5Config) -> None:
        width, factor, heads = config.d_model, config.initializer_factor, config.num_heads
        buckets, reach = (
            config.relative_attention_num_buckets,
            config.relative_attention_max_distance,
        )
        self.words = table(config.vocab_size, width, factor)
        self.encoder_bias = table(buckets, heads, factor * width**-0.5)
        self.decoder_bias = table(buckets, heads, factor * width**-0.5)
        self.encoder = [Block(config, False) for _ in range(config.num_layers)]
        self.decoder = [Block(config, True) for _ in range(config.decoder_depth)]
        self.encoder_norm = RMSNorm(width, config.layer_norm_epsilon)
        self.decoder_norm = RMSNorm(width, config.layer_norm_epsilon)
        self.dropout = Dropout(config.dropout_rate)
        if not config.tie_word_embeddings:
            self.head = dense(width, config.vocab_size, factor, with_bias=False)
        self._buckets = {
            True: bucket_table(buckets, reach, True),
            False: bucket_table(buckets, reach, False),
        }

    def _names(self) -> Mapping[str, str]:
        return {**self.names, **self.gated_names} if self.config.activation[1] else self.names

    def encode(self, tokens: Array, *, mask: Array | None = None) -> Memory:
        """The encoder's output for int tokens (batch, S): the memory of the decoder."""
        states = self._encoder_states(tokens, mask)[-1]
        return Memory(states, None if mask is None else astype(mask, "bool", copy=False))

    def init_cache(self, batch: int, length: int, *, memory: Memory) -> Seq2SeqCache:
        """What the decoder needs for `length` tokens: the keys and values of the memory, and an
        empty cache of its own."""
        config = self.config
        states, mask = checked_memory(self, batch, memory)
        sizes = (batch, config.num_heads, length, config.d_kv)
        caches = cache_for(weight_of(self.words), config.decoder_depth, sizes)
        return Seq2SeqCache(caches, self._memory(states), None if mask is None else real_keys(mask))

    def _memory(self, states: Array) -> Any:
        return tuple([layer.cross.keys_values(states) for layer in self.decoder])

    def _encoder_states(self, tokens: Array, mask: Array | None) -> list[Any]:
        x = self.dropout(self.words(tokens))
        places = arange(tokens.shape[1], backend=backend_of(x), device=device_of(x))
        bias = self._bias(places, places, self.encoder_bias, True)
        bias = masked(bias, None if mask is None else real_keys(mask))
        states = [x]
        for layer in self.encoder:
            x, _ = layer(x, bias)
            states.append(x)
        return [*states[:-1], self.dropout(self.encoder_norm(x))]

    def _bias(self, queries: Array, keys: Array, weights: Any, is_both_ways: bool) -> Any:
        """(..., heads, T, keys) for positions (..., T) and (..., keys)."""
        reach = self.config.relative_attention_max_distance
        distance = expand_dims(keys, axis=-2) - expand_dims(queries, axis=-1)
        buckets = asarray(
            self._buckets[is_both_ways],
            dtype="int32",
            backend=backend_of(queries),
            device=device_of(queries),
        )
        found = take(buckets, clip(distance, -reach, reach) + reach)
        return moveaxis(weights(found), -1, -3)

    def _forward(
        self,
        tokens: Array,
        decoder_tokens: Array | None = None,
        *,
        mask: Array | None = None,
        cache: Any = None,
        return_hidden_states: bool = False,
    ) -> Any:
        if cache is None:
            decoder_tokens = checked_decoder_tokens(self, decoder_tokens)
            encoded = self._encoder_states(tokens, mask)
            memory = self._memory(encoded[-1])
            memory_mask = None if mask is None else real_keys(mask)
            length = decoder_tokens.shape[1]
            x = self.words(decoder_tokens)
            places = arange(length, backend=backend_of(x), device=device_of(x))
            keys, seen = places, expand_dims(places, axis=1) >= places
            caches = [None] * len(self.decoder)
        else:
            encoded, memory, memory_mask = [], cache.memory, cache.mask
            caches, length = cache.layers, tokens.shape[1]
            x = self.words(tokens)
            places = cache_positions(caches[0], length)
            keys = arange(caches[0].keys.shape[2], dtype="int32", backend=backend_of(x),
                          device=device_of(x)) - expand_dims(caches[0].start, axis=-1)  # fmt: skip
            seen = cache_mask(caches[0], length)
        bias = masked(self._bias(places, keys, self.decoder_bias, False), seen)
        x = self.dropout(x)
        states, kept = [x], []
        for i, layer in enumerate(self.decoder):
            x, new = layer(x, bias, memory[i], memory_mask, caches[i])
            states.append(x)
            kept.append(new)
        x = self.dropout(self.decoder_norm(x))
        logits = self._logits(x)
        if return_hidden_states:
            logits = (logits, (tuple(encoded), (*states[:-1], x)))
        return logits if cache is None else (logits, cache._replace(layers=tuple(kept)))

    def _logits(self, x: Array) -> Any:
        if self.config.scale_decoder_outputs:
            x = x * self.config.d_model**-0.5
        return linear(x, weight_of(self.words)) if self.config.tie_word_embeddings else self.head(x)


def bucket_table(buckets: int, reach: int, is_both_ways: bool) -> list[int]:
    """Which vector serves the distance -reach, ..., reach from query to key: near ones have their
    own, further ones share, by the logarithm of the distance.

    >>> bucket_table(4, 3, True), bucket_table(4, 3, False)
    ([1, 1, 1, 0, 3, 3, 3], [3, 2, 1, 0, 0, 0, 0])
    """
    half = buckets // 2 if is_both_ways else buckets
    own = half // 2
    if own < 1 or reach <= own:
        raise ArgumentError(
            f"T5 cannot share {buckets} buckets among distances up to {reach}: it needs at least "
            f"four of them, and distances above {own}."
        )
    found = []
    for distance in range(-reach, reach + 1):
        away = abs(distance) if is_both_ways else max(-distance, 0)
        bucket = away
        if away >= own:
            # In float32, as everybody computes it: borders between buckets depend on it.
            ratio = np.log(np.float32(away) / np.float32(own)) / np.float32(math.log(reach / own))
            bucket = min(own + int(ratio * np.float32(half - own)), half - 1)
        found.append(bucket + (half if is_both_ways and distance > 0 else 0))
    return found
