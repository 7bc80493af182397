"""Small pieces that several models use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._array.elementwise import tanh
from .._array.manipulation import permute_dims, reshape
from .._core.errors import NotSupportedError
from .._core.settings import Setting
from ..functional import activation as functions
from ..functional.attention import scaled_dot_product_attention
from ..nn import init
from ..nn.layers.embedding import Embedding
from ..nn.layers.linear import Linear
from ..nn.module.module import Module

# A model whose weights come from a file begins with zeros, which take neither time nor memory.
_is_blank: Setting[bool] = Setting("trellis_models_blank", False)


@contextmanager
def blank_weights() -> Iterator[None]:
    """Models made inside begin with zeros."""
    with _is_blank.using(True):
        yield


def normal(std: float) -> Any:
    """Normal weights of that deviation, or zeros where a file will bring others."""
    return init.Zeros() if _is_blank.get() else init.Normal(0.0, std)


def he() -> Any:
    """Normal weights for filters before a relu, or zeros where a file will bring others."""
    return init.Zeros() if _is_blank.get() else init.VarianceScaling(2.0, "fan_out", "normal")


def dense(inputs: int, outputs: int, std: float, *, with_bias: bool = True) -> Linear:
    """A dense layer whose weights begin with normal numbers."""
    return Linear(inputs, outputs, with_bias, weight_initializer=normal(std))


def table(rows: int, width: int, std: float) -> Embedding:
    """A table of vectors that begin with normal numbers."""
    return Embedding(rows, width, weight_initializer=normal(std))


def to_heads(x: Any, heads: int) -> Any:
    """(batch, T, heads * F) -> (batch, heads, T, F)."""
    batch, length, width = x.shape
    sizes = (-1 if batch is None else batch, -1 if length is None else length)
    return permute_dims(reshape(x, (*sizes, heads, width // heads)), (0, 2, 1, 3))


def from_heads(x: Any) -> Any:
    """(batch, heads, T, F) -> (batch, T, heads * F)."""
    batch, heads, length, width = x.shape
    sizes = (-1 if batch is None else batch, -1 if length is None else length)
    return reshape(permute_dims(x, (0, 2, 1, 3)), (*sizes, heads * width))


class Heads(Module):
    """What attention layers share: `query`, `key`, `value` and `out` are dense layers."""

    query: Linear
    key: Linear
    value: Linear
    out: Linear
    _heads: int
    _dropout: float

    def _of_itself(self, x: Any) -> tuple[Any, Any, Any]:
        """Queries, keys and values of one sequence, (batch, heads, T, F) each."""
        q, k, v = [to_heads(f(x), self._heads) for f in (self.query, self.key, self.value)]
        return q, k, v

    def keys_values(self, x: Any) -> tuple[Any, Any]:
        """What others look at."""
        return to_heads(self.key(x), self._heads), to_heads(self.value(x), self._heads)

    def _seen(
        self, q: Any, k: Any, v: Any, mask: Any, is_causal: bool = False, scale: Any = None
    ) -> Any:
        """What the queries find, back in one width."""
        y = scaled_dot_product_attention(
            q, k, v, mask=mask, is_causal=is_causal, scale=scale, dropout_p=self._dropout,
            training=self.training,
        )  # fmt: skip
        return self.out(from_heads(y))


def _gelu_new(x: Any) -> Any:
    return functions.gelu(x, approximate=True)


def _quick_gelu(x: Any) -> Any:
    return x * functions.sigmoid(1.702 * x)


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": functions.gelu,
    "gelu_new": _gelu_new,
    "gelu_pytorch_tanh": _gelu_new,
    "quick_gelu": _quick_gelu,
    "relu": functions.relu,
    "silu": functions.silu,
    "swish": functions.silu,
    "tanh": tanh,
}


def activation(name: str) -> Callable[[Any], Any]:
    """The function that a configuration names.

    >>> activation("relu").__name__
    'relu'
    """
    if name not in _ACTIVATIONS:
        raise NotSupportedError(
            f"The configuration names the activation {name!r}; known are {', '.join(_ACTIVATIONS)}."
        )
    return _ACTIVATIONS[name]
