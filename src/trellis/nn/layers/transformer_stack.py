"""Transformers: layers of one kind in a row, and encoder and decoder together."""

from typing import Any, Unpack

from ..._core.typing import A, Array
from .layer import Layer, Options
from .norm import LayerNorm
from .transformer import Activation, TransformerDecoderLayer, TransformerEncoderLayer


class _Stack(Layer):
    def __init__(
        self,
        num_layers: int,
        embed_dim: int,
        num_heads: int = 8,
        feedforward_channels: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        norm_first: bool = False,
        **options: Unpack[Options],
    ):
        """Layers of a transformer in a row, with a norm after the last one if `norm_first`.

        Arguments:
            num_layers: number of layers
            embed_dim: width of the input and of the result
            num_heads: number of heads, a divisor of `embed_dim`
            feedforward_channels: width inside the feed-forward parts
            dropout: probability that an element is dropped in training
            activation: a function, or the name of one, between the two dense layers
            norm_first: whether each part normalises its input, not its result
            options: those of `Module`
        """
        sizes = (embed_dim, num_heads, feedforward_channels, dropout, activation, norm_first)
        self._layers = [self._layer(*sizes) for _ in range(num_layers)]
        self._norm = LayerNorm(embed_dim) if norm_first else None
        super().__init__(**options)

    def _layer(self, *sizes: Any) -> Any:
        raise NotImplementedError

    def _normed(self, x: Any) -> Any:
        return x if self._norm is None else self._norm(x)


class TransformerEncoder(_Stack):
    """`num_layers` of `TransformerEncoderLayer`.

    >>> import numpy as np, trellis
    >>> encoder = trellis.nn.TransformerEncoder(2, 8, num_heads=2, feedforward_channels=16)
    >>> encoder.eval()(np.ones((2, 5, 8), "float32")).shape
    (2, 5, 8)
    """

    def _layer(self, *sizes: Any) -> Any:
        return TransformerEncoderLayer(*sizes)

    def _forward(
        self,
        x: A,
        /,
        *,
        attention_mask: Array | None = None,
        key_padding_mask: Array | None = None,
        is_causal: bool = False,
    ) -> Any:
        for layer in self._layers:
            x = layer(
                x,
                attention_mask=attention_mask,
                key_padding_mask=key_padding_mask,
                is_causal=is_causal,
            )
        return self._normed(x)


class TransformerDecoder(_Stack):
    """`num_layers` of `TransformerDecoderLayer`, which all look at the same memory.

    >>> import numpy as np, trellis
    >>> decoder = trellis.nn.TransformerDecoder(2, 8, num_heads=2, feedforward_channels=16).eval()
    >>> x, memory = np.ones((2, 5, 8), "float32"), np.ones((2, 7, 8), "float32")
    >>> decoder(x, memory, is_causal=True).shape
    (2, 5, 8)
    """

    def _layer(self, *sizes: Any) -> Any:
        return TransformerDecoderLayer(*sizes)

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
    ) -> Any:
        for layer in self._layers:
            x = layer(
                x,
                memory,
                attention_mask=attention_mask,
                key_padding_mask=key_padding_mask,
                memory_mask=memory_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                is_causal=is_causal,
            )
        return self._normed(x)


class Transformer(Layer):
    """An encoder, and a decoder that looks at what it returns; causal unless said otherwise.

    >>> import numpy as np, trellis
    >>> model = trellis.nn.Transformer(8, num_heads=2, num_layers=1, feedforward_channels=16).eval()
    >>> source, target = np.ones((2, 7, 8), "float32"), np.ones((2, 5, 8), "float32")
    >>> model(source, target).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int = 8,
        num_layers: int = 6,
        feedforward_channels: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        norm_first: bool = False,
        **options: Unpack[Options],
    ):
        """An encoder and a decoder.

        Arguments:
            embed_dim: width of the inputs and of the result
            num_heads: number of heads, a divisor of `embed_dim`
            num_layers: number of layers of each
            feedforward_channels: width inside the feed-forward parts
            dropout: probability that an element is dropped in training
            activation: a function, or the name of one, between the two dense layers
            norm_first: whether each part normalises its input, not its result
            options: those of `Module`
        """
        sizes = (embed_dim, num_heads, feedforward_channels, dropout, activation, norm_first)
        self._encoder = TransformerEncoder(num_layers, *sizes)
        self._decoder = TransformerDecoder(num_layers, *sizes)
        super().__init__(**options)

    def _forward(
        self,
        source: A,
        target: A,
        /,
        *,
        source_padding_mask: Array | None = None,
        target_padding_mask: Array | None = None,
        is_causal: bool = True,
    ) -> Any:
        memory = self._encoder(source, key_padding_mask=source_padding_mask)
        return self._decoder(
            target,
            memory,
            key_padding_mask=target_padding_mask,
            memory_key_padding_mask=source_padding_mask,
            is_causal=is_causal,
        )
