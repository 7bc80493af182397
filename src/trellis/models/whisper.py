"""Whisper: an encoder of sound and a decoder of text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from .._array.manipulation import permute_dims
from .._core.errors import ShapeError
from .._core.typing import Array
from ..functional.activation import gelu
from ..functional.cache import cache_mask, cache_positions, extend_cache
from ..functional.dense import linear
from ..nn.layers.conv import Conv1D
from ..nn.layers.dropout import Dropout
from ..nn.layers.layer import Options
from ..nn.layers.norm import LayerNorm
from ..nn.module.around import weight_of
from ..nn.module.module import Module
from .configuration import Configuration
from .images import FILTERS_1D
from .layers import SeparateAttention, activation, dense, normal, table
from .masks import cache_for, check_length
from .pretrained import Pretrained
from .seq2seq import Memory, Seq2SeqCache, checked_decoder_tokens, checked_memory


@dataclass(frozen=True, kw_only=True)
class WhisperConfig(Configuration):
    """The configuration of `Whisper`.

    >>> from trellis import models
    >>> models.WhisperConfig().num_mel_bins
    80
    """

    model_type: ClassVar[str] = "whisper"
    harmless: ClassVar[frozenset[str]] = frozenset(
        "apply_spec_augment classifier_proj_size decoder_layerdrop encoder_layerdrop "
        "mask_feature_length mask_feature_min_masks mask_feature_prob mask_time_length "
        "mask_time_min_masks mask_time_prob max_position_embeddings median_filter_width "
        "num_hidden_layers use_weighted_layer_sum id2label".split()
    )
    fixed: ClassVar[Mapping[str, tuple[Any, ...]]] = {"scale_embedding": (False, None)}

    vocab_size: int = 51865
    num_mel_bins: int = 80
    encoder_layers: int = 4
    encoder_attention_heads: int = 6
    encoder_ffn_dim: int = 1536
    decoder_layers: int = 4
    decoder_attention_heads: int = 6
    decoder_ffn_dim: int = 1536
    activation_function: str = "gelu"
    d_model: int = 384
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    init_std: float = 0.02
    max_source_positions: int = 1500
    max_target_positions: int = 448
    tie_word_embeddings: bool = True


class Attention(SeparateAttention):
    """Attention; the layer of the keys has no bias."""

    def __init__(self, config: WhisperConfig, heads: int):
        width, std = config.d_model, config.init_std
        config._check_heads(width, heads)
        self._heads, self._dropout = heads, config.attention_dropout
        self.query = dense(width, width, std)
        self.key = dense(width, width, std, with_bias=False)
        self.value = dense(width, width, std)
        self.out = dense(width, width, std)
        super().__init__()


class Block(Module):
    """Attention to the own sequence, in the decoder to the sound, dense layers; norms before."""

    def __init__(self, config: WhisperConfig, heads: int, inner: int, is_decoder: bool):
        width, std = config.d_model, config.init_std
        self.attention_norm = LayerNorm(width)
        self.attention = Attention(config, heads)
        self.cross_norm: Any = LayerNorm(width) if is_decoder else None
        self.cross: Any = Attention(config, heads) if is_decoder else None
        self.norm = LayerNorm(width)
        self.inner = dense(width, inner, std)
        self.outer = dense(inner, width, std)
        self.dropout = Dropout(config.dropout)
        self.inner_dropout = Dropout(config.activation_dropout)
        self._activation = activation(config.activation_function)
        super().__init__()

    def _forward(
        self, x: Array, memory: Any = None, mask: Array | None = None, cache: Any = None
    ) -> Any:
        y = self.attention_norm(x)
        keys, values = self.attention.keys_values(y)
        if cache is not None:
            cache = extend_cache(cache, keys, values)
            keys, values = cache.keys, cache.values
        is_causal = self.cross is not None and mask is None
        y = self.attention(y, mask, is_causal=is_causal, memory=(keys, values))
        x = x + self.dropout(y)
        if self.cross is not None:
            y = self.cross(self.cross_norm(x), memory=memory)
            x = x + self.dropout(y)
        y = self.inner_dropout(self._activation(self.inner(self.norm(x))))
        return x + self.dropout(self.outer(y)), cache


class Whisper(Pretrained):
    """Whisper: text from sound.

    `model(features, decoder_tokens)` of log-mel features (batch, num_mel_bins, 2 *
    max_source_positions), as Hugging Face's feature extractor gives them, gives logits (batch, T,
    vocab_size) for the T tokens of the decoder. Step by step: `memory = model.encode(features)`,
    `cache = model.init_cache(batch, length, memory=memory)`, and `logits, cache =
    model(decoder_tokens, cache=cache)` reads the next tokens only; `trellis.generate(model,
    decoder_tokens, memory=memory, ...)` does so. With `return_hidden_states=True` the first result
    is the pair of logits and (states of the encoder, states of the decoder), each the embeddings,
    after each layer but the last, and after the norm.

    >>> import numpy as np
    >>> from trellis import models
    >>> config = models.WhisperConfig(
    ...     vocab_size=30, num_mel_bins=4, d_model=8, encoder_layers=1, decoder_layers=1,
    ...     encoder_attention_heads=2, decoder_attention_heads=2, max_source_positions=5)
    >>> features = np.zeros((1, 4, 10), "float32")
    >>> models.Whisper(config).eval()(features, np.array([[1, 2]])).shape
    (1, 2, 30)
    """

    config_class = WhisperConfig
    architectures = ("WhisperForConditionalGeneration",)
    prefix = "model."
    names: ClassVar[dict[str, str]] = {
        "conv1": "model.encoder.conv1",
        "conv2": "model.encoder.conv2",
        "frames": "model.encoder.embed_positions",
        "encoder/*/attention_norm": "model.encoder.layers.*.self_attn_layer_norm",
        "encoder/*/attention/query": "model.encoder.layers.*.self_attn.q_proj",
        "encoder/*/attention/key": "model.encoder.layers.*.self_attn.k_proj",
        "encoder/*/attention/value": "model.encoder.layers.*.self_attn.v_proj",
        "encoder/*/attention/out": "model.encoder.layers.*.self_attn.out_proj",
        "encoder/*/norm": "model.encoder.layers.*.final_layer_norm",
        "encoder/*/inner": "model.encoder.layers.*.fc1",
        "encoder/*/outer": "model.encoder.layers.*.fc2",
        "encoder_norm": "model.encoder.layer_norm",
        "words": "model.decoder.embed_tokens",
        "positions": "model.decoder.embed_positions",
        "decoder/*/attention_norm": "model.decoder.layers.*.self_attn_layer_norm",
        "decoder/*/attention/query": "model.decoder.layers.*.self_attn.q_proj",
        "decoder/*/attention/key": "model.decoder.layers.*.self_attn.k_proj",
        "decoder/*/attention/value": "model.decoder.layers.*.self_attn.v_proj",
        "decoder/*/attention/out": "model.decoder.layers.*.self_attn.out_proj",
        "decoder/*/cross_norm": "model.decoder.layers.*.encoder_attn_layer_norm",
        "decoder/*/cross/query": "model.decoder.layers.*.encoder_attn.q_proj",
        "decoder/*/cross/key": "model.decoder.layers.*.encoder_attn.k_proj",
        "decoder/*/cross/value": "model.decoder.layers.*.encoder_attn.v_proj",
        "decoder/*/cross/out": "model.decoder.layers.*.encoder_attn.out_proj",
        "decoder/*/norm": "model.decoder.layers.*.final_layer_norm",
        "decoder/*/inner": "model.decoder.layers.*.fc1",
        "decoder/*/outer": "model.decoder.layers.*.fc2",
        "decoder_norm": "model.decoder.layer_norm",
        "head": "proj_out",
    }
    layouts: ClassVar[dict[str, tuple[int, ...]]] = {"conv1/w": FILTERS_1D, "conv2/w": FILTERS_1D}
    second_names: ClassVar[dict[str, str]] = {
        "proj_out.weight": "model.decoder.embed_tokens.weight"
    }

    def __init__(self, config: WhisperConfig, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: the sizes
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: WhisperConfig) -> None:
        width, std = config.d_model, config.init_std
        make = normal(std)
        self.conv1 = Conv1D(config.num_mel_bins, width, 3, 1, 1, weight_initializer=make)
        self.conv2 = Conv1D(width, width, 3, 2, 1, weight_initializer=make)
        self.frames = table(config.max_source_positions, width, std)
        heads, inner = config.encoder_attention_heads, config.encoder_ffn_dim
        self.encoder = [Block(config, heads, inner, False) for _ in range(config.encoder_layers)]
        self.encoder_norm = LayerNorm(width)
        self.words = table(config.vocab_size, width, std)
        self.positions = table(config.max_target_positions, width, std)
        heads, inner = config.decoder_attention_heads, config.decoder_ffn_dim
        self.decoder = [Block(config, heads, inner, True) for _ in range(config.decoder_layers)]
        self.decoder_norm = LayerNorm(width)
        self.dropout = Dropout(config.dropout)
        if not config.tie_word_embeddings:
            self.head = dense(width, config.vocab_size, std, with_bias=False)

    def encode(self, features: Array) -> Memory:
        """The encoder's output for the features: the memory of the decoder."""
        return Memory(self._encoder_states(features)[-1], None)

    def init_cache(self, batch: int, length: int, *, memory: Memory) -> Seq2SeqCache:
        """What the decoder needs for `length` tokens: the keys and values of the memory, and an
        empty cache of its own."""
        config = self.config
        check_length(self, length, config.max_target_positions)
        states, _ = checked_memory(self, batch, memory)
        heads = config.decoder_attention_heads
        sizes = (batch, heads, length, config.d_model // heads)
        caches = cache_for(weight_of(self.words), config.decoder_layers, sizes)
        return Seq2SeqCache(caches, self._memory(states), None)

    def _memory(self, states: Array) -> Any:
        return tuple([layer.cross.keys_values(states) for layer in self.decoder])

    def _encoder_states(self, features: Array) -> list[Any]:
        bins, frames = self.config.num_mel_bins, 2 * self.config.max_source_positions
        if len(features.shape) != 3 or tuple(features.shape[1:]) != (bins, frames):
            raise ShapeError(
                f"Whisper expects features of shape (batch, {bins}, {frames}), got "
                f"{tuple(features.shape)}."
            )
        x = gelu(self.conv1(permute_dims(features, (0, 2, 1))))
        x = self.dropout(gelu(self.conv2(x)) + weight_of(self.frames))
        states = [x]
        for layer in self.encoder:
            x, _ = layer(x)
            states.append(x)
        return [*states[:-1], self.encoder_norm(x)]

    def _forward(
        self,
        features: Array,
        decoder_tokens: Array | None = None,
        *,
        cache: Any = None,
        return_hidden_states: bool = False,
    ) -> Any:
        if cache is None:
            tokens = checked_decoder_tokens(self, decoder_tokens)
            encoded = self._encoder_states(features)
            memory, seen, caches = self._memory(encoded[-1]), None, [None] * len(self.decoder)
            positions = weight_of(self.positions)[: tokens.shape[1]]
        else:
            tokens, encoded, memory, caches = features, [], cache.memory, cache.layers
            seen = cache_mask(caches[0], tokens.shape[1])
            positions = self.positions(cache_positions(caches[0], tokens.shape[1]))
        check_length(self, tokens.shape[1], self.config.max_target_positions)
        x = self.dropout(self.words(tokens) + positions)
        states, kept = [x], []
        for i, layer in enumerate(self.decoder):
            x, new = layer(x, memory[i], seen, caches[i])
            states.append(x)
            kept.append(new)
        x = self.decoder_norm(x)
        tied = self.config.tie_word_embeddings
        logits = linear(x, weight_of(self.words)) if tied else self.head(x)
        if return_hidden_states:
            logits = (logits, (tuple(encoded), (*states[:-1], x)))
        return logits if cache is None else (logits, cache._replace(layers=tuple(kept)))
