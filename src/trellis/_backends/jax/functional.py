"""Layer kernels on JAX: convolution, attention, the LSTM loop.

XLA's CPU compiler can abort the whole process while it simplifies a convolution with input dilation whose kernel
is longer than the input along one axis and shorter along another (seen with jaxlib 0.10: "Window dimensions do not
match RHS shape" in algebraic_simplifier.cc). The input gradient of any strided convolution is of that kind, so for
such sizes strides are taken out beforehand: `_conv_by_blocks` computes the same without any input dilation, and so do
its derivatives of every order. Ordinary sizes use `lax.conv_general_dilated` as it is.
"""

from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["attention", "attention_weights", "conv", "conv_transpose", "linear", "lstm"]


# One compiled program per configuration, instead of one per step of it where nothing else compiles.
_static = (
    "strides",
    "padding",
    "x_dilations",
    "dilations",
    "groups",
    "channel_first",
    "filter_first",
)
_static_transposed = (
    "strides",
    "starts",
    "outs",
    "dilations",
    "groups",
    "channel_first",
    "filter_first",
)


@partial(jax.jit, static_argnames=_static)
def conv(
    x: Any, filters: Any, bias: Any, *, strides: Any, padding: Any, x_dilations: Any, dilations: Any, groups: int,
    channel_first: bool, filter_first: bool,
) -> Any:  # fmt: skip
    """Cross-correlation; `padding` is one (low, high) pair per spatial axis, all arguments are checked before."""
    dims = len(strides)
    axes = _spatial_axes(dims, channel_first)
    if max(x_dilations) > 1:
        x = _spread(x, axes, x_dilations)
        # Without the barrier XLA folds the spreading back into the convolution, as input dilation.
        x = lax.optimization_barrier(x)
    sizes = [x.shape[axis] for axis in axes]
    kernel = filters.shape[2:] if filter_first else filters.shape[:-2]
    outs = [
        (n + lo + hi - (k - 1) * d - 1) // s + 1
        for n, k, s, d, (lo, hi) in zip(sizes, kernel, strides, dilations, padding, strict=True)
    ]
    if max(strides) > 1 and (_is_mixed(kernel, outs) or _is_mixed(sizes, outs)):
        y = _conv_by_blocks(
            _to_last(x, channel_first), _to_last_filters(filters, filter_first), strides=strides, padding=padding,
            dilations=dilations, groups=groups, outs=outs,
        )  # fmt: skip
        y = jnp.moveaxis(y, -1, 1) if channel_first else y
    else:
        y = _native(
            x,
            filters,
            strides,
            padding,
            (1,) * dims,
            dilations,
            groups,
            channel_first,
            filter_first,
        )
    return y if bias is None else _with_bias(y, _bias(bias, dims, channel_first))


@partial(jax.jit, static_argnames=_static_transposed)
def conv_transpose(
    x: Any, filters: Any, bias: Any, *, strides: Any, starts: Any, outs: Any, dilations: Any, groups: int,
    channel_first: bool, filter_first: bool,
) -> Any:  # fmt: skip
    """The elements from `starts` on, `outs` of them, of the full transposed convolution; zeros beyond its end."""
    dims = len(strides)
    axes = _spatial_axes(dims, channel_first)
    sizes = [x.shape[axis] for axis in axes]
    filters = _to_last_filters(filters, filter_first)
    kernel = filters.shape[:-2]
    flipped = _transposed_filters(filters, groups)
    if max(strides) > 1 and (_is_mixed(kernel, sizes) or _is_mixed(outs, sizes)):
        # Spread by hand: the barrier keeps XLA from making input dilation of it again.
        x = lax.optimization_barrier(_spread(x, axes, strides))
        sizes, spread = [x.shape[axis] for axis in axes], (1,) * dims
    else:
        spread = strides
    padding = []
    for n, s, k, d, start, out in zip(sizes, spread, kernel, dilations, starts, outs, strict=True):
        low = (k - 1) * d - start
        padding.append((low, out + (k - 1) * d - ((n - 1) * s + 1) - low))
    y = _native(x, flipped, (1,) * dims, padding, spread, dilations, groups, channel_first, False)
    return y if bias is None else _with_bias(y, _bias(bias, dims, channel_first))


def _native(
    x: Any, filters: Any, strides: Any, padding: Any, x_dilations: Any, dilations: Any, groups: int,
    channel_first: bool, filter_first: bool,
) -> Any:  # fmt: skip
    return lax.conv_general_dilated(
        x, filters, strides, padding, lhs_dilation=x_dilations, rhs_dilation=dilations,
        dimension_numbers=_layouts[len(strides), channel_first, filter_first], feature_group_count=groups,
    )  # fmt: skip


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


def _is_mixed(kernel: Any, sizes: Any) -> bool:
    pairs = list(zip(kernel, sizes, strict=True))
    return any([k > n for k, n in pairs]) and any([k < n for k, n in pairs])


def _spatial_axes(dims: int, channel_first: bool) -> range:
    return range(2, 2 + dims) if channel_first else range(1, 1 + dims)


def _to_last(x: Any, channel_first: bool) -> Any:
    return jnp.moveaxis(x, 1, -1) if channel_first else x


def _to_last_filters(filters: Any, filter_first: bool) -> Any:
    return jnp.transpose(filters, (*range(2, filters.ndim), 1, 0)) if filter_first else filters


def _bias(bias: Any, dims: int, channel_first: bool) -> Any:
    return bias.reshape((-1,) + (1,) * dims) if channel_first else bias


def _with_bias(y: Any, bias: Any) -> Any:
    if y.dtype.itemsize > 2 or not jnp.issubdtype(y.dtype, jnp.floating):
        return y + bias
    # In float32, for its derivative: the sum over a whole batch stalls in half precision.
    return (y.astype(jnp.float32) + bias.astype(jnp.float32)).astype(y.dtype)


def _spread(x: Any, axes: Any, steps: Any) -> Any:
    """Zeros between the elements."""
    config = [(0, 0, 0)] * x.ndim
    for axis, step in zip(axes, steps, strict=True):
        config[axis] = (0, 0, step - 1)
    return lax.pad(x, jnp.zeros((), x.dtype), config)


def _transposed_filters(filters: Any, groups: int) -> Any:
    """Filters (K..., O/g, I) of a transposed convolution as those (K..., I/g, O) of the equal forward one."""
    dims = filters.ndim - 2
    flipped = jnp.flip(filters, tuple(range(dims)))
    if groups == 1:
        return jnp.swapaxes(flipped, -1, -2)
    kernel, out_group, channels = flipped.shape[:dims], flipped.shape[-2], flipped.shape[-1]
    flipped = flipped.reshape(*kernel, out_group, groups, channels // groups)
    flipped = jnp.moveaxis(flipped, -1, dims)  # (K..., I/g, O/g, g)
    return jnp.swapaxes(flipped, -1, -2).reshape(*kernel, channels // groups, groups * out_group)


def _conv_by_blocks(
    x: Any, filters: Any, *, strides: Any, padding: Any, dilations: Any, groups: int, outs: Any
) -> Any:
    """A strided convolution as one of stride 1: each block of `strides` pixels becomes one pixel with more channels."""
    dims = len(strides)
    spread = _spread(filters, range(dims), dilations)
    lengths = [-(-k // s) for k, s in zip(spread.shape[:dims], strides, strict=True)]
    x_config, w_config = [(0, 0, 0)], []
    for axis in range(dims):
        s, out = strides[axis], outs[axis]
        needed = (out - 1 + lengths[axis]) * s
        low = padding[axis][0]
        x_config.append((low, needed - low - x.shape[1 + axis], 0))
        w_config.append((0, lengths[axis] * s - spread.shape[axis], 0))
    zero = jnp.zeros((), x.dtype)
    x = lax.pad(x, zero, [*x_config, (0, 0, 0)])
    spread = lax.pad(spread, zero, [*w_config, (0, 0, 0), (0, 0, 0)])
    x = _to_blocks(x, 1, strides, groups)
    spread = _to_blocks(spread, 0, strides, 1)
    return _native(
        x, spread, (1,) * dims, [(0, 0)] * dims, (1,) * dims, (1,) * dims, groups, False, False
    )


def _to_blocks(x: Any, first: int, strides: Any, groups: int) -> Any:
    """(..., L*s, ..., C) -> (..., L, ..., g*s*C/g) for the spatial axes from `first` on; groups stay outermost."""
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
    return x.reshape(*x.shape[: first + dims], prod(strides) * channels, *trailing)


# Dense, attention, recurrent -------------------------------------------------------------------------


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    y = lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return y if bias is None else _with_bias(y, bias)


# Not by jax.nn.dot_product_attention: on the CPU it is the formula too, for another order of axes (batch, length, heads,
# width). Measured side by side at 64 to 1024 keys, this takes 0.6 to 0.9 times its time without a mask and 0.7 to 1.04
# with one. And a row whose bool mask hides all keys gets the mean of the values there instead of zeros, one of -inf nan.
@partial(jax.jit, static_argnames=("is_causal",))
def attention(query: Any, key: Any, value: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    dtype = value.dtype
    # Weights and products of halves in float32, rounded once at the end.
    query, key, value = [x.astype(_wide(dtype)) for x in (query, key, value)]
    weights = attention_weights(query, key, mask, scale=scale, is_causal=is_causal)
    return jnp.matmul(weights, value).astype(dtype)


@partial(jax.jit, static_argnames=("is_causal",))
def attention_weights(query: Any, key: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    """The softmax over the keys; a row without any key to see is zero, with zero gradients."""
    logits = jnp.matmul(query * jnp.asarray(scale, query.dtype), jnp.swapaxes(key, -1, -2),
                        preferred_element_type=_wide(query.dtype))  # fmt: skip
    keep = jnp.tri(logits.shape[-2], logits.shape[-1], dtype=bool) if is_causal else None
    if mask is not None and mask.dtype == bool:
        keep = mask if keep is None else mask & keep
    elif mask is not None:
        logits = logits + mask
    if keep is not None:
        logits = jnp.where(keep, logits, -jnp.inf)
    if keep is None and mask is None:
        return jax.nn.softmax(logits).astype(query.dtype)
    top = lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True, initial=-jnp.inf))
    weights = jnp.exp(logits - jnp.where(jnp.isfinite(top), top, 0))
    total = jnp.sum(weights, axis=-1, keepdims=True)
    return (weights / jnp.where(total == 0, 1, total)).astype(query.dtype)


def _wide(dtype: Any) -> Any:
    return jnp.promote_types(dtype, jnp.float32)


@jax.jit
def lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in). XLA's CPU kernels are faster step by step than all inputs at once."""

    def step(state: Any, at: Any) -> Any:
        z = at @ kernel + state[0] @ recurrent_kernel
        i, f, g, o = jnp.split(z if bias is None else z + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    state, hs = lax.scan(step, (h, c), x)
    return hs, state
