"""Layers as MLX's own kernels. In float64 they are formulas over functions that are exact there."""

import itertools
from typing import Any

import mlx.core as mx

from trellis.backend import ConvSpec, TransposedConvSpec, formulas_for

from . import float64
from .types import F64, FLOATS, HALVES, as_float


def linear(x: Any, weight: Any, bias: Any) -> Any:
    is_plain = bias is not None and x.dtype == weight.dtype == bias.dtype and x.dtype in FLOATS
    if is_plain and x.ndim > 1 and x.size:
        return mx.addmm(bias, x, weight.T)
    product = _backend().matmul(x, weight.T)
    return product if bias is None else _backend().add(product, bias)


def _backend() -> Any:
    from . import backend

    return backend


def _formula(file: str, name: str) -> Any:
    return getattr(formulas_for(_backend(), file), name)


# Activations --------------------------------------------------------------------------------------


def softmax(x: Any, /, *, axis: Any) -> Any:
    x = as_float(x)
    if x.size == 0:
        return x
    if x.dtype != F64:
        return mx.softmax(x, axis, precise=True)
    powers = float64.exp(x - mx.stop_gradient(mx.max(x, axis, keepdims=True)))
    return powers / mx.sum(powers, axis, keepdims=True)


def logsumexp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_float(x)
    if x.dtype == F64 or x.dtype in HALVES or x.size == 0 or axis == () or x.dtype not in FLOATS:
        return _formula("reduction", "logsumexp")(x, axis=axis, keepdims=keepdims)
    axes = axis if axis is None or isinstance(axis, int) else list(axis)
    return mx.logsumexp(x, axes, keepdims=keepdims)


def layer_norm(x: Any, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float) -> Any:
    is_last = tuple(axes) in ((x.ndim - 1,), (-1,))
    if not is_last or x.dtype == F64 or x.size == 0 or epsilon == 0:
        return _formula("normalization", "layer_norm")(x, weight, bias, axes=axes, epsilon=epsilon)
    return mx.fast.layer_norm(x, weight, bias, epsilon)


# Convolution --------------------------------------------------------------------------------------


def conv(x: Any, filters: Any, bias: Any, spec: ConvSpec) -> Any:
    """MLX's data are channel last, its filters (out, ..., in)."""
    x = mx.moveaxis(x, 1, -1) if spec.channel_first else x
    filters = mx.moveaxis(filters, 1, -1) if spec.filter_first else mx.moveaxis(filters, -1, 0)
    y = _channel_last(x, filters, spec)
    y = y if bias is None else y + bias
    return mx.moveaxis(y, -1, 1) if spec.channel_first else y


def _channel_last(x: Any, filters: Any, spec: ConvSpec) -> Any:
    low, high = zip(*spec.padding, strict=True)
    is_grouped_3d = spec.groups > 1 and len(low) == 3  # for which MLX has no kernel
    if x.dtype == F64 or x.size == 0 or filters.size == 0 or min(*low, *high) < 0 or is_grouped_3d:
        return _by_products(x, filters, spec)
    return mx.conv_general(
        x, filters, spec.strides, (low, high), spec.dilations, spec.x_dilations, spec.groups
    )


def _by_products(x: Any, filters: Any, spec: ConvSpec) -> Any:
    """One product of matrices for each element of a filter: MLX's kernel rounds to float32."""
    for axis, step in enumerate(spec.x_dilations, start=1):
        x = _spread(x, axis, step)
    x = _padded(x, spec.padding)
    outs, *kernel, inner = filters.shape
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[1:-1], kernel, spec.dilations, spec.strides, strict=True)
    ]
    groups = spec.groups
    total: Any = mx.zeros((x.shape[0], *sizes, outs), x.dtype)
    if total.size == 0:
        return total
    for place in itertools.product(*[range(k) for k in kernel]):
        cut = [
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, spec.dilations, sizes, spec.strides, strict=True)
        ]
        window = x[(slice(None), *cut)]
        taps = mx.reshape(filters[(slice(None), *place)], (groups, outs // groups, inner))
        rows = mx.reshape(window, (-1, groups, inner))
        part = mx.matmul(mx.swapaxes(rows, 0, 1), mx.swapaxes(taps, 1, 2))
        total = total + mx.reshape(mx.swapaxes(part, 0, 1), total.shape)
    return total


def _spread(x: Any, axis: int, step: int) -> Any:
    """Zeros between the elements along an axis."""
    if step == 1 or x.shape[axis] == 0:
        return x
    n = x.shape[axis]
    widths = [(0, 0)] * (x.ndim + 1)
    widths[axis + 1] = (0, step - 1)
    spread = mx.pad(mx.expand_dims(x, axis + 1), widths)
    whole = mx.reshape(spread, [*x.shape[:axis], n * step, *x.shape[axis + 1 :]])
    cut = [slice(None)] * x.ndim
    cut[axis] = slice(0, (n - 1) * step + 1)
    return whole[tuple(cut)]


def _padded(x: Any, padding: Any) -> Any:
    """A negative width takes elements away."""
    x = mx.pad(x, [(0, 0), *[(max(a, 0), max(b, 0)) for a, b in padding], (0, 0)])
    cut = [
        slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(padding, x.shape[1:-1], strict=True)
    ]
    return x[(slice(None), *cut)]


def conv_transpose(x: Any, filters: Any, bias: Any, spec: TransposedConvSpec) -> Any:
    """A convolution of the spread input with the filters turned round."""
    dims, groups = len(spec.strides), spec.groups
    x = mx.moveaxis(x, 1, -1) if spec.channel_first else x
    if not spec.filter_first:  # (..., outs of a group, ins)
        filters = mx.transpose(filters, (dims + 1, dims, *range(dims)))
    inner, outer, *kernel = filters.shape
    parted = mx.reshape(filters, (groups, inner // groups, outer, *kernel))
    turned = mx.reshape(mx.moveaxis(parted, 1, -1), (groups * outer, *kernel, inner // groups))
    turned = turned[(slice(None), *[slice(None, None, -1)] * dims)]
    padding = []
    for n, k, s, d, start, out in zip(
        x.shape[1:-1], kernel, spec.strides, spec.dilations, spec.starts, spec.outs, strict=True
    ):
        reach = (k - 1) * d
        padding.append((reach - start, out + start - ((n - 1) * s + 1)))
    ones = (1,) * dims
    forward = ConvSpec(ones, tuple(padding), spec.strides, spec.dilations, groups, False, False)
    y = _channel_last(x, turned, forward)
    y = y if bias is None else y + bias
    return mx.moveaxis(y, -1, 1) if spec.channel_first else y


# Attention ----------------------------------------------------------------------------------------


def attention(query: Any, key: Any, value: Any, mask: Any, *, scale: float, is_causal: bool) -> Any:
    """MLX's kernel for (batch, heads, length, features) without a mask of its own rows; a row whose
    keys are all masked is zero, which the kernel does not promise."""
    if query.dtype in HALVES and query.dtype == key.dtype == value.dtype:
        # Weights and products in float32, rounded once at the end.
        wide = [x.astype(mx.float32) for x in (query, key, value)]
        return attention(*wide, mask, scale=scale, is_causal=is_causal).astype(query.dtype)
    is_plain = query.dtype == mx.float32 and mask is None
    is_plain = is_plain and query.dtype == key.dtype == value.dtype and query.ndim == 4
    rows, columns = query.shape[-2], key.shape[-2]
    fits = is_plain and min(query.size, key.size, value.size) > 0
    fits = fits and query.shape[:2] == key.shape[:2] == value.shape[:2]
    if not fits or (is_causal and rows != columns):
        return _formula("attention", "attention")(
            query, key, value, mask, scale=scale, is_causal=is_causal
        )
    return mx.fast.scaled_dot_product_attention(
        query, key, value, scale=scale, mask="causal" if is_causal else None
    )
