"""Llama, Mistral, Qwen2 and Qwen3: decoders that differ in a few lines only."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.creation import arange, asarray
from .._array.device import device as device_of
from .._array.elementwise import cos, sin
from .._array.manipulation import concat, expand_dims
from .._core.dispatch import backend_of
from .._core.errors import NotSupportedError
from .._core.typing import Array
from ..functional.attention import scaled_dot_product_attention
from ..functional.cache import KVCache, cache_mask, cache_positions, extend_cache
from ..functional.dense import linear
from ..nn.layers.layer import Options
from ..nn.layers.norm import RMSNorm
from ..nn.module.around import weight_of
from ..nn.module.module import Module
from .configuration import Configuration
from .layers import activation, dense, from_heads, table, to_heads
from .masks import cache_for, causal_mask
from .pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class LlamaConfig(Configuration):
    """The configuration of `Llama`.

    >>> from trellis import models
    >>> models.LlamaConfig(num_hidden_layers=2).num_hidden_layers
    2
    """

    model_type: ClassVar[str] = "llama"
    harmless: ClassVar[frozenset[str]] = frozenset({"pretraining_tp", "max_position_embeddings"})
    has_query_bias: ClassVar[bool] = False  # of queries, keys and values, whatever attention_bias
    has_head_norms: ClassVar[bool] = False

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    rms_norm_eps: float = 1e-6
    initializer_range: float = 0.02
    rope_parameters: dict[str, Any] = field(default_factory=dict)
    attention_bias: bool = False
    mlp_bias: bool = False
    attention_dropout: float = 0.0
    tie_word_embeddings: bool = False
    sliding_window: int | None = None
    layer_types: list[str] | None = None

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        theta, scaling = given.pop("rope_theta", None), given.pop("rope_scaling", None)
        rope = {**(scaling or {}), **(given.get("rope_parameters") or {})}
        if "type" in rope:
            rope.setdefault("rope_type", rope.pop("type"))
        if theta is not None:
            rope.setdefault("rope_theta", theta)
        given["rope_parameters"] = rope
        return given

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds; the base of the angles in the old place too."""
        whole = super().to_dict()
        rope = {"rope_theta": 10000.0, "rope_type": "default", **self.rope_parameters}
        whole["rope_parameters"] = rope
        whole["rope_theta"] = rope["rope_theta"]
        if rope["rope_type"] != "default":
            whole["rope_scaling"] = {k: v for k, v in rope.items() if k != "rope_theta"}
        return {key: value for key, value in whole.items() if value is not None}

    @property
    def head_width(self) -> int:
        """Features of one head."""
        if self.head_dim is not None:
            return self.head_dim
        self._check_heads(self.hidden_size, self.num_attention_heads)
        return self.hidden_size // self.num_attention_heads

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        given = self.num_key_value_heads
        return self.num_attention_heads if given is None else given

    def window(self, layer: int) -> int | None:
        """How many keys a query of that layer sees; None is all."""
        if self.layer_types is None:
            return self.sliding_window
        kind = self.layer_types[layer]
        if kind not in ("full_attention", "sliding_attention"):
            raise NotSupportedError(
                f"{type(self).__name__} has a layer of the type {kind!r}; it builds "
                "'full_attention' and 'sliding_attention'."
            )
        return self.sliding_window if kind == "sliding_attention" else None


@dataclass(frozen=True, kw_only=True)
class MistralConfig(LlamaConfig):
    """The configuration of Mistral, which `Llama` builds: all layers see a window.

    >>> from trellis import models
    >>> models.MistralConfig().window(0)
    4096
    """

    model_type: ClassVar[str] = "mistral"

    intermediate_size: int = 14336
    num_key_value_heads: int | None = 8
    sliding_window: int | None = 4096

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds; None as the window is said, it is not the default."""
        return {**super().to_dict(), "sliding_window": self.sliding_window}


@dataclass(frozen=True, kw_only=True)
class Qwen2Config(LlamaConfig):
    """The configuration of Qwen2, which `Llama` builds: queries, keys and values have biases.

    >>> from trellis import models
    >>> models.Qwen2Config().has_query_bias
    True
    """

    model_type: ClassVar[str] = "qwen2"
    has_query_bias: ClassVar[bool] = True

    vocab_size: int = 151936
    intermediate_size: int = 22016
    num_key_value_heads: int | None = 32
    use_sliding_window: bool = False
    max_window_layers: int = 28

    def window(self, layer: int) -> int | None:
        """How many keys a query of that layer sees; None is all."""
        if not self.use_sliding_window:
            return None
        if self.layer_types is not None:
            return super().window(layer)
        return self.sliding_window if layer >= self.max_window_layers else None


@dataclass(frozen=True, kw_only=True)
class Qwen3Config(Qwen2Config):
    """The configuration of Qwen3, which `Llama` builds: each head of queries and keys has a norm.

    >>> from trellis import models
    >>> models.Qwen3Config().head_width
    128
    """

    model_type: ClassVar[str] = "qwen3"
    has_query_bias: ClassVar[bool] = False
    has_head_norms: ClassVar[bool] = True

    head_dim: int | None = 128


class Attention(Module):
    """Causal attention with rotary positions; blocks of query heads may share keys and values."""

    def __init__(self, config: LlamaConfig, layer: int):
        width, size, std = config.hidden_size, config.head_width, config.initializer_range
        heads, kv_heads = config.num_attention_heads, config.kv_heads
        self._heads, self._kv_heads = heads, kv_heads
        self._window, self._dropout = config.window(layer), config.attention_dropout
        with_bias = config.has_query_bias or config.attention_bias
        self.query = dense(width, heads * size, std, with_bias=with_bias)
        self.key = dense(width, kv_heads * size, std, with_bias=with_bias)
        self.value = dense(width, kv_heads * size, std, with_bias=with_bias)
        self.out = dense(heads * size, width, std, with_bias=config.attention_bias)
        self._has_norms = config.has_head_norms
        if config.has_head_norms:
            self.query_norm = RMSNorm(size, config.rms_norm_eps)
            self.key_norm = RMSNorm(size, config.rms_norm_eps)
        super().__init__()

    def _forward(self, x: Array, turn: tuple[Any, Any], masks: dict[Any, Any], cache: Any) -> Any:
        q, k = to_heads(self.query(x), self._heads), to_heads(self.key(x), self._kv_heads)
        v = to_heads(self.value(x), self._kv_heads)
        if self._has_norms:
            q, k = self.query_norm(q), self.key_norm(k)
        q, k = rotated(q, turn), rotated(k, turn)
        if cache is not None:
            cache = extend_cache(cache, k, v)
            k, v = cache.keys, cache.values
        mask = masks[self._window]
        y = scaled_dot_product_attention(
            q,
            k,
            v,
            mask=mask,
            is_causal=mask is None,
            dropout_p=self._dropout,
            training=self.training,
        )
        return self.out(from_heads(y)), cache


class Block(Module):
    """Attention, then a gated pair of dense layers; a norm before each."""

    def __init__(self, config: LlamaConfig, layer: int):
        width, inner, std = config.hidden_size, config.intermediate_size, config.initializer_range
        self.attention_norm = RMSNorm(width, config.rms_norm_eps)
        self.attention = Attention(config, layer)
        self.norm = RMSNorm(width, config.rms_norm_eps)
        self.gate = dense(width, inner, std, with_bias=config.mlp_bias)
        self.up = dense(width, inner, std, with_bias=config.mlp_bias)
        self.down = dense(inner, width, std, with_bias=config.mlp_bias)
        self._activation = activation(config.hidden_act)
        super().__init__()

    def _forward(self, x: Array, turn: tuple[Any, Any], masks: dict[Any, Any], cache: Any) -> Any:
        y, cache = self.attention(self.attention_norm(x), turn, masks, cache)
        x = x + y
        y = self.norm(x)
        return x + self.down(self._activation(self.gate(y)) * self.up(y)), cache


class Llama(Pretrained):
    """Llama, and with their configurations Mistral, Qwen2 and Qwen3: a language model.

    `model(tokens)` of int tokens (batch, T) gives logits (batch, T, vocab_size). With a cache,
    `cache = model.init_cache(batch, length)`, a call reads the next tokens only: `logits, cache =
    model(tokens, cache=cache)`; `trellis.generate` does so; with `last_only=True` it gives the
    logits of the last token alone. `mask` is 1 or True at real tokens and
    0 at padding. With `return_hidden_states=True` the first result is the pair of logits and all
    states: the embeddings, after each layer but the last, and after the last norm.

    >>> import numpy as np
    >>> from trellis import models
    >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16}
    >>> model = models.Llama(models.LlamaConfig(vocab_size=30, num_hidden_layers=1, **sizes))
    >>> tokens = np.array([[2, 7, 3]])
    >>> model(tokens).shape
    (1, 3, 30)
    >>> logits, cache = model(tokens, cache=model.init_cache(1, 16))
    """

    config_class = LlamaConfig
    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLM",)
    prefix = "model."
    names: ClassVar[dict[str, str]] = {
        "words": "model.embed_tokens",
        "layers/*/attention_norm": "model.layers.*.input_layernorm",
        "layers/*/attention/query": "model.layers.*.self_attn.q_proj",
        "layers/*/attention/key": "model.layers.*.self_attn.k_proj",
        "layers/*/attention/value": "model.layers.*.self_attn.v_proj",
        "layers/*/attention/out": "model.layers.*.self_attn.o_proj",
        "layers/*/attention/query_norm": "model.layers.*.self_attn.q_norm",
        "layers/*/attention/key_norm": "model.layers.*.self_attn.k_norm",
        "layers/*/norm": "model.layers.*.post_attention_layernorm",
        "layers/*/gate": "model.layers.*.mlp.gate_proj",
        "layers/*/up": "model.layers.*.mlp.up_proj",
        "layers/*/down": "model.layers.*.mlp.down_proj",
        "norm": "model.norm",
        "head": "lm_head",
    }
    constants = ("rotary_emb.inv_freq",)
    second_names: ClassVar[dict[str, str]] = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: LlamaConfig, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: sizes, and which of the family it is
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: LlamaConfig) -> None:
        layers = range(config.num_hidden_layers)
        self.words = table(config.vocab_size, config.hidden_size, config.initializer_range)
        self.layers = [Block(config, i) for i in layers]
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        if not config.tie_word_embeddings:
            std = config.initializer_range
            self.head = dense(config.hidden_size, config.vocab_size, std, with_bias=False)
        self._rates = rotary_rates(config)
        self._windows = sorted({config.window(i) or 0 for i in layers})  # 0: none

    has_last_only = True  # trellis.generate asks for no more of a long prompt

    def init_cache(self, batch: int, length: int) -> tuple[KVCache, ...]:
        """An empty cache for `length` tokens, prompt and answer together."""
        return cache_for(
            weight_of(self.words),
            len(self.layers),
            (batch, self.config.kv_heads, length, self.config.head_width),
        )

    def _forward(
        self,
        tokens: Array,
        *,
        cache: Any = None,
        mask: Array | None = None,
        return_hidden_states: bool = False,
        last_only: bool = False,
    ) -> Any:
        x = self.words(tokens)
        length = tokens.shape[1]
        if cache is None:
            positions = arange(length, backend=backend_of(x), device=device_of(x))
            masks = {w or None: causal_mask(x, length, mask, w or None) for w in self._windows}
        else:
            positions = expand_dims(cache_positions(cache[0], length), axis=1)
            masks = {w or None: cache_mask(cache[0], length, window=w or None)
                     for w in self._windows}  # fmt: skip
        turn = rotary_turn(positions, self._rates, x)
        states, caches = [x], []
        for i, layer in enumerate(self.layers):
            x, kept = layer(x, turn, masks, None if cache is None else cache[i])
            states.append(x)
            caches.append(kept)
        x = self.norm(x)
        tied = self.config.tie_word_embeddings
        last = x[:, -1:] if last_only else x
        logits = linear(last, weight_of(self.words)) if tied else self.head(last)
        result = (logits, (*states[:-1], x)) if return_hidden_states else logits
        return result if cache is None else (result, tuple(caches))


class Mistral(Llama):
    """`Llama` with the configuration of Mistral."""

    config_class = MistralConfig
    architectures = ("MistralForCausalLM",)


class Qwen2(Llama):
    """`Llama` with the configuration of Qwen2."""

    config_class = Qwen2Config
    architectures = ("Qwen2ForCausalLM",)


class Qwen3(Llama):
    """`Llama` with the configuration of Qwen3."""

    config_class = Qwen3Config
    architectures = ("Qwen3ForCausalLM",)


# Rotary positions
# ---------------------------------------------------------------------------------------------


def rotary_rates(config: LlamaConfig) -> list[float]:
    """By how much each pair of features turns from one position to the next."""
    given = {"rope_theta": 10000.0, "rope_type": "default", **config.rope_parameters}
    width, kind = config.head_width, given["rope_type"]
    rates = [float(given["rope_theta"]) ** (-2 * i / width) for i in range(width // 2)]
    if kind == "default":
        return rates
    if kind == "linear":
        return [rate / given["factor"] for rate in rates]
    if kind == "llama3":
        return [_slowed(rate, given) for rate in rates]
    raise NotSupportedError(
        f"The configuration has rope_type={kind!r}; known are 'default', 'linear' and 'llama3'."
    )


def _slowed(rate: float, given: dict[str, Any]) -> float:
    """Llama 3 slows the rates down whose waves are longer than the texts of its training."""
    turns = given["original_max_position_embeddings"] * rate / (2 * math.pi)
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    share = min(max((turns - low) / (high - low), 0.0), 1.0)
    return (1 - share) * rate / given["factor"] + share * rate


def rotary_turn(positions: Any, rates: list[float], x: Array) -> tuple[Any, Any]:
    """Cosines and sines (..., T, width / 2) of the angles, in the type of x."""
    backend, device = backend_of(x), device_of(x)
    factors = asarray(rates, dtype="float32", backend=backend, device=device)
    angles = expand_dims(astype(positions, "float32"), axis=-1) * factors
    kind = str(dtype_of(x))
    return astype(cos(angles), kind, copy=False), astype(sin(angles), kind, copy=False)


def rotated(x: Array, turn: tuple[Any, Any]) -> Any:
    """Queries or keys (batch, heads, T, width), the pair (i, i + width / 2) turned."""
    cosines, sines = turn
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return concat([a * cosines - b * sines, b * cosines + a * sines], axis=-1)
