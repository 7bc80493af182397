"""Convolution by TensorFlow's kernels where they are sound.

TensorFlow's CPU convolutions know channel-last data only, have no gradients with dilation, no
groups and no dilation in three dimensions, and its depthwise convolution is silently wrong with
stride and dilation together. What is sound is used as it is (`_native`, `_native_depthwise`);
dilation at stride 1 goes through space-to-batch where somebody may ask for a gradient, and
everything else through gathered windows and one matrix product. All of it has gradients of every
order.
"""

import math
from itertools import product
from typing import Any

import tensorflow as tf

from ..shared.convolution import ConvSpec, TransposedConvSpec
from ._helpers import may_differentiate
from ._types import Tensor


def conv(x: Tensor, filters: Tensor, bias: Any, spec: ConvSpec) -> Any:
    """Cross-correlation; all arguments are checked before."""
    dtype = x.dtype
    x, filters = _computable(x, filters, spec)
    if max(spec.x_dilations) > 1:
        x = _spread(x, 1, spec.x_dilations)
    y = _conv(x, filters, spec.strides, spec.padding, spec.dilations, spec.groups)
    return _finished(y, bias, dtype, spec.channel_first)


def conv_transpose(x: Tensor, filters: Tensor, bias: Any, spec: TransposedConvSpec) -> Any:
    """The part of a transposed convolution that the spec names; arguments are checked before."""
    strides, starts, outs, dilations, groups, channel_first, _ = spec
    dtype = x.dtype
    x, filters = _computable(x, filters, spec)
    dims = len(strides)
    kernel = filters.shape[:dims]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    ends = [(n - 1) * s + span for n, s, span in zip(x.shape[1:-1], strides, spans, strict=True)]
    # Elements that exist in the full result; beyond them come zeros.
    real = [min(out, end - start) for out, end, start in zip(outs, ends, starts, strict=True)]
    if min(real) <= 0:
        y = tf.zeros_like(
            _transposed(x, filters, strides, [0] * dims, ends, ends, dilations, groups)
        )
        y = y[(slice(None), *[slice(0, 0)] * dims)]
        real = [0] * dims
    else:
        y = _transposed(x, filters, strides, starts, real, ends, dilations, groups)
    if any([out > r for out, r in zip(outs, real, strict=True)]):
        y = tf.pad(y, [(0, 0), *[(0, out - r) for out, r in zip(outs, real, strict=True)], (0, 0)])
    return _finished(y, bias, dtype, channel_first)


def _transposed(
    x: Tensor,
    filters: Tensor,
    strides: Any,
    starts: Any,
    sizes: Any,
    ends: Any,
    dilations: Any,
    groups: int,
) -> Any:
    dims = len(strides)
    kernel = filters.shape[:dims]
    # The kernel's gradient gives an empty batch the shape of the result.
    if groups > 1 or max(dilations) > 1 or x.shape[0] == 0:
        x = _spread(x, 1, strides)
        spans = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
        x = tf.pad(x, [(0, 0), *[(span, span) for span in spans], (0, 0)])
        stops = [start + size for start, size in zip(starts, sizes, strict=True)]
        # The windows of the wanted elements only.
        x = x[
            (
                slice(None),
                *[slice(a, b + span) for a, b, span in zip(starts, stops, spans, strict=True)],
            )
        ]
        return _conv(
            x,
            _transposed_filters(filters, groups),
            (1,) * dims,
            ((0, 0),) * dims,
            dilations,
            groups,
        )
    padding = [
        (start, end - start - size) for start, end, size in zip(starts, ends, sizes, strict=True)
    ]
    if _is_same(sizes, kernel, strides, padding, x.shape[1:-1]):
        # Explicit padding is slower in two dimensions, and in three there is none.
        return _native_transposed(x, filters, strides, "SAME", sizes)
    is_plain = dims < 3 and all([max(pair) < k for pair, k in zip(padding, kernel, strict=True)])
    if is_plain:
        return _native_transposed(x, filters, strides, _explicit(padding), sizes)
    y = _native_transposed(x, filters, strides, "VALID", ends)
    if sizes == ends:
        return y
    return y[(slice(None), *[slice(a, a + size) for a, size in zip(starts, sizes, strict=True)])]


def _native_transposed(x: Tensor, filters: Tensor, strides: Any, padding: Any, sizes: Any) -> Any:
    batch = tf.shape(x)[0] if x.shape[0] is None else x.shape[0]
    channels = filters.shape[-2]
    if len(strides) == 3:
        return tf.nn.conv3d_transpose(
            x, filters, [batch, *sizes, channels], [1, *strides, 1], padding
        )
    if len(strides) == 1:
        x, filters = tf.expand_dims(x, 1), tf.expand_dims(filters, 0)
        y = tf.nn.conv2d_transpose(
            x,
            filters,
            [batch, 1, *sizes, channels],
            [1, 1, *strides, 1],
            padding if isinstance(padding, str) else [[0, 0], *padding],
        )
        return tf.squeeze(y, 1)
    return tf.nn.conv2d_transpose(x, filters, [batch, *sizes, channels], [1, *strides, 1], padding)


def _conv(
    x: Tensor, filters: Tensor, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    dims, channels = len(strides), x.shape[-1]
    is_depthwise = groups == channels and groups > 1 and dims < 3 and len(set(strides)) == 1
    # The oneDNN kernels of TensorFlow 2.21 give an empty batch the shape of their input.
    if (groups == 1 or is_depthwise) and x.shape[0] != 0:
        if max(dilations) == 1:
            kernel = _native_depthwise if is_depthwise else _native
            return kernel(x, filters, strides, padding)
        if max(strides) == 1:
            if groups == 1 and dims < 3 and x.dtype is tf.float32 and not may_differentiate():
                return _native_dilated(x, filters, padding, dilations)
            return _dilated(x, filters, padding, dilations, is_depthwise)
    return _by_windows(x, filters, strides, padding, dilations, groups)


def _native(x: Tensor, filters: Tensor, strides: Any, padding: Any) -> Any:
    # Named paddings only: with explicit ones the kernels for two dimensions and their gradients
    # take four times as long as a copy of the padded input does.
    name = _named_padding(x, filters, strides, padding)
    if name is None:
        x, name = tf.pad(x, [(0, 0), *padding, (0, 0)]), "VALID"
    if len(strides) == 3:
        return tf.nn.conv3d(x, filters, [1, *strides, 1], name)
    if len(strides) == 1:
        x, filters = tf.expand_dims(x, 1), tf.expand_dims(filters, 0)
        return tf.squeeze(tf.nn.conv2d(x, filters, [1, 1, *strides, 1], name), 1)
    return tf.nn.conv2d(x, filters, [1, *strides, 1], name)


def _native_depthwise(x: Tensor, filters: Tensor, strides: Any, padding: Any) -> Any:
    """Groups of one channel, equal strides, no dilation: where TensorFlow's kernel is right."""
    channels = x.shape[-1]
    multiplier = filters.shape[-1] // channels
    filters = tf.reshape(filters, [*filters.shape[:-2], channels, multiplier])
    if len(strides) == 2 and _named_padding(x, filters, strides, padding) == "SAME":
        # Explicit padding makes this kernel copy its input first.
        return _depthwise(x, filters, [1, *strides, 1], "SAME")
    x, padding = _padded_beyond_kernel(x, filters, padding)
    if len(strides) == 1:
        x, filters = tf.expand_dims(x, 1), tf.expand_dims(filters, 0)
        step = strides[0]
        y = _depthwise(x, filters, [1, step, step, 1], _explicit([(0, 0), *padding]))
        return tf.squeeze(y, 1)
    return _depthwise(x, filters, [1, *strides, 1], _explicit(padding))


def _depthwise(x: Tensor, filters: Tensor, strides: Any, padding: Any) -> Any:
    # The kernel itself: tf.nn.depthwise_conv2d prepares for dilations first, which takes time.
    if isinstance(padding, str):
        return tf.raw_ops.DepthwiseConv2dNative(
            input=x, filter=filters, strides=strides, padding=padding
        )
    pairs = [size for pair in padding for size in pair]
    return tf.raw_ops.DepthwiseConv2dNative(
        input=x, filter=filters, strides=strides, padding="EXPLICIT", explicit_paddings=pairs
    )


def _explicit(padding: Any) -> Any:
    if any([max(pair) > 0 for pair in padding]):
        return [[0, 0], *[list(pair) for pair in padding], [0, 0]]
    return "VALID"


def _padded_beyond_kernel(x: Tensor, filters: Tensor, padding: Any) -> Any:
    """Pads by hand where padding reaches beyond the kernel: gradient kernels refuse that."""
    if all([max(pair) < k for pair, k in zip(padding, filters.shape[:-2], strict=True)]):
        return x, padding
    return tf.pad(x, [(0, 0), *padding, (0, 0)]), [(0, 0)] * len(padding)


def _named_padding(x: Tensor, filters: Tensor, strides: Any, padding: Any) -> str | None:
    """ "VALID" or "SAME" where that is what the pairs say; the native conv3d knows no other."""
    if not any([max(pair) > 0 for pair in padding]):
        return "VALID"
    sizes, kernel = x.shape[1:-1], filters.shape[:-2]
    if max(strides) == 1:
        sizes = kernel  # what "SAME" adds does not depend on the sizes, which may be unknown
    elif None in sizes:
        return None
    outs = [-(-n // s) for n, s in zip(sizes, strides, strict=True)]
    return "SAME" if _is_same(sizes, kernel, strides, padding, outs) else None


def _is_same(sizes: Any, kernel: Tensor, strides: Any, padding: Any, outs: Any) -> bool:
    """Whether `padding` is what "SAME" means for the convolution from `sizes` to `outs`."""
    for n, k, s, pair, out in zip(sizes, kernel, strides, padding, outs, strict=True):
        total = max((-(-n // s) - 1) * s + k - n, 0)
        if -(-n // s) != out or tuple(pair) != (total // 2, total - total // 2):
            return False
    return True


def _dilated(x: Tensor, filters: Tensor, padding: Any, dilations: Any, is_depthwise: bool) -> Any:
    """Dilation at stride 1: every d-th pixel becomes its own image of a larger batch."""
    dims = len(dilations)
    paddings, crops = [], []
    for n, d, (low, high) in zip(x.shape[1:-1], dilations, padding, strict=True):
        extra = -(n + low + high) % d
        paddings.append((low, high + extra))
        crops.append((0, extra))
    blocks = tf.space_to_batch(x, list(dilations), paddings)
    kernel = _native_depthwise if is_depthwise else _native
    y = kernel(blocks, filters, (1,) * dims, ((0, 0),) * dims)
    return tf.batch_to_space(y, list(dilations), crops)


def _native_dilated(x: Tensor, filters: Tensor, padding: Any, dilations: Any) -> Any:
    """Dilation at stride 1 by the kernel itself, which has no gradients."""
    if len(dilations) == 1:
        x, filters = tf.expand_dims(x, 1), tf.expand_dims(filters, 0)
        y = _native_dilated(x, filters, [(0, 0), *padding], [1, *dilations])
        return tf.squeeze(y, 1)
    return tf.nn.conv2d(x, filters, 1, _explicit(padding), dilations=[1, *dilations, 1])


def _by_windows(
    x: Tensor, filters: Tensor, strides: Any, padding: Any, dilations: Any, groups: int
) -> Any:
    """Any stride, dilation and groups: the windows side by side, times the filters."""
    dims, channels, out_channels = len(strides), x.shape[-1], filters.shape[-1]
    kernel, in_group = filters.shape[:dims], channels // groups
    if any([max(pair) > 0 for pair in padding]):
        x = tf.pad(x, [(0, 0), *padding, (0, 0)])
    outs = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[1:-1], kernel, strides, dilations, strict=True)
    ]
    windows = []
    for offset in product(*[range(k) for k in kernel]):
        spans = [
            slice(at * d, at * d + (out - 1) * s + 1, s)
            for at, d, out, s in zip(offset, dilations, outs, strides, strict=True)
        ]
        windows.append(tf.reshape(x[(slice(None), *spans)], [-1, groups, in_group]))
    columns = tf.transpose(tf.concat(windows, -1), [1, 0, 2])
    matrices = tf.reshape(filters, [math.prod(kernel) * in_group, groups, out_channels // groups])
    y = tf.transpose(tf.matmul(columns, tf.transpose(matrices, [1, 0, 2])), [1, 0, 2])
    return tf.reshape(y, [tf.shape(x)[0], *outs, out_channels])


def _computable(x: Tensor, filters: Tensor, spec: ConvSpec | TransposedConvSpec) -> tuple[Any, Any]:
    """Both channel last; halves in float32."""
    x, filters = tf.convert_to_tensor(x), tf.convert_to_tensor(filters)
    rank = x.shape.rank
    if spec.channel_first:
        x = tf.transpose(x, [0, *range(2, rank), 1])
    if spec.filter_first:
        filters = tf.transpose(filters, [*range(2, rank), 1, 0])
    if x.dtype.size < 4:
        x, filters = tf.cast(x, tf.float32), tf.cast(filters, tf.float32)
    return x, filters


def _finished(y: Tensor, bias: Any, dtype: Any, channel_first: bool) -> Any:
    if bias is not None:
        # Before halves are rounded, for the bias's derivative: a sum over the batch.
        y = y + (bias if bias.dtype == y.dtype else tf.cast(bias, y.dtype))
    y = tf.cast(y, dtype)
    rank = y.shape.rank
    return tf.transpose(y, [0, rank - 1, *range(1, rank - 1)]) if channel_first else y


def _spread(x: Tensor, first: int, steps: Any) -> Any:
    """Zeros between the elements along the axes from `first` on."""
    for axis, step in enumerate(steps, start=first):
        if step > 1:
            n = x.shape[axis]
            shape = tf.shape(x)
            pads = [(0, 0)] * (x.shape.rank + 1)
            pads[axis + 1] = (0, step - 1)
            known = list(x.shape)
            x = tf.pad(tf.expand_dims(x, axis + 1), pads)
            x = tf.reshape(x, tf.concat([shape[:axis], [n * step], shape[axis + 1 :]], 0))
            known[axis] = n * step
            x.set_shape(known)  # for the tracer alone: no operation
            x = x[(slice(None),) * axis + (slice(0, (n - 1) * step + 1),)]
    return x


def _transposed_filters(filters: Tensor, groups: int) -> Any:
    """Filters (K..., O/g, I) of a transposed convolution as (K..., I/g, O) of a forward one."""
    dims = filters.shape.rank - 2
    kernel, out_group, channels = list(filters.shape[:dims]), filters.shape[-2], filters.shape[-1]
    flipped = tf.reverse(filters, list(range(dims)))
    flipped = tf.reshape(flipped, [*kernel, out_group, groups, channels // groups])
    flipped = tf.transpose(flipped, [*range(dims), dims + 2, dims + 1, dims])
    return tf.reshape(flipped, [*kernel, channels // groups, groups * out_group])
