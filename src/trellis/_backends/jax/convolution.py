"""Convolution by XLA.

XLA's CPU compiler can abort the whole process while it simplifies a convolution with input dilation
whose kernel is longer than the input along one axis and shorter along another (seen with jaxlib
0.10: "Window dimensions do not match RHS shape" in algebraic_simplifier.cc). The input gradient of
any strided convolution is of that kind, so for such sizes strides are taken out beforehand:
`_conv_by_blocks` computes the same without any input dilation, and so do its derivatives of every
order. Ordinary sizes use `lax.conv_general_dilated` as it is.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..shared.convolution import ConvSpec, TransposedConvSpec
from ._helpers import with_bias
from ._types import Array


# One compiled program per spec, instead of one per step of it where nothing else compiles.
@partial(jax.jit, static_argnames="spec")
def conv(x: Array, filters: Array, bias: Any, spec: ConvSpec) -> Any:
    """Cross-correlation; all arguments are checked before."""
    dims = len(spec.strides)
    axes = _spatial_axes(dims, spec.channel_first)
    if max(spec.x_dilations) > 1:
        x = _spread(x, axes, spec.x_dilations)
        # Without the barrier XLA folds the spreading back into the convolution, as input dilation.
        x = lax.optimization_barrier(x)
    sizes = [x.shape[axis] for axis in axes]
    kernel = filters.shape[2:] if spec.filter_first else filters.shape[:-2]
    outs = []
    for i, (n, k, (low, high)) in enumerate(zip(sizes, kernel, spec.padding, strict=True)):
        outs.append((n + low + high - (k - 1) * spec.dilations[i] - 1) // spec.strides[i] + 1)
    if max(spec.strides) > 1 and (_is_mixed(kernel, outs) or _is_mixed(sizes, outs)):
        x, filters = _to_last(x, spec.channel_first), _to_last_filters(filters, spec.filter_first)
        y = _conv_by_blocks(x, filters, spec, outs)
        y = jnp.moveaxis(y, -1, 1) if spec.channel_first else y
    else:
        y = _native(x, filters, spec._replace(x_dilations=(1,) * dims))
    return y if bias is None else with_bias(y, _bias(bias, dims, spec.channel_first))


@partial(jax.jit, static_argnames="spec")
def conv_transpose(x: Array, filters: Array, bias: Any, spec: TransposedConvSpec) -> Any:
    """The part of a transposed convolution that the spec names; arguments are checked before."""
    dims = len(spec.strides)
    axes = _spatial_axes(dims, spec.channel_first)
    sizes = [x.shape[axis] for axis in axes]
    filters = _to_last_filters(filters, spec.filter_first)
    kernel = filters.shape[:-2]
    flipped = _transposed_filters(filters, spec.groups)
    ones = (1,) * dims
    spread = spec.strides
    if max(spread) > 1 and (_is_mixed(kernel, sizes) or _is_mixed(spec.outs, sizes)):
        # Spread by hand: the barrier keeps XLA from making input dilation of it again.
        x = lax.optimization_barrier(_spread(x, axes, spread))
        sizes, spread = [x.shape[axis] for axis in axes], ones
    padding = []
    for i, (n, k, out) in enumerate(zip(sizes, kernel, spec.outs, strict=True)):
        span = (k - 1) * spec.dilations[i]
        low = span - spec.starts[i]
        padding.append((low, out + span - ((n - 1) * spread[i] + 1) - low))
    forward = ConvSpec(
        ones, tuple(padding), spread, spec.dilations, spec.groups, spec.channel_first, False
    )
    y = _native(x, flipped, forward)
    return y if bias is None else with_bias(y, _bias(bias, dims, spec.channel_first))


def _native(x: Array, filters: Array, spec: ConvSpec) -> Any:
    return lax.conv_general_dilated(
        x,
        filters,
        spec.strides,
        spec.padding,
        lhs_dilation=spec.x_dilations,
        rhs_dilation=spec.dilations,
        dimension_numbers=_layouts[len(spec.strides), spec.channel_first, spec.filter_first],
        feature_group_count=spec.groups,
    )


def _layout(dims: int, channel_first: bool, filter_first: bool) -> lax.ConvDimensionNumbers:
    spatial = tuple(range(2, 2 + dims)) if channel_first else tuple(range(1, 1 + dims))
    data = (0, 1, *spatial) if channel_first else (0, dims + 1, *spatial)
    kernel = (0, 1, *range(2, 2 + dims)) if filter_first else (dims + 1, dims, *range(dims))
    return lax.ConvDimensionNumbers(data, kernel, data)


_layouts = {
    (dims, channel, filter_): _layout(dims, channel, filter_)
    for dims in (1, 2, 3)
    for channel in (False, True)
    for filter_ in (False, True)
}


def _is_mixed(kernel: Array, sizes: Any) -> bool:
    pairs = list(zip(kernel, sizes, strict=True))
    return any([k > n for k, n in pairs]) and any([k < n for k, n in pairs])


def _spatial_axes(dims: int, channel_first: bool) -> range:
    return range(2, 2 + dims) if channel_first else range(1, 1 + dims)


def _to_last(x: Array, channel_first: bool) -> Any:
    return jnp.moveaxis(x, 1, -1) if channel_first else x


def _to_last_filters(filters: Array, filter_first: bool) -> Any:
    return jnp.transpose(filters, (*range(2, filters.ndim), 1, 0)) if filter_first else filters


def _bias(bias: Any, dims: int, channel_first: bool) -> Any:
    return bias.reshape((-1,) + (1,) * dims) if channel_first else bias


def _spread(x: Array, axes: Any, steps: Any) -> Any:
    """Zeros between the elements."""
    config = [(0, 0, 0)] * x.ndim
    for axis, step in zip(axes, steps, strict=True):
        config[axis] = (0, 0, step - 1)
    return lax.pad(x, jnp.zeros((), x.dtype), config)


def _transposed_filters(filters: Array, groups: int) -> Any:
    """Filters (K..., O/g, I) of a transposed convolution as (K..., I/g, O) of a forward one."""
    dims = filters.ndim - 2
    flipped = jnp.flip(filters, tuple(range(dims)))
    if groups == 1:
        return jnp.swapaxes(flipped, -1, -2)
    kernel, out_group, channels = flipped.shape[:dims], flipped.shape[-2], flipped.shape[-1]
    flipped = flipped.reshape(*kernel, out_group, groups, channels // groups)
    flipped = jnp.moveaxis(flipped, -1, dims)  # (K..., I/g, O/g, g)
    return jnp.swapaxes(flipped, -1, -2).reshape(*kernel, channels // groups, groups * out_group)


def _conv_by_blocks(x: Array, filters: Array, spec: ConvSpec, outs: list[int]) -> Any:
    """A strided convolution as one of stride 1: blocks of pixels become channels of one pixel."""
    strides, dims = spec.strides, len(spec.strides)
    spread = _spread(filters, range(dims), spec.dilations)
    lengths = [-(-k // s) for k, s in zip(spread.shape[:dims], strides, strict=True)]
    x_config, w_config = [(0, 0, 0)], []
    for axis in range(dims):
        s, out = strides[axis], outs[axis]
        needed = (out - 1 + lengths[axis]) * s
        low = spec.padding[axis][0]
        x_config.append((low, needed - low - x.shape[1 + axis], 0))
        w_config.append((0, lengths[axis] * s - spread.shape[axis], 0))
    zero = jnp.zeros((), x.dtype)
    x = lax.pad(x, zero, [*x_config, (0, 0, 0)])
    spread = lax.pad(spread, zero, [*w_config, (0, 0, 0), (0, 0, 0)])
    x = _to_blocks(x, 1, strides, spec.groups)
    spread = _to_blocks(spread, 0, strides, 1)
    ones = (1,) * dims
    plain = ConvSpec(ones, ((0, 0),) * dims, ones, ones, spec.groups, False, False)
    return _native(x, spread, plain)


def _to_blocks(x: Array, first: int, strides: Any, groups: int) -> Any:
    """(..., L*s, ..., C) -> (..., L, ..., g*s*C/g) for axes from `first` on; groups outermost."""
    dims = len(strides)
    shape = [*x.shape[:first]]
    for axis, s in enumerate(strides):
        shape += [x.shape[first + axis] // s, s]
    channels, trailing = x.shape[first + dims], x.shape[first + dims + 1 :]
    x = x.reshape(*shape, groups, channels // groups, *trailing)
    lead = [*range(first), *[first + 2 * i for i in range(dims)]]
    inner = [first + 2 * dims, *[first + 2 * i + 1 for i in range(dims)], first + 2 * dims + 1]
    rest = range(first + 2 * dims + 2, x.ndim)
    x = jnp.transpose(x, (*lead, *inner, *rest))
    return x.reshape(*x.shape[: first + dims], math.prod(strides) * channels, *trailing)
