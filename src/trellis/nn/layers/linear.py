"""Dense layers."""

from typing import Any, Unpack

from ..._array.products import einsum
from ..._core.typing import A, Device, DTypeLike
from ...functional.dense import linear
from ..init import Initializer
from .layer import GLOROT, ZEROS, Layer, Options, weight_and_bias


class Linear(Layer):
    """`x @ w.T + b` along the last axis; `w` has shape (out, in), `b` (out,).

    >>> import numpy as np, trellis
    >>> trellis.nn.Linear(4, 3)(np.ones((2, 4), "float32")).shape
    (2, 3)
    """

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        with_bias: bool = True,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        **options: Unpack[Options],
    ):
        """A dense layer.

        Arguments:
            input_channels: size of the last axis of the input
            output_channels: size of the last axis of the result
            with_bias: whether `b` is added to the result
            weight_initializer: initial values of `w`
            bias_initializer: initial values of `b`
            options: those of `Module`
        """
        self._sizes = (input_channels, output_channels)
        self._with_bias = with_bias
        self._initializers = (weight_initializer, bias_initializer)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        fan_in, fan_out = self._sizes
        out = fan_out if self._with_bias else None
        shape = (fan_out, fan_in)
        return weight_and_bias(self._initializers, shape, self._sizes, out, device, dtype)

    def _forward(self, x: A) -> A:
        v = self.v
        return linear(x, v["w"], bias=v["b"] if self._with_bias else None)

    def extra_repr(self) -> str:
        more = "" if self._with_bias else ", with_bias=False"
        return f"{self._sizes[0]}, {self._sizes[1]}{more}"


class Bilinear(Layer):
    """`y[..., k] = x1[..., i] * w[k, i, j] * x2[..., j] + b[k]`, summed over i and j.

    >>> import numpy as np, trellis
    >>> trellis.nn.Bilinear(2, 3, 4)(np.ones((5, 2), "float32"), np.ones((5, 3), "float32")).shape
    (5, 4)
    """

    def __init__(
        self,
        input1_channels: int,
        input2_channels: int,
        output_channels: int,
        with_bias: bool = True,
        weight_initializer: Initializer = GLOROT,
        bias_initializer: Initializer = ZEROS,
        **options: Unpack[Options],
    ):
        """A form that is linear in each of two inputs.

        Arguments:
            input1_channels: size of the last axis of `x1`
            input2_channels: size of the last axis of `x2`
            output_channels: size of the last axis of the result
            with_bias: whether `b` is added to the result
            weight_initializer: initial values of `w`
            bias_initializer: initial values of `b`
            options: those of `Module`
        """
        self._sizes = (output_channels, input1_channels, input2_channels)
        self._with_bias = with_bias
        self._initializers = (weight_initializer, bias_initializer)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        out, first, second = self._sizes
        fans = (first * second, out)
        bias = out if self._with_bias else None
        return weight_and_bias(self._initializers, self._sizes, fans, bias, device, dtype)

    def _forward(self, x1: A, x2: A) -> A:
        v = self.v
        y = einsum("...i,kij,...j->...k", x1, v["w"], x2)
        return y + v["b"] if self._with_bias else y

    def extra_repr(self) -> str:
        return f"{self._sizes[1]}, {self._sizes[2]}, {self._sizes[0]}"
