"""Dense layers."""

from typing import Any

from ..._array.products import einsum
from ..._core.typing import A, Device, DTypeLike
from ...functional.dense import linear
from ..init import GlorotUniform, Initializer, Zeros
from .layer import Layer


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
        /,
        *,
        with_bias: bool = True,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        v: Any = None,
        dtype: DTypeLike = None,
        device: Device = None,
        backend: str | None = None,
        **options: Any,
    ):
        self._sizes = (input_channels, output_channels)
        self._with_bias = with_bias
        self._initializers = (weight_initializer, bias_initializer)
        super().__init__(v=v, dtype=dtype, device=device, backend=backend, **options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        fan_in, fan_out = self._sizes
        make_w, make_b = self._initializers
        options: dict[str, Any] = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "dtype": dtype,
            "device": device,
        }
        v = {"w": make_w((fan_out, fan_in), **options)}
        if self._with_bias:
            v["b"] = make_b((fan_out,), **options)
        return v

    def _forward(self, x: A) -> A:
        v = self.v
        return linear(x, v["w"], bias=v["b"] if self._with_bias else None)

    def extra_repr(self) -> str:
        return f"{self._sizes[0]}, {self._sizes[1]}" + (
            "" if self._with_bias else ", with_bias=False"
        )


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
        /,
        *,
        with_bias: bool = True,
        weight_initializer: Initializer = GlorotUniform(),  # noqa: B008
        bias_initializer: Initializer = Zeros(),  # noqa: B008
        **options: Any,
    ):
        self._sizes = (output_channels, input1_channels, input2_channels)
        self._with_bias = with_bias
        self._initializers = (weight_initializer, bias_initializer)
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        out, first, second = self._sizes
        make_w, make_b = self._initializers
        options: dict[str, Any] = {
            "fan_in": first * second,
            "fan_out": out,
            "dtype": dtype,
            "device": device,
        }
        v = {"w": make_w(self._sizes, **options)}
        if self._with_bias:
            v["b"] = make_b((out,), **options)
        return v

    def _forward(self, x1: A, x2: A) -> A:
        v = self.v
        y = einsum("...i,kij,...j->...k", x1, v["w"], x2)
        return y + v["b"] if self._with_bias else y

    def extra_repr(self) -> str:
        return f"{self._sizes[1]}, {self._sizes[2]}, {self._sizes[0]}"
