"""Numbers as small integers with a scale and a zero, and sums of products of these."""

from typing import Any

import trellis as t

from ..._core.dispatch import xp_of
from ..._core.shapes import normal_axis
from ..._core.typing import Array
from ...functional._layout import along
from .convolution import convolution


def quantized(
    x: Array,
    scale: Array,
    zero: Array | None = None,
    /,
    *,
    dtype: str | None = "uint8",
    axis: int = 1,
    block: int = 0,
    limits: tuple[int, int] | None = (0, 255),
    precision: str | None = None,
) -> Any:
    """round(x / scale) + zero, within the limits; ties go to the even number.

    `scale` and `zero` are scalars, have one number per place of an axis, or one per block of an
    axis. `dtype` None leaves float32, for types that no framework has.

    >>> import numpy as np
    >>> quantized(np.array([-1.0, 0.5, 900.0]), np.array(1.0), np.array(1, "uint8"))
    array([  0,   1, 255], dtype=uint8)
    """
    kind = precision or t.dtype(scale)
    kind = "float32" if kind in ("float16", "bfloat16") else kind
    y = t.astype(x, kind, copy=False) / _spread(t.astype(scale, kind, copy=False), x, axis, block)
    y = t.astype(y, "float32", copy=False)
    y = t.round(y) if limits is not None else y
    if zero is not None:
        y = y + _spread(t.astype(zero, "float32"), x, axis, block)
    if limits is not None:
        y = t.clip(y, float(limits[0]), float(limits[1]))
    return y if dtype is None else t.astype(y, dtype)


def dequantized(x: Array, scale: Array, zero: Array | None = None, /, *, dtype: str, axis: int = 1,
                block: int = 0) -> Any:  # fmt: skip
    """(x - zero) * scale; the inverse of `quantized`."""
    y = t.astype(x, "float32", copy=False)
    if zero is not None:
        y = y - _spread(t.astype(zero, "float32"), x, axis, block)
    return t.astype(y * _spread(t.astype(scale, "float32"), x, axis, block), dtype, copy=False)


def quantized_by_range(x: Array, /) -> tuple[Any, Any, Any]:
    """uint8 numbers that span the range of `x` and zero, their scale and their zero."""
    highest = t.maximum(t.max(x), 0.0)
    lowest = t.minimum(t.min(x), 0.0)
    scale = (highest - lowest) / 255.0
    scale = t.where(scale == 0, 1.0, scale)
    zero = t.clip(t.round(-lowest / scale), 0.0, 255.0)
    y = t.clip(t.round(x / scale) + zero, 0.0, 255.0)
    return t.astype(y, "uint8"), scale, t.astype(zero, "uint8")


def integer_matmul(
    a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None, /
) -> Any:
    """The product of small integers without their zeros, in int32."""
    a, b = t.astype(a, "int32"), t.astype(b, "int32")
    if a_zero is not None:
        zero = t.astype(a_zero, "int32")
        is_rows = len(zero.shape) == 1 and zero.shape[0] > 1
        a = a - (t.expand_dims(zero, -1) if is_rows else zero)
    if b_zero is not None:
        b = b - t.astype(b_zero, "int32")
    return t.matmul(a, b)


def integer_convolution(x: Array, w: Array, x_zero: Array | None = None,
                        w_zero: Array | None = None, bias: Array | None = None, /,
                        **options: Any) -> Any:  # fmt: skip
    """The convolution of small integers without their zeros, in int32.

    Computed in floats, exact up to 2 ** 24.
    """
    xs, ws = t.astype(x, "float32"), t.astype(w, "float32")
    if x_zero is not None:
        xs = xs - t.astype(x_zero, "float32")
    if w_zero is not None:
        zero = t.astype(w_zero, "float32")
        many = len(zero.shape) == 1 and zero.shape[0] > 1
        ws = ws - (t.reshape(zero, (-1,) + (1,) * (len(w.shape) - 1)) if many else zero)
    y = t.astype(t.round(convolution(xs, ws, **options)), "int32")
    if bias is None:
        return y
    return y + t.reshape(bias, (1, -1) + (1,) * (len(x.shape) - 2))


def requantized(
    total: Array,
    x_scale: Array,
    w_scale: Array,
    y_scale: Array,
    y_zero: Array,
    /,
    *,
    dtype: str,
    limits: tuple[int, int],
    axis: int | None,
) -> Any:
    """int32 sums as small integers of another scale and zero."""
    wide = [t.astype(scale, "float32") for scale in (x_scale, w_scale, y_scale)]
    if axis is not None and len(w_scale.shape) == 1 and w_scale.shape[0] > 1:
        wide[1] = _spread(wide[1], total, axis, 0)
    elif axis is None and len(x_scale.shape) == 1 and x_scale.shape[0] > 1:
        wide[0] = t.expand_dims(wide[0], -1)
    y = t.astype(total, "float32") * (wide[0] * wide[1] / wide[2])
    y = t.round(y) + t.astype(y_zero, "float32")
    return t.astype(t.clip(y, float(limits[0]), float(limits[1])), dtype)


def _spread(row: Array, x: Array, axis: int, block: int) -> Any:
    """A scale in a shape that broadcasts against `x`."""
    rank = len(row.shape)
    if rank == 0 or (rank == 1 and row.shape[0] == 1 and not block):
        return t.reshape(row, ())
    axis = normal_axis(axis, len(x.shape))
    if block:
        index = xp_of(row).arange(x.shape[axis], dtype="int32") // block
        return t.take(row, index, axis=axis)
    return along(xp_of(row), row, (axis,), len(x.shape))
