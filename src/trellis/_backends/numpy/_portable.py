"""Functions of NumPy alone, on arrays that are already promoted. They are kernels of this backend,
and ejected source contains their text where an operation needs more than one line. They do not use
Trellis.
"""
# mypy: ignore-errors

import itertools

import numpy as np

from . import _scipy as scipy


def floor_divide(x1, x2):
    quotient = np.floor_divide(x1, x2)
    if quotient.dtype.kind in "iub":
        return quotient
    # NumPy answers inf // 1 with nan and 1 // -inf with -1; the standard with inf and -0.
    is_infinite = np.isinf(x1) | np.isinf(x2)
    if not np.any(is_infinite):
        return quotient
    with np.errstate(invalid="ignore"):
        return np.where(is_infinite, np.floor(np.divide(x1, x2)), quotient)


def truncate_divide(x1, x2):
    dtype = (x1 if hasattr(x1, "dtype") else x2).dtype
    if dtype.kind in "iub":
        quotient = np.floor_divide(x1, x2)
        # The floor of a negative quotient is one lower, unless the remainder is 0.
        is_below = ((x1 < 0) != (x2 < 0)) & (quotient * x2 != x1) & (x2 != 0)
        return quotient + is_below.astype(dtype)
    if dtype.itemsize < 4:  # a quotient rounded to 16 bits may round up to the next integer
        x1, x2 = [x.astype(np.float32) if hasattr(x, "dtype") else x for x in (x1, x2)]
    return np.trunc(np.divide(x1, x2)).astype(dtype, copy=False)


def pow(x1, x2):
    is_number = isinstance(x2, (bool, int, float, complex))
    if is_number or x2.dtype.kind != "i" or not np.any(x2 < 0):
        return np.power(x1, x2)
    # The integer part of 1 / x**n, as in PyTorch; NumPy raises.
    of_one = np.where(np.abs(x1) == 1, np.power(x1, np.abs(x2)), 0)
    return np.where(x2 < 0, of_one, np.power(x1, np.maximum(x2, 0))).astype(x1.dtype)


def rsqrt(x):
    if x.dtype.itemsize < 4:  # the 16-bit types are rounded once
        return np.reciprocal(np.sqrt(x.astype(np.float32))).astype(x.dtype)
    return np.reciprocal(np.sqrt(x))


def erfc(x):
    """SciPy's own rounds x**2 in the tail, which the exponential magnifies up to 500 times."""
    if x.dtype.itemsize < 4:  # SciPy has loops for float32 and float64 only
        return scipy.special.erfc(x.astype(np.float32)).astype(x.dtype)
    if x.dtype.itemsize == 4:
        return scipy.special.erfc(x)
    y = scipy.special.erfc(x)
    # The square of a number of 25 bits is exact; from 28 on, erfc is 0.
    size = np.clip(x, 0.0, 28.0)
    square, high = size * size, np.floor(size * 2.0**20) * 2.0**-20
    low = size - high
    y = y - y * (((high * high - square) + 2 * high * low) + low * low)
    # There it is 1 - erf, eight units off.
    middle = (x > 0.5) & (x < 1)
    if np.any(middle):
        some = x[middle]
        y = np.array(y)
        y[middle] = scipy.special.erfcx(some) * np.exp(-some * some)
    return y


def layer_norm(x, weight, bias, *, axes, epsilon):
    mean = np.mean(x, axis=axes, keepdims=True)
    variance = np.var(x, axis=axes, keepdims=True)
    y = (x - mean) / np.sqrt(variance + epsilon)
    shape = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
    y = y if weight is None else y * np.reshape(weight, shape)
    return y if bias is None else y + np.reshape(bias, shape)


def attention_weights(query, key, mask, *, scale, is_causal):
    logits = (query * scale) @ np.swapaxes(key, -1, -2)
    if is_causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    if mask is not None and mask.dtype == bool:
        logits = np.where(mask, logits, -np.inf)
    elif mask is not None:
        logits = logits + mask
    # A row whose keys are all masked is zero.
    top = np.max(logits, axis=-1, keepdims=True)
    weights = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = np.sum(weights, axis=-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total)).astype(query.dtype)


def attention(query, key, value, mask, *, scale, is_causal):
    weights = attention_weights(query, key, mask, scale=scale, is_causal=is_causal)
    return (weights @ value).astype(value.dtype)


def linear(x, weight, bias):
    y = x @ weight.T
    return y if bias is None else y + bias


def class_losses(logits, targets, *, axis, reduction):
    places = np.expand_dims(targets, axis)
    losses = -np.take_along_axis(scipy.special.log_softmax(logits, axis=axis), places, axis=axis)
    losses = np.squeeze(losses, axis=axis)
    return losses if reduction == "none" else getattr(losses, reduction)()


def topk(x, k, *, axis, largest):
    if largest:  # nan is the largest; equal elements keep their order
        backwards = np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, stable=True), axis=axis)
        order = x.shape[axis] - 1 - backwards
    else:
        order = np.argsort(x, axis=axis, stable=True)
    best = np.take(order, np.arange(k), axis=axis)
    return np.take_along_axis(x, best, axis=axis), best


def argsort(x, *, axis, descending):
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    # Equal elements keep their order.
    backwards = np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, stable=True), axis=axis)
    return x.shape[axis] - 1 - backwards


def sort(x, *, axis, descending):
    y = np.sort(x, axis=axis)
    return np.flip(y, axis=axis) if descending else y


def solve(x1, x2):
    if x2.ndim == 1:
        return np.linalg.solve(x1, x2[:, None])[..., 0]
    return np.linalg.solve(x1, x2)


def sliding_window(x, window, *, axis, step):
    count = (x.shape[axis] - window) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(window)
    axis = axis % x.ndim
    return np.moveaxis(np.take(x, places, axis=axis), axis + 1, -1)


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
    x = np.moveaxis(x, 1, -1) if channel_first else x
    x = np.pad(x, [(0, 0), *padding, (0, 0)], constant_values=-np.inf)
    y = np.max(np.stack(windows(x, window, strides, dilations)), axis=0)
    return (np.moveaxis(y, -1, 1) if channel_first else y), None


def spread(x, steps):
    """Zeros between the elements of the spatial axes."""
    sizes = [(n - 1) * step + 1 for n, step in zip(x.shape[1:-1], steps)]
    y = np.zeros((x.shape[0], *sizes, x.shape[-1]), x.dtype)
    y[(slice(None), *[slice(None, None, step) for step in steps])] = x
    return y


def conv(
    x, filters, bias, *, strides, padding, x_dilations, dilations, groups, channel_first,
    filter_first,
):  # fmt: skip
    x = np.moveaxis(x, 1, -1) if channel_first else x
    if filter_first:
        filters = np.transpose(filters, (*range(2, filters.ndim), 1, 0))
    x = np.pad(spread(x, x_dilations), [(0, 0), *padding, (0, 0)])
    kernel, (inner, outer) = filters.shape[:-2], filters.shape[-2:]
    matrices = filters.reshape(-1, inner, groups, outer // groups)
    y = 0
    for part, matrix in zip(windows(x, kernel, strides, dilations), matrices):
        part = part.reshape(*part.shape[:-1], groups, inner)
        y = y + np.einsum("...gi,igo->...go", part, matrix, optimize=True)
    y = y.reshape(*y.shape[:-2], outer)
    y = y if bias is None else y + bias
    return np.moveaxis(y, -1, 1) if channel_first else y


def conv_transpose(
    x, filters, bias, *, strides, starts, outs, dilations, groups, channel_first, filter_first
):
    x = np.moveaxis(x, 1, -1) if channel_first else x
    if filter_first:
        filters = np.transpose(filters, (*range(2, filters.ndim), 1, 0))
    kernel, (outer, inner) = filters.shape[:-2], filters.shape[-2:]
    ends = [
        max((n - 1) * s + (k - 1) * d + 1, start + out)
        for n, k, s, d, start, out in zip(x.shape[1:-1], kernel, strides, dilations, starts, outs)
    ]
    full = np.zeros((x.shape[0], *ends, groups, outer), x.dtype)
    grouped = x.reshape(*x.shape[:-1], groups, inner // groups)
    for place in itertools.product(*[range(k) for k in kernel]):
        matrix = filters[place].reshape(outer, groups, inner // groups)
        spans = [
            slice(at * d, at * d + (n - 1) * s + 1, s)
            for at, d, n, s in zip(place, dilations, x.shape[1:-1], strides)
        ]
        full[(slice(None), *spans)] += np.einsum("...gi,ogi->...go", grouped, matrix)
    y = full[(slice(None), *[slice(a, a + out) for a, out in zip(starts, outs)])]
    y = y.reshape(*y.shape[:-2], groups * outer)
    y = y if bias is None else y + bias
    return np.moveaxis(y, -1, 1) if channel_first else y


def lstm(x, h, c, kernel, recurrent_kernel, bias):
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    hs = []
    for step in inputs:
        i, f, g, o = np.split(step + h @ recurrent_kernel, 4, axis=-1)
        c = scipy.special.expit(f) * c + scipy.special.expit(i) * np.tanh(g)
        h = scipy.special.expit(o) * np.tanh(c)
        hs.append(h)
    return np.stack(hs), (h, c)


def gelu(x, *, approximate):
    if approximate:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).item() * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + scipy.special.erf(x * 0.5**0.5))


def elu(x, *, alpha, scale):
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(np.minimum(x, 0)))


def segment_sum(x, segment_ids, *, num_segments):
    y = np.zeros((num_segments, *x.shape[1:]), x.dtype)
    is_in = (segment_ids >= 0) & (segment_ids < num_segments)
    np.add.at(y, segment_ids[is_in], x[is_in])
    return y


def grouped_matmul(x, weights, group_sizes):
    ends = np.cumsum(group_sizes)
    y = np.zeros((x.shape[0], weights.shape[-1]), x.dtype)
    for start, end, weight in zip([0, *ends[:-1]], ends, weights):
        y[start:end] = x[start:end] @ weight
    return y


def update_slice(x, values, start, *, axis):
    y, steps = x.copy(), values.shape[axis]
    first = max(0, min(int(start), x.shape[axis] - steps))
    y[(slice(None),) * (axis % x.ndim) + (slice(first, first + steps),)] = values
    return y


def index_set(x, idx, value):
    y = x.copy()
    y[idx] = value
    return y


def index_add(x, idx, value):
    y = x.copy()
    np.add.at(y, idx, value)
    return y


def index_multiply(x, idx, value):
    y = x.copy()
    np.multiply.at(y, idx, value)
    return y


def index_min(x, idx, value):
    y = x.copy()
    np.minimum.at(y, idx, value)
    return y


def index_max(x, idx, value):
    y = x.copy()
    np.maximum.at(y, idx, value)
    return y


def eig(x):
    values, vectors = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)  # NumPy's are real where all eigenvalues are
    return values.astype(kind), turned(vectors.astype(kind))


def turned(vectors):
    """Columns with a real, positive largest component: the first one, within a thousandth, so that
    rounding does not choose among equal ones."""
    if vectors.shape[-1] == 0:
        return vectors
    size = np.abs(vectors)
    first = np.argmax(size >= 0.999 * np.max(size, axis=-2, keepdims=True), axis=-2)
    largest = np.take_along_axis(vectors, first[..., None, :], axis=-2)
    return vectors * (np.conj(largest) / np.abs(largest))
