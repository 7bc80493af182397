"""Multi-head attention as a layer."""

from typing import Any, Literal, NamedTuple, Unpack

from ..._core.dispatch import backend_of, xp_of
from ..._core.errors import ArgumentError
from ..._core.typing import A, Array, Device, DTypeLike
from ...functional._heads import projected, split_heads
from ...functional.cache import KVCache, init_cache
from ...functional.multi_head import multi_head_attention
from ..init import Initializer
from .layer import GLOROT, ZEROS, Layer, Options

Positions = Literal["rotary", "alibi"] | None


class MultiHeadAttention(Layer):
    """Attention with learned projections; see `trellis.multi_head_attention`.

    With `key_dim` and `value_dim` the keys and values may be wider or narrower than the queries.
    With `num_kv_heads`, blocks of query heads share one head of keys and values (grouped-query
    attention).

    With a cache the inputs are the next tokens of a sequence, and the layer also returns the new
    cache, so that no token is computed twice.

    >>> import numpy as np, trellis
    >>> layer, x = trellis.nn.MultiHeadAttention(8, num_heads=2), np.ones((2, 5, 8), "float32")
    >>> layer(x).shape
    (2, 5, 8)
    >>> y, cache = layer(x[:, :3], cache=layer.init_cache(2, 5))
    >>> y, cache = layer(x[:, 3:], cache=cache)
    >>> bool(np.allclose(y, layer(x, is_causal=True)[:, 3:], atol=1e-6))
    True
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
        positions: Positions = None,
        rotary_base: float = 10000.0,
        window: int | None = None,
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
            weight_initializer: initial values of the projections
            bias_initializer: initial values of their biases
            positions: "rotary" to rotate queries and keys by their positions, "alibi" to see keys
                the less the farther away they are
            rotary_base: the base of the rotary angles
            window: how far, in places, a query sees; everything unless given
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
                f"num_kv_heads={kv_heads} and num_heads={num_heads}."
            )
        self._kv_heads = kv_heads
        self._options: dict[str, Any] = {
            "num_heads": num_heads,
            "num_kv_heads": kv_heads,
            "scale": scale,
            "add_zero_attn": add_zero_attn,
            "batch_first": batch_first,
            "dropout": dropout,
            "positions": positions,
            "rotary_base": rotary_base,
            "window": window,
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
            v["bias_k"], v["bias_v"] = weights(1, kv)[0, ...], weights(1, kv)[0, ...]
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
        cache: KVCache | None = None,
        memory: "MemoryCache | None" = None,
    ) -> Any:
        static = {} if memory is None else _static_heads(memory)
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
            cache=cache,
            **static,
            **self._options,
            **self.v,
        )

    def init_cache(self, batch: int, length: int, /) -> KVCache:
        """An empty cache for sequences of up to `length` tokens; see `trellis.functional`."""
        like = self.v.out_proj_weights
        return init_cache(
            batch,
            self._kv_heads,
            length,
            self._embed_dim // self._num_heads,
            dtype=like.dtype,
            device=xp_of(like).device(like),
            backend=backend_of(like),
        )

    def memory_cache(
        self, key: Array, value: Array | None = None, /, *, key_padding_mask: Array | None = None
    ) -> "MemoryCache":
        """The keys and values of a memory that is the same at every step, projected once.

        Pass it as `layer(query, memory=...)`, in place of key, value and key_padding_mask.
        """
        xp, v = xp_of(key), self.v
        value = key if value is None else value
        if not self._options["batch_first"]:
            key, value = [xp.permute_dims(x, (1, 0, 2)) for x in (key, value)]
        wide = self._embed_dim
        kv = wide // self._num_heads * self._kv_heads
        weights = [v.get(f"{part}_proj_weights") for part in "qkv"]
        parts = projected(
            "memory_cache", xp, (key, key, value), weights, v.get("in_proj_weights"),
            v.get("in_proj_bias"), (0, wide, wide + kv, wide + 2 * kv), (True, False, False),
        )  # fmt: skip
        keys, values = [split_heads(xp, x, self._kv_heads) for x in parts[1:]]
        return MemoryCache(keys, values, key_padding_mask)

    def extra_repr(self) -> str:
        shared = f", num_kv_heads={self._kv_heads}" if self._kv_heads != self._num_heads else ""
        return f"{self._embed_dim}, num_heads={self._num_heads}{shared}"


class MemoryCache(NamedTuple):
    """Keys and values (batch, kv_heads, S, head_dim) of a memory, and which of it is padding."""

    keys: Any
    values: Any
    padding_mask: Any


def _static_heads(memory: MemoryCache) -> dict[str, Any]:
    """As `multi_head_attention` takes heads that are projected already."""
    xp = xp_of(memory.keys)
    n, heads, length, width = memory.keys.shape
    parts = [xp.reshape(x, (n * heads, length, width)) for x in memory[:2]]
    return {"static_k": parts[0], "static_v": parts[1]}
