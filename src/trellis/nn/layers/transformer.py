"""The layers of a transformer."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Unpack

from ..._core.errors import ArgumentError
from ..._core.typing import A, Array
from ...functional.cache import KVCache
from .activation import activation_function
from .attention import MemoryCache, MultiHeadAttention, Positions
from .dropout import Dropout
from .layer import Layer, Options
from .linear import Linear
from .norm import LayerNorm

Activation = str | Callable[[Any], Any]


class DecoderCache(NamedTuple):
    """What a decoder layer keeps: its own keys and values, and those of its memory."""

    own: KVCache
    memory: MemoryCache


class _TransformerLayer(Layer):
    """What encoder and decoder layers share: the parts, and the order of the norms."""

    with_memory: ClassVar[bool]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 8,
        feedforward_channels: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
        num_kv_heads: int | None = None,
        positions: Positions = None,
        rotary_base: float = 10000.0,
        window: int | None = None,
        **options: Unpack[Options],
    ):
        """A layer of a transformer.

        Arguments:
            embed_dim: width of the input and of the result
            num_heads: number of heads, a divisor of `embed_dim`
            feedforward_channels: width inside the feed-forward part
            dropout: probability that an element is dropped in training
            activation: a function, or the name of one, between the two dense layers
            norm_first: whether each part normalises its input, not its result
            eps: added to the variance by the norms
            num_kv_heads: number of heads of keys and values, a divisor of `num_heads`
            positions: "rotary" or "alibi" in the self-attention; see `MultiHeadAttention`
            rotary_base: the base of the rotary angles
            window: how far, in places, the self-attention sees
            options: those of `Module`
        """
        self._attention = MultiHeadAttention(
            embed_dim,
            num_heads,
            num_kv_heads,
            dropout=dropout,
            positions=positions,
            rotary_base=rotary_base,
            window=window,
        )
        if self.with_memory:
            self._cross_attention = MultiHeadAttention(
                embed_dim, num_heads, num_kv_heads, dropout=dropout
            )
        self._linear1 = Linear(embed_dim, feedforward_channels)
        self._linear2 = Linear(feedforward_channels, embed_dim)
        self._dropout = Dropout(dropout)
        self._activation = activation_function(activation)
        self._is_norm_first = norm_first
        self._norm1, self._norm2 = LayerNorm(embed_dim, eps), LayerNorm(embed_dim, eps)
        if self.with_memory:
            self._norm3 = LayerNorm(embed_dim, eps)
        super().__init__(**options)

    def _feed_forward(self, x: Array) -> Any:
        return self._linear2(self._dropout(self._activation(self._linear1(x))))

    def _residual(self, x: Array, norm: LayerNorm, fn: Callable[[Any], Any]) -> Any:
        if self._is_norm_first:
            return x + self._dropout(fn(norm(x)))
        return norm(x + self._dropout(fn(x)))

    def _attended(self, x: Array, attention_mask: Array | None, padding_mask: Array | None,
                  is_causal: bool, cache: Any) -> tuple[Any, Any]:  # fmt: skip
        """Self-attention, with its residual and norm, and the cache."""
        y = self._norm1(x) if self._is_norm_first else x
        y = self._attention(
            y,
            attention_mask=attention_mask,
            key_padding_mask=padding_mask,
            is_causal=is_causal,
            cache=cache,
        )
        if cache is not None:
            y, cache = y
        y = x + self._dropout(y)
        return (y if self._is_norm_first else self._norm1(y)), cache


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with a residual and a layer norm.

    With `cache`, of `init_cache`, it is the layer of a decoder that continues from the tokens
    before,
    and gives (result, cache).

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.TransformerEncoderLayer(8, num_heads=2, feedforward_channels=16)
    >>> layer.eval()(np.ones((2, 5, 8), "float32")).shape
    (2, 5, 8)
    """

    with_memory = False

    def _forward(
        self,
        x: A,
        /,
        *,
        attention_mask: Array | None = None,
        key_padding_mask: Array | None = None,
        is_causal: bool = False,
        cache: KVCache | None = None,
    ) -> Any:
        x, cache = self._attended(x, attention_mask, key_padding_mask, is_causal, cache)
        x = self._residual(x, self._norm2, self._feed_forward)
        return x if cache is None else (x, cache)

    def init_cache(self, batch: int, length: int, /) -> KVCache:
        """An empty cache for sequences of up to `length` tokens."""
        return self._attention.init_cache(batch, length)


class TransformerDecoderLayer(_TransformerLayer):
    """Causal or masked self-attention, attention to `memory`, and a feed-forward network.

    With `cache`, of `init_cache`, it continues from the tokens before: the memory is in the cache,
    and it gives (result, cache).

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.TransformerDecoderLayer(8, num_heads=2, feedforward_channels=16).eval()
    >>> x, memory = np.ones((2, 5, 8), "float32"), np.ones((2, 7, 8), "float32")
    >>> layer(x, memory, is_causal=True).shape
    (2, 5, 8)
    >>> y, cache = layer(x[:, :1], cache=layer.init_cache(2, 5, memory))
    >>> y.shape
    (2, 1, 8)
    """

    with_memory = True

    def _forward(
        self,
        x: A,
        memory: A | None = None,
        /,
        *,
        attention_mask: Array | None = None,
        key_padding_mask: Array | None = None,
        memory_mask: Array | None = None,
        memory_key_padding_mask: Array | None = None,
        is_causal: bool = False,
        cache: DecoderCache | None = None,
    ) -> Any:
        if (memory is None) == (cache is None):
            raise ArgumentError(
                "TransformerDecoderLayer expects memory once, as an argument or in init_cache(): "
                "write layer(x, memory) or layer(x, cache=layer.init_cache(batch, length, memory))."
            )
        kept = None if cache is None else cache.memory
        padding = memory_key_padding_mask if kept is None else kept.padding_mask

        def look(x: Array) -> Any:
            return self._cross_attention(
                x, memory, attention_mask=memory_mask, key_padding_mask=padding, memory=kept
            )

        own = None if cache is None else cache.own
        x, own = self._attended(x, attention_mask, key_padding_mask, is_causal, own)
        x = self._residual(x, self._norm2, look)
        x = self._residual(x, self._norm3, self._feed_forward)
        return x if cache is None else (x, DecoderCache(own, cache.memory))

    def init_cache(
        self,
        batch: int,
        length: int,
        memory: Array,
        /,
        *,
        memory_key_padding_mask: Array | None = None,
    ) -> DecoderCache:
        """A cache with the keys and values of the memory, for up to `length` tokens."""
        kept = self._cross_attention.memory_cache(memory, key_padding_mask=memory_key_padding_mask)
        return DecoderCache(self._attention.init_cache(batch, length), kept)
