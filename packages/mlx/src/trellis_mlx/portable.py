"""Functions of MLX alone, on arrays that are already promoted. They are kernels of this backend,
and ejected source contains their text where an operation needs more than one line. They do not use
Trellis.
"""
# mypy: ignore-errors

import itertools
import math

import mlx.core as mx

# Of elements --------------------------------------------------------------------------------------


def is_whole(x):
    return not mx.issubdtype(x.dtype, mx.inexact)


def is_half(x):
    return x.dtype in (mx.float16, mx.bfloat16)


def sign(x):
    """MLX's sign of nan is 0."""
    if not mx.issubdtype(x.dtype, mx.floating):
        return mx.sign(x)
    return mx.where(mx.isnan(x), x, mx.sign(x))


def signbit(x):
    if is_whole(x):
        return x < 0
    bits = {2: mx.int16, 4: mx.int32, 8: mx.int64}[x.dtype.size]
    return mx.stop_gradient(x).view(bits) < 0


def exp2(x):
    return mx.power(mx.array(2, dtype=x.dtype), x)


def cbrt(x):
    """A power, and one step of Newton's method for its last digit."""
    size = mx.abs(x)
    is_plain = (size > 0) & mx.isfinite(size)
    size = mx.where(is_plain, size, mx.ones_like(size))
    root = mx.power(size, mx.array(1 / 3, dtype=x.dtype))
    root = root - (root - size / (root * root)) / 3
    return mx.where(is_plain, mx.where(x < 0, -root, root), x)


def bitwise_left_shift(x1, x2):
    """0 from the width of the type on."""
    width = x1.dtype.size * 8
    return mx.where(x2 >= width, mx.zeros_like(x1), mx.left_shift(x1, mx.minimum(x2, width - 1)))


def bitwise_right_shift(x1, x2):
    width = x1.dtype.size * 8
    shifted = mx.right_shift(x1, mx.minimum(x2, width - 1))
    if mx.issubdtype(x1.dtype, mx.signedinteger):
        return shifted
    return mx.where(x2 >= width, mx.zeros_like(x1), shifted)


def maximum(x1, x2):
    """Equal elements share the gradient; MLX gives it to one of them."""
    if is_whole(x1):
        return mx.maximum(x1, x2)
    return mx.where(x1 == x2, x1 * 0.5 + x2 * 0.5, mx.maximum(x1, x2))


def minimum(x1, x2):
    """Equal elements share the gradient; MLX gives it to one of them."""
    if is_whole(x1):
        return mx.minimum(x1, x2)
    return mx.where(x1 == x2, x1 * 0.5 + x2 * 0.5, mx.minimum(x1, x2))


def remainder(x1, x2):
    if not is_whole(x1):
        rest = mx.remainder(x1, x2)
        # A zero has the sign of the divisor. The added difference is 0, but keeps the gradient.
        zero = mx.where(signbit(x2), -mx.zeros_like(rest), mx.zeros_like(rest))
        return mx.where(rest == 0, zero - (mx.stop_gradient(rest) - rest), rest)
    is_zero = x2 == 0  # integers by 0 give 0, as in NumPy
    rest = mx.remainder(x1, mx.where(is_zero, mx.ones_like(x2), x2))
    return mx.where(is_zero, mx.zeros_like(rest), rest)


def floor_divide(x1, x2):
    if is_half(x1):
        return floor_divide(x1.astype(mx.float32), x2.astype(mx.float32)).astype(x1.dtype)
    if not is_whole(x1):
        # Divided exactly first: rounding the quotient may reach the next whole number.
        whole = mx.round((x1 - mx.remainder(x1, x2)) / x2)
        whole = mx.where(whole == 0, mx.zeros_like(whole), whole)
        quotient = mx.divide(x1, x2)
        is_ordinary = mx.isfinite(quotient) & mx.isfinite(x2) & (x1 != 0) & (x2 != 0)
        limit = mx.where(mx.isfinite(x2), quotient, mx.floor(quotient))
        return mx.stop_gradient(mx.where(is_ordinary, whole, limit))
    is_zero = x2 == 0
    whole = mx.floor_divide(x1, mx.where(is_zero, mx.ones_like(x2), x2))
    return mx.where(is_zero, mx.zeros_like(whole), whole)


def fmod(x1, x2):
    """The remainder with the sign of x1."""
    if mx.issubdtype(x1.dtype, mx.unsignedinteger):
        return remainder(x1, x2)
    rest = remainder(mx.abs(x1), mx.abs(x2))
    return mx.where(signbit(x1), -rest, rest)


def truncate_divide(x1, x2):
    if is_half(x1):  # a quotient may be rounded to the next whole number
        return truncate_divide(x1.astype(mx.float32), x2.astype(mx.float32)).astype(x1.dtype)
    if not is_whole(x1):
        return mx.trunc(mx.divide(x1, x2))
    if mx.issubdtype(x1.dtype, mx.unsignedinteger):
        return floor_divide(x1, x2)
    whole = floor_divide(mx.abs(x1), mx.abs(x2))
    return mx.where((x1 < 0) != (x2 < 0), -whole, whole)


def copysign(x1, x2):
    found = mx.where(signbit(x1) == signbit(x2), x1, -x1)
    return mx.where(x1 == 0, mx.stop_gradient(found), found)  # the derivative of |x| at 0 is 0


def hypot(x1, x2):
    scale = mx.stop_gradient(mx.maximum(mx.abs(x1), mx.abs(x2)))
    is_plain = mx.isfinite(scale) & (scale > 0)
    scale = mx.where(is_plain, scale, mx.ones_like(scale))
    squares = mx.square(x1 / scale) + mx.square(x2 / scale)
    is_zero = squares == 0  # where the derivative of the root is infinite, and ours is 0
    found = mx.sqrt(mx.where(is_zero, mx.ones_like(squares), squares)) * scale
    found = mx.where(is_zero, mx.zeros_like(found), found)
    infinite = mx.isinf(x1) | mx.isinf(x2)
    return mx.where(infinite, mx.array(math.inf, dtype=found.dtype), found)


def pow(x1, x2):
    if not is_whole(x1):
        # 0 to the power of 0 is 1, with a gradient of 0; MLX's is nan.
        is_one = (x1 == 0) & (x2 == 0)
        return mx.power(mx.where(is_one, mx.ones_like(x1), x1), x2)
    if not mx.issubdtype(x1.dtype, mx.signedinteger):
        return mx.power(x1, x2)
    # To a negative power only 1 and -1 are whole numbers; the others are 0.
    one, zero = mx.ones_like(x1), mx.zeros_like(x1)
    turned = mx.where(mx.remainder(x2, mx.array(2, dtype=x2.dtype)) == 0, one, -one)
    inverse = mx.where(x1 == 1, one, mx.where(x1 == -1, turned, zero))
    return mx.where(x2 < 0, inverse, mx.power(x1, mx.maximum(x2, mx.zeros_like(x2))))


def clip(x, min, max):
    # The gradient passes at the bounds themselves. A bound of nan gives nan.
    if min is not None:
        low = mx.array(min, dtype=x.dtype)
        x = mx.where((x < low) | (low != low), low, x)
    if max is not None:
        high = mx.array(max, dtype=x.dtype)
        x = mx.where((x > high) | (high != high), high, x)
    return x


def isclose(x1, x2, *, rtol, atol, equal_nan):
    return mx.isclose(x1, x2, rtol, atol, equal_nan=equal_nan)


def nan_to_num(x, *, nan, posinf, neginf):
    if is_whole(x):
        return x
    limits = mx.finfo(x.dtype)
    x = mx.where(mx.isnan(x), nan, x)
    x = mx.where(x == math.inf, limits.max if posinf is None else posinf, x)
    return mx.where(x == -math.inf, limits.min if neginf is None else neginf, x)


def gelu(x, *, approximate):
    if approximate:
        return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + mx.erf(x * 0.5**0.5))


def elu(x, *, alpha, scale):
    return mx.where(x > 0, scale * x, scale * alpha * mx.expm1(mx.minimum(x, 0)))


# Shapes, order, indices ---------------------------------------------------------------------------


def moveaxis(x, source, destination):
    sources = [source] if isinstance(source, int) else source
    targets = [destination] if isinstance(destination, int) else destination
    sources = [axis % x.ndim for axis in sources]
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, axis in sorted(zip([axis % x.ndim for axis in targets], sources)):
        order.insert(target, axis)
    return mx.transpose(x, order)


def pad(x, pad_width, *, mode, constant_values):
    if mode == "constant":
        return mx.pad(x, pad_width, constant_values=mx.array(constant_values, dtype=x.dtype))
    if mode != "wrap":
        return mx.pad(x, pad_width, mode=mode)
    for axis, (low, high) in enumerate(pad_width):
        n = x.shape[axis]
        x = mx.take(x, mx.array([i % n for i in range(-low, n + high)]), axis=axis)
    return x


def repeat(x, repeats, *, axis):
    x, axis = (mx.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    if isinstance(repeats, int):
        return mx.repeat(x, repeats, axis=axis)
    places = [i for i, count in enumerate(repeats.tolist()) for _ in range(count)]
    return mx.take(x, mx.array(places, dtype=mx.int32), axis=axis)


def var(x, *, axis, correction, keepdims):
    away = mx.square(mx.abs(x - mx.mean(x, axis=axis, keepdims=True)))
    y = mx.mean(away, axis=axis, keepdims=keepdims)
    count = x.size / (y.size or 1)
    return y if correction == 0 else y * (count / (count - correction))


def reduced(native, x, axis, keepdims, of_nothing, dtype):
    """MLX's own reduction of an empty array may never end, or reads what was in memory before."""
    if x.size:
        return native(x, axis=axis, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = [a % x.ndim for a in axes]
    kept = [(i, 1 if i in axes else n) for i, n in enumerate(x.shape)]
    shape = [n for i, n in kept if keepdims or i not in axes]
    return mx.full(shape, of_nothing, dtype=dtype)


def all(x, *, axis, keepdims):
    return reduced(mx.all, x, axis, keepdims, True, mx.bool_)


def any(x, *, axis, keepdims):
    return reduced(mx.any, x, axis, keepdims, False, mx.bool_)


def mean(x, *, axis, keepdims):
    return reduced(mx.mean, x, axis, keepdims, math.nan, x.dtype)


def prod(x, *, axis, keepdims):
    return reduced(mx.prod, x, axis, keepdims, 1, x.dtype)


def sum(x, *, axis, keepdims):
    return reduced(mx.sum, x, axis, keepdims, 0, x.dtype)


def std(x, *, axis, correction, keepdims):
    return mx.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def linspace(start, stop, num, *, endpoint, result):
    steps = mx.arange(num, dtype=mx.float32) / ((num - 1 if endpoint else num) or 1)
    return ((1 - steps) * start + steps * stop).astype(result)


def cumulative_sum(x, *, axis, include_initial):
    return running(mx.cumsum, x, 0 if axis is None else axis, 0 if include_initial else None)


def cumulative_prod(x, *, axis, include_initial):
    return running(mx.cumprod, x, 0 if axis is None else axis, 1 if include_initial else None)


def running(total, x, axis, initial):
    found = total(x, axis=axis).astype(x.dtype)
    if initial is None:
        return found
    shape = list(x.shape)
    shape[axis] = 1
    return mx.concatenate([mx.full(shape, initial, dtype=x.dtype), found], axis=axis)


def diff(x, *, axis, n, prepend, append):
    parts = [part for part in (prepend, x, append) if part is not None]
    whole = x if len(parts) == 1 else mx.concatenate(parts, axis=axis)
    return mx.diff(whole, n, axis)


def argsort(x, *, axis, descending):
    x = mx.stop_gradient(x)
    if not descending:
        return mx.argsort(x, axis=axis)
    # Equal elements keep their order.
    backwards = mx.argsort(mx.flip(x, axis=axis), axis=axis).astype(mx.int32)
    return x.shape[axis] - 1 - mx.flip(backwards, axis=axis)


def sort(x, *, axis, descending):
    y = mx.sort(x, axis=axis)
    return mx.flip(y, axis=axis) if descending else y


def topk(x, k, *, axis, largest):
    order = argsort(x, axis=axis, descending=largest)
    best = mx.take(order, mx.arange(k), axis=axis)
    return mx.take_along_axis(x, best, axis=axis), best


def searchsorted(x1, x2, *, side, sorter):
    x1 = x1 if sorter is None else mx.take(x1, sorter, axis=0)
    return mx.searchsorted(mx.stop_gradient(x1), mx.stop_gradient(x2), side)


def sliding_window(x, window, *, axis, step):
    count = (x.shape[axis] - window) // step + 1
    places = mx.arange(count)[:, None] * step + mx.arange(window)
    axis = axis % x.ndim
    return mx.moveaxis(mx.take(x, places, axis=axis), axis + 1, -1)


def segment_sum(x, segment_ids, *, num_segments):
    is_in = (segment_ids >= 0) & (segment_ids < num_segments)
    ids = mx.where(is_in, segment_ids, num_segments)  # one more, which is cut off
    return mx.zeros((num_segments + 1, *x.shape[1:]), x.dtype).at[ids].add(x)[:num_segments]


def update_slice(x, values, start, *, axis):
    first = mx.clip(mx.array(start), 0, x.shape[axis] - values.shape[axis])
    return mx.slice_update(x, values.astype(x.dtype), mx.reshape(first, (1,)), (axis % x.ndim,))


def index_set(x, idx, value):
    y = mx.array(x)
    y[idx] = mx.array(value, dtype=x.dtype)
    return y


def index_add(x, idx, value):
    return x.at[idx].add(mx.array(value, dtype=x.dtype))


# Layers -------------------------------------------------------------------------------------------


def linear(x, weight, bias):
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


def class_losses(logits, targets, *, axis, reduction):
    places = mx.expand_dims(targets, axis)
    logits = logits - mx.logsumexp(logits, axis=axis, keepdims=True)
    losses = -mx.squeeze(mx.take_along_axis(logits, places, axis=axis), axis=axis)
    return losses if reduction == "none" else getattr(losses, reduction)()


def layer_norm(x, weight, bias, *, axes, epsilon):
    if tuple(axes) in ((x.ndim - 1,), (-1,)):
        return mx.fast.layer_norm(x, weight, bias, epsilon)
    mean = mx.mean(x, axis=axes, keepdims=True)
    variance = mx.var(x, axis=axes, keepdims=True)
    y = (x - mean) / mx.sqrt(variance + epsilon)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    y = y if weight is None else y * mx.reshape(weight, shape)
    return y if bias is None else y + mx.reshape(bias, shape)


def attention_weights(query, key, mask, *, scale, is_causal):
    logits = (query * scale) @ mx.swapaxes(key, -1, -2)
    if is_causal:
        logits = mx.where(mx.tri(*logits.shape[-2:]) > 0, logits, -math.inf)
    if mask is not None and mask.dtype == mx.bool_:
        logits = mx.where(mask, logits, -math.inf)
    elif mask is not None:
        logits = logits + mask
    # A row whose keys are all masked is zero.
    top = mx.max(logits, axis=-1, keepdims=True)
    weights = mx.exp(logits - mx.where(mx.isfinite(top), top, 0))
    total = mx.sum(weights, axis=-1, keepdims=True)
    return (weights / mx.where(total == 0, 1, total)).astype(query.dtype)


def attention(query, key, value, mask, *, scale, is_causal):
    is_square = query.shape[:2] == key.shape[:2] and query.shape[-2] == key.shape[-2]
    if query.ndim == 4 and mask is None and is_square and query.dtype == mx.float32:
        return mx.fast.scaled_dot_product_attention(
            query, key, value, scale=scale, mask="causal" if is_causal else None
        )
    weights = attention_weights(query, key, mask, scale=scale, is_causal=is_causal)
    return (weights @ value).astype(value.dtype)


def windows(x, kernel, strides, dilations):
    """The part of x (batch, spatial..., channels) under each position of the kernel, in order."""
    sizes = x.shape[1:-1]
    outs = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, strides, dilations)]
    parts = []
    for place in itertools.product(*[range(k) for k in kernel]):
        spans = [
            slice(at * d, at * d + (out - 1) * s + 1, s)
            for at, d, out, s in zip(place, dilations, outs, strides)
        ]
        parts.append(x[(slice(None), *spans)])
    return parts


def max_pool(x, *, window, strides, padding, dilations, channel_first, indices):
    if indices:
        raise ValueError("positions of maxima are not part of this source")
    x = mx.moveaxis(x, 1, -1) if channel_first else x
    x = mx.pad(x, [(0, 0), *padding, (0, 0)], constant_values=mx.array(-math.inf, dtype=x.dtype))
    y = mx.max(mx.stack(windows(x, window, strides, dilations)), axis=0)
    return (mx.moveaxis(y, -1, 1) if channel_first else y), None


def conv(
    x, filters, bias, *, strides, padding, x_dilations, dilations, groups, channel_first,
    filter_first,
):  # fmt: skip
    """MLX's data are channel last, its filters (out, ..., in)."""
    x = mx.moveaxis(x, 1, -1) if channel_first else x
    filters = mx.moveaxis(filters, 1, -1) if filter_first else mx.moveaxis(filters, -1, 0)
    low, high = zip(*padding)
    y = mx.conv_general(x, filters, strides, (low, high), dilations, x_dilations, groups)
    y = y if bias is None else y + bias
    return mx.moveaxis(y, -1, 1) if channel_first else y


def conv_transpose(
    x, filters, bias, *, strides, starts, outs, dilations, groups, channel_first, filter_first
):
    """A convolution of the spread input with the filters turned round."""
    dims = len(strides)
    x = mx.moveaxis(x, 1, -1) if channel_first else x
    if not filter_first:  # (..., outs of a group, ins)
        filters = mx.transpose(filters, (dims + 1, dims, *range(dims)))
    inner, outer, *kernel = filters.shape
    parted = mx.reshape(filters, (groups, inner // groups, outer, *kernel))
    turned = mx.reshape(mx.moveaxis(parted, 1, -1), (groups * outer, *kernel, inner // groups))
    turned = turned[(slice(None), *[slice(None, None, -1)] * dims)]
    low, high = [], []
    for n, k, s, d, start, out in zip(x.shape[1:-1], kernel, strides, dilations, starts, outs):
        low.append((k - 1) * d - start)
        high.append(out + start - ((n - 1) * s + 1))
    y = mx.conv_general(x, turned, (1,) * dims, (low, high), dilations, strides, groups)
    y = y if bias is None else y + bias
    return mx.moveaxis(y, -1, 1) if channel_first else y


def lstm(x, h, c, kernel, recurrent_kernel, bias):
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    hs = []
    for step in inputs:
        i, f, g, o = mx.split(step + h @ recurrent_kernel, 4, axis=-1)
        c = mx.sigmoid(f) * c + mx.sigmoid(i) * mx.tanh(g)
        h = mx.sigmoid(o) * mx.tanh(c)
        hs.append(h)
    return mx.stack(hs), (h, c)


# Linear algebra; MLX's decompositions run on the CPU only ----------------------------------------


def solve(x1, x2):
    columns = x2[:, None] if x2.ndim == 1 else x2
    batch = mx.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    x1 = mx.broadcast_to(x1, (*batch, *x1.shape[-2:]))
    columns = mx.broadcast_to(columns, (*batch, *columns.shape[-2:]))
    y = mx.linalg.solve(x1, columns, stream=mx.cpu)
    return y[..., 0] if x2.ndim == 1 else y


def vector_norm(x, *, axis, keepdims, ord):
    size = mx.abs(x)
    if ord == math.inf:
        return mx.max(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return mx.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return mx.sum(size != 0, axis=axis, keepdims=keepdims).astype(size.dtype)
    if ord == 1:
        return mx.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return mx.sqrt(mx.sum(mx.square(size), axis=axis, keepdims=keepdims))
    return mx.power(mx.sum(mx.power(size, ord), axis=axis, keepdims=keepdims), 1 / ord)


def matrix_power(x, n):
    x = mx.linalg.inv(x, stream=mx.cpu) if n < 0 else x
    y = mx.broadcast_to(mx.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for _ in range(abs(n)):
        y = y @ x
    return y
