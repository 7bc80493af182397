"""Shapes: changing, joining, repeating, padding."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..._core.dtypes import fitted
from ..._core.shapes import normal_axis, permutation
from ._promotion import common
from ._types import Array


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    return tuple(jnp.broadcast_arrays(*arrays))


def broadcast_to(x: Array, /, shape: Any) -> Any:
    return jnp.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    return jnp.concat(common(arrays), axis=axis)


def flip(x: Array, /, *, axis: int | Sequence[int] | None = None) -> Any:
    return jnp.flip(x, axis)


def moveaxis(x: Array, source: Any, destination: Any, /) -> Any:
    return jnp.moveaxis(x, source, destination)


def permute_dims(x: Array, /, axes: Any) -> Any:
    return jnp.permute_dims(x, permutation(axes, x.ndim))


def repeat(x: Array, repeats: Any, /, *, axis: int | None = None) -> Any:
    return jnp.repeat(x, repeats, axis=axis)


def reshape(x: Array, /, shape: Any, *, copy: bool | None = None) -> Any:
    return jnp.reshape(x, shape, copy=copy)


def roll(x: Array, /, shift: Any, *, axis: int | Sequence[int] | None = None) -> Any:
    return jnp.roll(x, shift, axis)


def squeeze(x: Array, /, axis: Any) -> Any:
    return jnp.squeeze(x, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    return jnp.stack(common(arrays), axis)


def tile(x: Array, repetitions: Any, /) -> Any:
    return jnp.tile(x, repetitions)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(jnp.unstack(x, axis=axis))


def pad(x: Array, pad_width: Any, /, *, mode: str = "constant", constant_values: Any = 0) -> Any:
    if not pad_width:
        return jnp.asarray(x)
    if mode == "constant":
        return jnp.pad(x, pad_width, mode, constant_values=fitted(constant_values, x.dtype.name))
    return jnp.pad(x, pad_width, mode)


def sliding_window(x: Array, window: int, /, *, axis: int = -1, step: int = 1) -> Any:
    """Windows along `axis`, each as a new last axis."""
    axis = normal_axis(axis, x.ndim)
    starts = jnp.arange((x.shape[axis] - window) // step + 1) * step
    windows = jnp.take(x, starts[:, None] + jnp.arange(window), axis=axis)
    return jnp.moveaxis(windows, axis + 1, -1)
