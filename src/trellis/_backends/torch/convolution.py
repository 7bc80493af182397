"""Convolution by PyTorch's kernels, which are channel first."""

from typing import Any

import torch
import torch.nn.functional as F

from ..shared.convolution import ConvSpec, TransposedConvSpec
from ._types import Tensor

_convs = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_HALVES = (torch.float16, torch.bfloat16)
_transposed_convs = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def conv(x: Tensor, filters: Tensor, bias: Any, spec: ConvSpec) -> Any:
    """Cross-correlation; all arguments are checked before."""
    dims = len(spec.strides)
    x = x if spec.channel_first else x.movedim(-1, 1)
    filters = filters if spec.filter_first else _to_first_filters(filters, dims)
    if max(spec.x_dilations) > 1:
        x = _spread(x, spec.x_dilations)
    lows = [low for low, _ in spec.padding]
    if any([low != high for low, high in spec.padding]):
        x = F.pad(x, _flat(spec.padding))
        lows = [0] * dims
    y = _convs[dims](x, filters, bias, spec.strides, lows, spec.dilations, spec.groups)
    return y if spec.channel_first else y.movedim(1, -1)


def conv_transpose(x: Tensor, filters: Tensor, bias: Any, spec: TransposedConvSpec) -> Any:
    """The part of a transposed convolution that the spec names; arguments are checked before."""
    strides, starts, outs, dilations, groups, channel_first, filter_first = spec
    dims = len(strides)
    if dims == 3 and x.dtype in _HALVES and x.is_cpu:
        # In half precision this kernel is off by more than two units in the last place.
        bias = None if bias is None else bias.float()
        return conv_transpose(x.float(), filters.float(), bias, spec).to(x.dtype)
    x = x if channel_first else x.movedim(-1, 1)
    filters = filters if filter_first else _to_first_filters(filters, dims)
    ends = []
    for n, k, s, d in zip(x.shape[2:], filters.shape[2:], strides, dilations, strict=True):
        ends.append((n - 1) * s + (k - 1) * d + 1)
    # PyTorch takes `start` elements off both ends, and can give back fewer than max(s, d) at the
    # end.
    extra = [
        max(out - (end - 2 * start), 0) for out, end, start in zip(outs, ends, starts, strict=True)
    ]
    fits = [
        more < max(s, d) and end > 2 * start
        for more, s, d, end, start in zip(extra, strides, dilations, ends, starts, strict=True)
    ]
    if all(fits):
        y = _transposed_convs[dims](x, filters, bias, strides, starts, extra, groups, dilations)
        if tuple(y.shape[2:]) != tuple(outs):
            y = y[(slice(None), slice(None), *[slice(0, out) for out in outs])]
    else:
        y = _transposed_convs[dims](x, filters, None, strides, 0, 0, groups, dilations)
        y = y[
            (
                slice(None),
                slice(None),
                *[slice(a, a + out) for a, out in zip(starts, outs, strict=True)],
            )
        ]
        y = F.pad(y, _flat([(0, out - size) for out, size in zip(outs, y.shape[2:], strict=True)]))
        y = y if bias is None else y + bias.reshape(-1, *[1] * dims)
    return y if channel_first else y.movedim(1, -1)


def laid_out_filters(filters: Tensor, dims: int, channel_first: bool) -> Any:
    """Over memory in the order (out, in, *kernel) of torch, or (out, *kernel, in) beside data whose
    channels are last; only the strides change.
    """
    kernel, inner = [*range(dims)], [*range(dims, filters.ndim - 1)]
    order = [filters.ndim - 1, *(inner + kernel if channel_first or dims == 1 else kernel + inner)]
    back = sorted(range(filters.ndim), key=order.__getitem__)
    return filters.permute(order).contiguous().permute(back)


def laid_like(x: Tensor, model: Any) -> Any:
    if x.stride() == model.stride() or x.device != model.device:
        return x
    return torch.empty_like(model, dtype=x.dtype).copy_(x)


def _to_first_filters(filters: Tensor, dims: int) -> Any:
    """Copied unless they lie as `laid_out_filters` puts them.

    Some backward kernels of PyTorch refuse other orders, and others are slow with them.
    """
    first = filters.permute(dims + 1, dims, *range(dims))
    # Whether the channels are last in memory, in words that vmap understands.
    if first.is_contiguous() or (dims > 1 and first.movedim(1, -1).is_contiguous()):
        return first
    return first.clone(memory_format=torch.contiguous_format)


def _flat(pairs: Any) -> list[int]:
    """Pairs in the order of `F.pad`: last axis first."""
    return [size for pair in reversed(pairs) for size in pair]


def _spread(x: Tensor, steps: Any) -> Any:
    """Zeros between the elements of a channel-first array."""
    for axis, step in enumerate(steps, start=2):
        if step > 1:
            n = x.shape[axis]
            x = F.pad(x.movedim(axis, -1).unsqueeze(-1), (0, step - 1)).flatten(-2)
            x = x[..., : (n - 1) * step + 1].movedim(-1, axis)
    return x
