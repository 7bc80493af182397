"""GPT-2: the decoder that many others follow."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from .._core.typing import Array
from ..functional.attention import scaled_dot_product_attention
from ..functional.cache import KVCache, cache_mask, cache_positions, extend_cache
from ..functional.dense import linear
from ..nn.layers.dropout import Dropout
from ..nn.layers.layer import Options
from ..nn.layers.norm import LayerNorm
from ..nn.module.around import weight_of
from ..nn.module.module import Module
from .configuration import Configuration
from .layers import activation, dense, from_heads, table, to_heads
from .masks import cache_for, causal_mask, check_length
from .pretrained import Pretrained


@dataclass(frozen=True, kw_only=True)
class GPT2Config(Configuration):
    """The configuration of `GPT2`.

    >>> from trellis import models
    >>> models.GPT2Config().inner
    3072
    """

    model_type: ClassVar[str] = "gpt2"
    harmless: ClassVar[frozenset[str]] = frozenset(
        "n_ctx reorder_and_upcast_attn summary_activation summary_first_dropout "
        "summary_proj_to_labels summary_type summary_use_proj id2label".split()
    )

    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    resid_pdrop: float = 0.1
    embd_pdrop: float = 0.1
    attn_pdrop: float = 0.1
    layer_norm_epsilon: float = 1e-5
    initializer_range: float = 0.02
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    tie_word_embeddings: bool = True

    @property
    def inner(self) -> int:
        """Width of the hidden layer between the two of a block."""
        return 4 * self.n_embd if self.n_inner is None else self.n_inner


class Attention(Module):
    """Causal attention whose queries, keys and values come from one dense layer."""

    def __init__(self, config: GPT2Config, layer: int):
        width, std = config.n_embd, config.initializer_range
        config._check_heads(width, config.n_head)
        self._heads, self._dropout = config.n_head, config.attn_pdrop
        scale = (width // config.n_head) ** -0.5 if config.scale_attn_weights else 1.0
        self._scale = scale / (layer + 1) if config.scale_attn_by_inverse_layer_idx else scale
        self.inputs = dense(width, 3 * width, std)
        self.out = dense(width, width, std / math.sqrt(2 * config.n_layer))
        super().__init__()

    def _forward(self, x: Array, mask: Array | None, cache: Any) -> Any:
        width = x.shape[-1]
        joint = self.inputs(x)
        q, k, v = [to_heads(joint[..., i * width : (i + 1) * width], self._heads) for i in range(3)]
        if cache is not None:
            cache = extend_cache(cache, k, v)
            k, v = cache.keys, cache.values
        y = scaled_dot_product_attention(
            q,
            k,
            v,
            mask=mask,
            is_causal=mask is None,
            scale=self._scale,
            dropout_p=self._dropout,
            training=self.training,
        )
        return self.out(from_heads(y)), cache


class Block(Module):
    """Attention, then two dense layers; a norm before each."""

    def __init__(self, config: GPT2Config, layer: int):
        width, std = config.n_embd, config.initializer_range
        self.attention_norm = LayerNorm(width, config.layer_norm_epsilon)
        self.attention = Attention(config, layer)
        self.norm = LayerNorm(width, config.layer_norm_epsilon)
        self.inner = dense(width, config.inner, std)
        self.outer = dense(config.inner, width, std / math.sqrt(2 * config.n_layer))
        self.dropout = Dropout(config.resid_pdrop)
        self._activation = activation(config.activation_function)
        super().__init__()

    def _forward(self, x: Array, mask: Array | None, cache: Any) -> Any:
        y, cache = self.attention(self.attention_norm(x), mask, cache)
        x = x + self.dropout(y)
        y = self.outer(self._activation(self.inner(self.norm(x))))
        return x + self.dropout(y), cache


class GPT2(Pretrained):
    """GPT-2: a language model with learned positions.

    `model(tokens)` of int tokens (batch, T) gives logits (batch, T, vocab_size). With a cache,
    `cache = model.init_cache(batch, length)`, a call reads the next tokens only: `logits, cache =
    model(tokens, cache=cache)`; `trellis.generate` does so; with `last_only=True` it gives the
    logits of the last token alone. `mask` is 1 or True at real tokens and
    0 at padding. With `return_hidden_states=True` the first result is the pair of logits and all
    states: the embeddings, after each layer but the last, and after the last norm.

    >>> import numpy as np
    >>> from trellis import models
    >>> config = models.GPT2Config(vocab_size=30, n_embd=8, n_head=2, n_layer=1, n_positions=16)
    >>> models.GPT2(config).eval()(np.array([[2, 7, 3]])).shape
    (1, 3, 30)
    """

    config_class = GPT2Config
    architectures = ("GPT2LMHeadModel",)
    prefix = "transformer."
    names: ClassVar[dict[str, str]] = {
        "words": "transformer.wte",
        "positions": "transformer.wpe",
        "layers/*/attention_norm": "transformer.h.*.ln_1",
        "layers/*/attention/inputs": "transformer.h.*.attn.c_attn",
        "layers/*/attention/out": "transformer.h.*.attn.c_proj",
        "layers/*/norm": "transformer.h.*.ln_2",
        "layers/*/inner": "transformer.h.*.mlp.c_fc",
        "layers/*/outer": "transformer.h.*.mlp.c_proj",
        "norm": "transformer.ln_f",
        "head": "lm_head",
    }
    # There, the matrices of these layers are (in, out).
    layouts: ClassVar[dict[str, tuple[int, ...]]] = {
        "layers/*/attention/inputs/w": (1, 0),
        "layers/*/attention/out/w": (1, 0),
        "layers/*/inner/w": (1, 0),
        "layers/*/outer/w": (1, 0),
    }
    constants = ("attn.bias", "attn.masked_bias")
    second_names: ClassVar[dict[str, str]] = {"lm_head.weight": "transformer.wte.weight"}

    def __init__(self, config: GPT2Config, **options: Unpack[Options]):
        """A model of that configuration.

        Arguments:
            config: the sizes
            options: those of `Module`
        """
        super().__init__(config, **options)

    def _make(self, config: GPT2Config) -> None:
        width, std = config.n_embd, config.initializer_range
        self.words = table(config.vocab_size, width, std)
        self.positions = table(config.n_positions, width, std)
        self.dropout = Dropout(config.embd_pdrop)
        self.layers = [Block(config, i) for i in range(config.n_layer)]
        self.norm = LayerNorm(width, config.layer_norm_epsilon)
        if not config.tie_word_embeddings:
            self.head = dense(width, config.vocab_size, std, with_bias=False)

    has_last_only = True  # trellis.generate asks for no more of a long prompt

    def init_cache(self, batch: int, length: int) -> tuple[KVCache, ...]:
        """An empty cache for `length` tokens, prompt and answer together."""
        config = self.config
        check_length(self, length, config.n_positions)
        sizes = (batch, config.n_head, length, config.n_embd // config.n_head)
        return cache_for(weight_of(self.words), config.n_layer, sizes)

    def _forward(
        self,
        tokens: Array,
        *,
        cache: Any = None,
        mask: Array | None = None,
        return_hidden_states: bool = False,
        last_only: bool = False,
    ) -> Any:
        length = tokens.shape[1]
        check_length(self, length, self.config.n_positions)
        x = self.words(tokens)
        if cache is None:
            positions, seen = weight_of(self.positions)[:length], causal_mask(x, length, mask)
        else:
            positions = self.positions(cache_positions(cache[0], length))
            seen = cache_mask(cache[0], length)
        x = self.dropout(x + positions)
        states, caches = [x], []
        for i, layer in enumerate(self.layers):
            x, kept = layer(x, seen, None if cache is None else cache[i])
            states.append(x)
            caches.append(kept)
        x = self.norm(x)
        tied = self.config.tie_word_embeddings
        last = x[:, -1:] if last_only else x
        logits = linear(last, weight_of(self.words)) if tied else self.head(last)
        result = (logits, (*states[:-1], x)) if return_hidden_states else logits
        return result if cache is None else (result, tuple(caches))
