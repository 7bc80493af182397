"""Normalisation. Data are channel last unless `data_format` says otherwise."""

from collections.abc import Sequence
from typing import Any, ClassVar

from .._creation import ones, zeros
from .._errors import ArgumentError, ShapeError
from .._typing import A, Device, DTypeLike
from ..functional import normalization as functions
from ._layer import Layer


class LayerNorm(Layer):
    """Mean 0 and variance 1 over the last axes, of the given shape; then `* w + b`.

    >>> import numpy as np, trellis
    >>> trellis.nn.LayerNorm(2)(np.array([[1.0, 3.0]], "float32")).round(3)
    array([[-1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        /,
        *,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        with_bias: bool = True,
        **options: Any,
    ):
        self._shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self._eps, self._is_affine = eps, elementwise_affine
        self._with_bias = with_bias and elementwise_affine
        super().__init__(**options)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        return _affine(self._shape, self._is_affine, self._with_bias, device, dtype)

    def _forward(self, x: A) -> A:
        v = self.v
        return functions.layer_norm(
            x,
            self._shape,
            weight=v.w if self._is_affine else None,
            bias=v.b if self._with_bias else None,
            eps=self._eps,
        )

    def extra_repr(self) -> str:
        return ", ".join([str(n) for n in self._shape])


def _affine(shape: tuple[int, ...], with_w: bool, with_b: bool, device: Device, dtype: DTypeLike) -> dict[str, Any]:
    v = {}
    if with_w:
        v["w"] = ones(shape, dtype=dtype, device=device)
    if with_b:
        v["b"] = zeros(shape, dtype=dtype, device=device)
    return v
