"""One adapter of one matrix: two thin matrices whose product is added, and with DoRA a length for
each output.

The weight is (outputs, inputs), `a` (rank, inputs), `b` (outputs, rank). LoRA computes with
w + scale * (b @ a); DoRA gives each row of that the learned length `m`. The length that it has is a
constant to the gradient, as in the paper (Liu et al., 2024) and in PEFT.
"""

from typing import Any, Unpack

from ..._array.elementwise import sqrt
from ..._array.manipulation import expand_dims
from ..._array.products import matmul, matrix_transpose
from ..._array.reduction import sum as sum_
from ..._core.container import Container
from ..._core.typing import Array, Device, DTypeLike
from ..._gradients.transforms import stop_gradient
from ...functional.dense import dropout, linear
from ...functional.embedding import embedding
from ..init import Normal, VarianceScaling, Zeros
from ..layers.layer import Options
from ..module.module import Module

# Uniform up to one over the root of the inputs: where PEFT and the paper begin.
_UNIFORM = VarianceScaling(1.0 / 3.0, "fan_in", "uniform")


class Adapter(Module):
    """A pair of thin matrices beside a weight of (outputs, inputs)."""

    def __init__(
        self,
        sizes: tuple[int, int],
        rank: int,
        scale: float,
        dropout: float,
        with_length: bool,
        is_table: bool,
        weight: Any = None,
        **options: Unpack[Options],
    ):
        self._sizes, self._rank, self.scale, self.dropout = sizes, rank, scale, dropout
        self.with_length, self._is_table = with_length, is_table
        self._begin = lengths(stop_gradient(weight)) if with_length else None
        super().__init__(**options)
        self._begin = None

    @property
    def rank(self) -> int:
        return self._rank

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        outputs, inputs = self._sizes
        options: dict[str, Any] = {"dtype": dtype, "device": device}
        # The product begins at zero: one of the two does, in a table the one that is read by index.
        make_a, make_b = (Zeros(), Normal(0.0, 1.0)) if self._is_table else (_UNIFORM, Zeros())
        options |= {"fan_in": inputs, "fan_out": outputs}
        v = {
            "a": make_a((self._rank, inputs), **options),
            "b": make_b((outputs, self._rank), **options),
        }
        if self._begin is not None:
            v["m"] = self._begin
        return v

    def added(self, x: Array, y: Array, w: Any, bias: Any) -> Any:
        """What is added to the output y of a dense layer, of the input x."""
        v = self.v
        is_dropping = self.dropout > 0 and self.training
        x = dropout(x, self.dropout, training=True) if is_dropping else x
        low = linear(linear(x, v["a"]), v["b"]) * self.scale
        if not self.with_length:
            return low
        ratio = v["m"] / lengths(stop_gradient(self._sum(w)))
        if is_dropping:
            base = linear(x, w)
        else:
            base = y if bias is None else y - bias
        return (ratio - 1) * base + ratio * low

    def rows(self, indices: Array) -> Any:
        """What is added to the rows of a table, a weight of (width, rows) in these letters."""
        v = self.v
        return linear(embedding(indices, matrix_transpose(v["a"])), v["b"]) * self.scale

    def weight(self, w: Any, *, is_turned: bool = False) -> Any:
        """The weight that computes the same; `is_turned` is one of (inputs, outputs)."""
        w = matrix_transpose(w) if is_turned else w
        whole = self._sum(w)
        if self.with_length:
            ratio = self.v["m"] / lengths(stop_gradient(whole))
            whole = expand_dims(ratio, axis=1) * whole
        return matrix_transpose(whole) if is_turned else whole

    def _sum(self, w: Any) -> Any:
        v: Container = self.v
        return w + matmul(v["b"], v["a"]) * self.scale

    def extra_repr(self) -> str:
        kind = "dora" if self.with_length else "lora"
        return f"{kind}, rank={self._rank}, scale={self.scale:g}"


def lengths(w: Any) -> Any:
    """The length of each row."""
    return sqrt(sum_(w * w, axis=1))
