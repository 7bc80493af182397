"""Shapes: joining, splitting, moving, repeating, padding."""

from typing import Any

import torch

from ..._core.dtypes import fitted
from ..._core.errors import CopyError
from ..._core.shapes import check_squeezable, new_axes, normal_axes, permutation
from ._helpers import FEW_KERNELS, NAMES, all_same
from ._types import Tensor


def broadcast_arrays(*arrays: Any) -> Any:
    return tuple(torch.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Tensor, /, shape: Any) -> Any:
    return torch.broadcast_to(x, shape)


def _joinable(arrays: Any) -> Any:
    dtype = arrays[0].dtype
    for x in arrays:
        if x.dtype is not dtype:
            return all_same(arrays)
    return arrays


def concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    same = _joinable(arrays)
    if axis is None:
        return torch.cat([x.reshape(-1) for x in same])
    return torch.cat(same, axis)


def expand_dims(x: Tensor, /, axis: Any) -> Any:
    if isinstance(axis, (tuple, list)):
        for place in new_axes(axis, x.ndim):
            x = torch.unsqueeze(x, place)
        return x
    return torch.unsqueeze(x, axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Any:
    axes = normal_axes(axis, x.ndim)
    if x.dtype in FEW_KERNELS:
        return torch.flip(x.to(torch.int64), axes).to(x.dtype)
    return torch.flip(x, axes)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Any:
    if x.ndim == 0:  # torch treats a scalar as a vector
        normal_axes(source, 0)
        normal_axes(destination, 0)
    return torch.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: Any) -> Any:
    return torch.permute(x, permutation(axes, x.ndim))


def repeat(x: Tensor, repeats: Any, /, *, axis: Any = None) -> Any:
    if isinstance(repeats, torch.Tensor) and repeats.dtype is not torch.int64:
        repeats = repeats.to(torch.int64)
    if x.dtype in FEW_KERNELS:
        return torch.repeat_interleave(x.to(torch.int64), repeats, axis).to(x.dtype)
    return torch.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: Any, *, copy: Any = None) -> Any:
    if copy is None:
        return x.reshape(shape)
    if copy:
        return x.clone().reshape(shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise CopyError(
            f"copy=False, but a tensor of shape {tuple(x.shape)} and strides {x.stride()} can "
            f"become {shape} only by copying. Write copy=None."
        ) from error


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Any:
    if axis == ():
        return x.clone()
    if axis is None or isinstance(shift, int) == isinstance(axis, int):
        return torch.roll(x, shift, axis)
    if isinstance(shift, int):
        return torch.roll(x, (shift,) * len(axis), axis)
    return torch.roll(x, shift, (axis,) * len(shift))


def squeeze(x: Tensor, /, axis: Any) -> Any:
    check_squeezable(axis if isinstance(axis, tuple) else (axis,), x.shape)
    return torch.squeeze(x, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    return torch.stack(_joinable(arrays), axis)


def tile(x: Tensor, repetitions: Any, /) -> Any:
    return torch.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> Any:
    return torch.unbind(x, axis)


def pad(x: Tensor, pad_width: Any, /, *, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode == "constant":
        constant_values = fitted(constant_values, NAMES[x.dtype])
        flat: list[int] = []
        for low, high in reversed(pad_width):
            flat += [low, high]
        if x.dtype in FEW_KERNELS:
            return torch.nn.functional.pad(x.to(torch.int64), flat, value=constant_values).to(
                x.dtype
            )
        if isinstance(constant_values, complex):  # PyTorch pads with real numbers only
            parts = [
                torch.nn.functional.pad(part, flat, value=value)
                for part, value in (
                    (x.real, constant_values.real),
                    (x.imag, constant_values.imag),
                )
            ]
            return torch.complex(parts[0], parts[1])
        return torch.nn.functional.pad(x, flat, value=constant_values)
    for axis, (low, high) in enumerate(pad_width):
        if low or high:
            index = _source_index(x.shape[axis], low, high, mode, x.device)
            x = x[(slice(None),) * axis + (index,)]
    return x


def _source_index(size: Any, low: int, high: int, mode: str, device: Any) -> Any:
    """For each position of the padded axis, the position that its element comes from."""
    index = torch.arange(-low, size + high, device=device)
    if mode == "wrap":
        return index % size
    if mode == "edge" or size == 1:
        return torch.clamp(index, 0, size - 1)
    period = 2 * (size - 1)
    return size - 1 - torch.abs(index % period - (size - 1))


def sliding_window(x: Tensor, window: int, /, *, axis: int = -1, step: int = 1) -> Any:
    """All windows along an axis, as a new last axis; a view."""
    return x.unfold(axis, window, step)
