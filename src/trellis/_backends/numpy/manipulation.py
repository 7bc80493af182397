"""Shapes changed, arrays joined and split, on NumPy."""

from typing import Any

import numpy as np

from ..._core.dtypes import fitted
from ..._core.errors import ShapeError
from ..._core.shapes import normal_axes, normal_axis, permutation
from ._helpers import common


def broadcast_to(x: Any, /, shape: Any) -> Any:
    return np.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    return np.concat(tuple(common(arrays)), axis=axis)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    return np.flip(x, axis=axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    return np.moveaxis(x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Any:
    return np.permute_dims(x, permutation(axes, x.ndim))


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    return np.repeat(x, repeats, axis=axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    for n in shape if hasattr(shape, "__iter__") else (shape,):
        if n < -1:
            raise ShapeError(f"reshape() to {shape}: sizes are 0 or more, and one may be -1.")
    return np.reshape(x, shape) if copy is None else np.reshape(x, shape, copy=copy)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    if not x.ndim and axis is not None:
        normal_axes(axis, 0)
        return np.reshape(x, ())  # np.roll fails for an empty tuple of axes
    return np.roll(x, shift, axis=axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    return np.squeeze(x, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    return np.stack(tuple(common(arrays)), axis=axis)


def tile(x: Any, repetitions: Any, /) -> Any:
    return np.tile(x, repetitions)


def pad(x: Any, pad_width: Any, /, *, mode: str = "constant", constant_values: Any = 0) -> Any:
    if not pad_width:
        return np.reshape(x, x.shape)
    if mode == "constant":
        value = fitted(constant_values, x.dtype.name)
        return np.pad(x, pad_width, mode="constant", constant_values=value)
    return np.pad(x, pad_width, mode=mode)


def sliding_window(x: Any, window: int, /, *, axis: int = -1, step: int = 1) -> Any:
    axis = normal_axis(axis, x.ndim)
    starts = np.arange(0, x.shape[axis] - window + 1, step)
    windows = np.take(x, starts[:, None] + np.arange(window)[None, :], axis=axis)
    return np.moveaxis(windows, axis + 1, -1)
