"""Attention and the layers of a transformer."""

from collections.abc import Callable
from typing import Any, ClassVar, Unpack

from ..._core.errors import ArgumentError
from ..._core.typing import A, Array, Device, DTypeLike
from ...functional.multi_head import multi_head_attention
from ..init import Initializer
from .activation import activation_function
from .dropout import Dropout
from .layer import GLOROT, ZEROS, Layer, Options
from .linear import Linear
from .norm import LayerNorm

Activation = str | Callable[[Any], Any]


class MultiHeadAttention(Layer):
    """Attention with learned projections; see `trellis.multi_head_attention`.

    With `key_dim` and `value_dim` the keys and values may be wider or narrower than the queries.
    With `num_kv_heads`, blocks of query heads share one head of keys and values (grouped-query
    attention).

    >>> import numpy as np, trellis
    >>> trellis.nn.MultiHeadAttention(8, num_heads=2)(np.ones((2, 5, 8), "float32")).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 8,
        num_kv_heads: int | None = None,
        key_dim: int | None = None,
        value_dim: int | None = None,
        dropout: float = 0.0,
        with_bias: bool = True,
        scale: float | None = None,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        batch_first: bool = True,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        **options: Unpack[Options],
    ):
        """Multi-head attention.

        Arguments:
            embed_dim: width of the queries and of the result
            num_heads: number of heads, a divisor of `embed_dim`
            num_kv_heads: number of heads of keys and values, a divisor of `num_heads`
            key_dim: width of the keys, that of the queries unless given
            value_dim: width of the values, that of the queries unless given
            dropout: probability that a weight is dropped in training
            with_bias: whether the projections have biases
            scale: factor of the products, 1 / sqrt(width of a head) unless given
            add_bias_kv: whether one learned key and value are appended
            add_zero_attn: whether a key and value of zeros are appended
            batch_first: whether inputs are (batch, length, width), not (length, batch, width)
            weight_initializer: what the projections begin with
            bias_initializer: what their biases begin with
            options: those of `Module`
        """
        self._embed_dim, self._num_heads = embed_dim, num_heads
        self._key_dim = embed_dim if key_dim is None else key_dim
        self._value_dim = embed_dim if value_dim is None else value_dim
        self._with_bias, self._add_bias_kv = with_bias, add_bias_kv
        self._initializers = (weight_initializer, bias_initializer)
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if kv_heads < 1 or num_heads % kv_heads:
            raise ArgumentError(
                "MultiHeadAttention expects num_kv_heads to divide num_heads, got "
                f"num_kv_heads={kv_heads} and "
                f"num_heads={num_heads}."
            )
        self._kv_heads = kv_heads
        self._options: dict[str, Any] = {
            "num_heads": num_heads,
            "num_kv_heads": kv_heads,
            "scale": scale,
            "add_zero_attn": add_zero_attn,
            "batch_first": batch_first,
            "dropout": dropout,
        }
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        e = self._embed_dim
        kv = e // self._num_heads * self._kv_heads  # the width of keys and values
        make_w, make_b = self._initializers
        options: dict[str, Any] = {"dtype": dtype, "device": device}

        def weights(rows: int, columns: int) -> Any:
            return make_w((rows, columns), fan_in=columns, fan_out=rows, **options)

        if self._key_dim == self._value_dim == e:
            v = {"in_proj_weights": weights(e + 2 * kv, e)}
        else:
            v = {
                "q_proj_weights": weights(e, e),
                "k_proj_weights": weights(kv, self._key_dim),
                "v_proj_weights": weights(kv, self._value_dim),
            }
        v["out_proj_weights"] = weights(e, e)
        if self._with_bias:
            v["in_proj_bias"] = make_b((e + 2 * kv,), fan_in=e, fan_out=e + 2 * kv, **options)
            v["out_proj_bias"] = make_b((e,), fan_in=e, fan_out=e, **options)
        if self._add_bias_kv:
            v["bias_k"], v["bias_v"] = weights(1, kv)[0], weights(1, kv)[0]
        return v

    def _forward(
        self,
        query: A,
        /,
        key: Array | None = None,
        value: Array | None = None,
        *,
        attention_mask: Array | None = None,
        key_padding_mask: Array | None = None,
        is_causal: bool = False,
        return_attention_weights: bool = False,
        average_attention_weights: bool = True,
    ) -> Any:
        return multi_head_attention(
            query,
            key=key,
            value=value,
            attention_mask=attention_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            return_attention_weights=return_attention_weights,
            average_attention_weights=average_attention_weights,
            training=self.training,
            **self._options,
            **self.v,
        )

    def extra_repr(self) -> str:
        shared = f", num_kv_heads={self._kv_heads}" if self._kv_heads != self._num_heads else ""
        return f"{self._embed_dim}, num_heads={self._num_heads}{shared}"


class _TransformerLayer(Layer):
    """What encoder and decoder layers share: the parts, and where the norms stand."""

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
            options: those of `Module`
        """
        self._attention = MultiHeadAttention(embed_dim, num_heads, dropout=dropout)
        if self.with_memory:
            self._cross_attention = MultiHeadAttention(embed_dim, num_heads, dropout=dropout)
        self._linear1 = Linear(embed_dim, feedforward_channels)
        self._linear2 = Linear(feedforward_channels, embed_dim)
        self._dropout = Dropout(dropout)
        self._activation = activation_function(activation)
        self._is_norm_first = norm_first
        self._norm1, self._norm2 = LayerNorm(embed_dim, eps), LayerNorm(embed_dim, eps)
        if self.with_memory:
            self._norm3 = LayerNorm(embed_dim, eps)
        super().__init__(**options)

    def _feed_forward(self, x: Any) -> Any:
        return self._linear2(self._dropout(self._activation(self._linear1(x))))

    def _residual(self, x: Any, norm: LayerNorm, fn: Callable[[Any], Any]) -> Any:
        if self._is_norm_first:
            return x + self._dropout(fn(norm(x)))
        return norm(x + self._dropout(fn(x)))

    def _attended(self, x: Any, attention_mask: Any, padding_mask: Any, is_causal: bool) -> Any:
        """Self-attention, with its residual and norm."""

        def attend(x: Any) -> Any:
            return self._attention(
                x, attention_mask=attention_mask, key_padding_mask=padding_mask, is_causal=is_causal
            )

        return self._residual(x, self._norm1, attend)


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with a residual and a layer norm.

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
    ) -> A:
        x = self._attended(x, attention_mask, key_padding_mask, is_causal)
        y: A = self._residual(x, self._norm2, self._feed_forward)
        return y


class TransformerDecoderLayer(_TransformerLayer):
    """Causal or masked self-attention, attention to `memory`, and a feed-forward network.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.TransformerDecoderLayer(8, num_heads=2, feedforward_channels=16)
    >>> x, memory = np.ones((2, 5, 8), "float32"), np.ones((2, 7, 8), "float32")
    >>> layer.eval()(x, memory, is_causal=True).shape
    (2, 5, 8)
    """

    with_memory = True

    def _forward(
        self,
        x: A,
        memory: A,
        /,
        *,
        attention_mask: Array | None = None,
        key_padding_mask: Array | None = None,
        memory_mask: Array | None = None,
        memory_key_padding_mask: Array | None = None,
        is_causal: bool = False,
    ) -> A:
        def look(x: Any) -> Any:
            return self._cross_attention(
                x, memory, attention_mask=memory_mask, key_padding_mask=memory_key_padding_mask
            )

        x = self._attended(x, attention_mask, key_padding_mask, is_causal)
        x = self._residual(x, self._norm2, look)
        y: A = self._residual(x, self._norm3, self._feed_forward)
        return y
