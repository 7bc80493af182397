"""Small pieces that several models use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._array.elementwise import tanh
from .._array.manipulation import permute_dims, reshape
from .._core.errors import NotSupportedError
from .._core.settings import Setting
from .._core.typing import Array, Seed
from ..functional import activation as functions
from ..functional.attention import scaled_dot_product_attention
from ..nn import init
from ..nn.layers.embedding import Embedding
from ..nn.layers.linear import Linear
from ..nn.module.module import Module


class Blank(NamedTuple):
    """Zeros that stand for initial weights, and how those are drawn should no file bring any."""

    zeros: Array
    initializer: init.Initializer
    wanted: Any


class Blanks:
    """What was left blank while a model was created."""

    def __init__(self) -> None:
        self._found: list[Blank] = []

    def add(self, zeros: Array, initializer: init.Initializer, wanted: Any) -> None:
        self._found.append(Blank(zeros, initializer, wanted))

    def fresh(self, x: Array) -> Array:
        """The initial value that a variable would have had; x itself if that was not left blank."""
        for blank in self._found:
            if blank.zeros is x:
                return blank.initializer._filled(blank.wanted, None)
        return x


class _Postponed(init.Initializer):
    """Zeros, and a note of what would have been drawn."""

    def __init__(self, initializer: init.Initializer, blanks: Blanks):
        self._initializer, self._blanks = initializer, blanks

    def _filled(self, wanted: Any, key: Seed) -> Array:
        zeros = init.Zeros()._filled(wanted, key)
        self._blanks.add(zeros, self._initializer, wanted)
        return zeros


# A model whose weights come from a file begins with zeros, which take neither time nor memory.
_blanks: Setting[Blanks | None] = Setting("trellis_models_blank", None)


@contextmanager
def blank_weights() -> Iterator[Blanks]:
    """Models created inside have zeros as initial weights; what is given can draw real ones."""
    blanks = Blanks()
    with _blanks.using(blanks):
        yield blanks


def _or_blank(initializer: init.Initializer) -> Any:
    blanks = _blanks.get()
    return initializer if blanks is None else _Postponed(initializer, blanks)


def normal(std: float) -> Any:
    """Normal weights of that deviation, or zeros where a file will bring others."""
    return _or_blank(init.Normal(0.0, std))


def he() -> Any:
    """Normal weights for filters before a relu, or zeros where a file will bring others."""
    return _or_blank(init.VarianceScaling(2.0, "fan_out", "normal"))


def dense(inputs: int, outputs: int, std: float, *, with_bias: bool = True) -> Linear:
    """A dense layer with normally distributed initial weights."""
    return Linear(inputs, outputs, with_bias, weight_initializer=normal(std))


def table(rows: int, width: int, std: float) -> Embedding:
    """An embedding table with normally distributed initial vectors."""
    return Embedding(rows, width, weight_initializer=normal(std))


def to_heads(x: Array, heads: int) -> Any:
    """(batch, T, heads * F) -> (batch, heads, T, F)."""
    batch, length, width = x.shape
    sizes = (-1 if batch is None else batch, -1 if length is None else length)
    return permute_dims(reshape(x, (*sizes, heads, width // heads)), (0, 2, 1, 3))


def from_heads(x: Array) -> Any:
    """(batch, heads, T, F) -> (batch, T, heads * F)."""
    batch, heads, length, width = x.shape
    sizes = (-1 if batch is None else batch, -1 if length is None else length)
    return reshape(permute_dims(x, (0, 2, 1, 3)), (*sizes, heads * width))


class SeparateAttention(Module):
    """Attention whose queries, keys and values come from a dense layer each.

    A model's own class assigns `query`, `key`, `value` and `out`, `_heads` and `_dropout`.
    """

    query: Linear
    key: Linear
    value: Linear
    out: Linear
    _heads: int
    _dropout: float
    _scale: float | None = None  # of the products; None is one over the root of a head's width

    def keys_values(self, x: Array) -> tuple[Any, Any]:
        return to_heads(self.key(x), self._heads), to_heads(self.value(x), self._heads)

    def _forward(
        self, x: Array, mask: Array | None = None, *, is_causal: bool = False, memory: Any = None
    ) -> Any:
        """`memory` is the pair of keys and values, where they are not those of x."""
        q = to_heads(self.query(x), self._heads)
        k, v = self.keys_values(x) if memory is None else memory
        options: dict[str, Any] = {"dropout_p": self._dropout, "training": self.training}
        y = scaled_dot_product_attention(
            q, k, v, mask=mask, is_causal=is_causal, scale=self._scale, **options
        )
        return self.out(from_heads(y))


def _gelu_new(x: Array) -> Any:
    return functions.gelu(x, approximate=True)


def _quick_gelu(x: Array) -> Any:
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
