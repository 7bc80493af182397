"""Functions of PyTorch alone, on arrays that are already promoted. They are kernels of this
backend, and ejected source contains their text where an operation needs more than one line. They do
not use Trellis.
"""
# mypy: ignore-errors

import torch
import torch.nn.functional as F


def cbrt(x):
    """PyTorch has none: a power, and one step of Newton's method for its last digits."""
    size = torch.abs(x)
    is_plain = (size > 0) & torch.isfinite(size)
    size = torch.where(is_plain, size, 1.0)
    root = torch.pow(size, 1 / 3)
    root = torch.copysign(root - (root - size / (root * root)) / 3, x)
    # The power lets the derivative be infinite at 0, and 0 at the infinities.
    power = torch.pow(torch.where(x == 0, x, 1.0), 1 / 3)
    far = torch.pow(torch.where(torch.isfinite(x), 1.0, torch.abs(x)), 1 / 3)
    rest = torch.where(x == 0, x - (power.detach() - power), far * torch.sign(x))
    return torch.where(is_plain, root, rest)


def eig(x):
    values, vectors = torch.linalg.eig(x)
    return values, turned(vectors)


def turned(vectors):
    """Columns with a real, positive largest component: the first one, within a thousandth, so that
    rounding does not choose among equal ones."""
    if vectors.shape[-1] == 0:
        return vectors
    size = torch.abs(vectors)
    is_large = size >= 0.999 * torch.amax(size, -2, True)
    first = torch.argmax(is_large.to(torch.uint8), -2, True)
    largest = torch.gather(vectors, -2, first)
    return vectors * (torch.conj(largest) / torch.abs(largest))


def by_nonzero(x1, x2, fn):
    """Integers divided by 0 give 0, as on NumPy; PyTorch would raise."""
    is_zero = x2 == 0
    return torch.where(is_zero, 0, fn(x1, torch.where(is_zero, 1, x2)))


def floor_divide(x1, x2):
    if not x1.is_floating_point():
        return by_nonzero(x1, x2, lambda a, b: torch.div(a, b, rounding_mode="floor"))
    # torch.floor_divide has no derivative; this form has one, which is 0.
    quotient = torch.div(x1, x2, rounding_mode="floor")
    # With an infinity PyTorch follows Python (NaN, or -1 for 1 // -inf); the standard has the
    # quotient.
    return torch.where(torch.isinf(x1) | torch.isinf(x2), torch.div(x1, x2).detach(), quotient)


def remainder(x1, x2):
    if not x1.is_floating_point():
        return by_nonzero(x1, x2, torch.remainder)
    rest = torch.remainder(x1, x2)
    # A zero has the sign of the divisor. The added difference is 0, but keeps the gradient.
    zero = torch.copysign(torch.zeros_like(rest), x2.detach()) - (rest.detach() - rest)
    return torch.where(rest == 0, zero, rest)


def fmod(x1, x2):
    return torch.fmod(x1, x2) if x1.is_floating_point() else by_nonzero(x1, x2, torch.fmod)


def truncate_divide(x1, x2):
    if not x1.is_floating_point():
        return by_nonzero(x1, x2, lambda a, b: torch.div(a, b, rounding_mode="trunc"))
    if x1.dtype.itemsize < 4:  # a quotient rounded to 16 bits may round up to the next integer
        return torch.div(x1.float(), x2.float(), rounding_mode="trunc").to(x1.dtype)
    return torch.div(x1, x2, rounding_mode="trunc")


def hypot(x1, x2):
    """The gradient at (0, 0) is 0, not nan."""
    is_zero = (x1 == 0) & (x2 == 0)
    return torch.where(is_zero, 0.0, torch.hypot(torch.where(is_zero, 1.0, x1), x2))


def nextafter(x1, x2):
    y = torch.nextafter(x1.detach(), x2.detach())
    # The derivative is 1 by x1 and 0 by x2, where they are equal too.
    finite = torch.where(torch.isfinite(x1), x1, 0)
    return y - (finite.detach() - finite)


def sign(x):
    """PyTorch returns 0 for NaN."""
    is_whole = not (x.is_floating_point() or x.is_complex())
    return torch.sgn(x) if is_whole else torch.where(torch.isnan(x), x, torch.sgn(x))


def imag(x, /):
    return torch.imag(x) if x.is_complex() else torch.zeros_like(x)


def prod(x, *, axis, keepdims):
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for a in sorted([a % x.ndim for a in axes], reverse=True):
        x = torch.prod(x, a, keepdim=keepdims)
    return x


def count_nonzero(x, *, axis, keepdims):
    axes = tuple(range(x.ndim)) if axis is None else axis
    return torch.sum(x != 0, dim=axes, keepdim=keepdims)


def with_first(x, axis, value, include_initial):
    if not include_initial:
        return x
    shape = list(x.shape)
    shape[axis] = 1
    return torch.cat([torch.full(shape, value, dtype=x.dtype), x], axis)


def cumulative_sum(x, *, axis, include_initial):
    axis = 0 if axis is None else axis
    return with_first(torch.cumsum(x, axis, dtype=x.dtype), axis, 0, include_initial)


def cumulative_prod(x, *, axis, include_initial):
    axis = 0 if axis is None else axis
    return with_first(torch.cumprod(x, axis, dtype=x.dtype), axis, 1, include_initial)


def sort(x, *, axis, descending):
    return torch.sort(x, dim=axis, descending=descending, stable=True).values


def argsort(x, *, axis, descending):
    return torch.argsort(x, dim=axis, descending=descending, stable=True)


def topk(x, k, *, axis, largest):
    # Of equal elements the first ones.
    values, places = torch.sort(x, dim=axis, descending=largest, stable=True)
    return values.narrow(axis, 0, k), places.narrow(axis, 0, k)


def concat(arrays, *, axis):
    return torch.cat([x.reshape(-1) for x in arrays])


def pad(x, pad_width, *, mode, constant_values):
    if mode == "constant":
        sizes = [size for pair in reversed(pad_width) for size in pair]
        return F.pad(x, sizes, value=constant_values)
    for axis, (low, high) in enumerate(pad_width):
        n = x.shape[axis]
        places = torch.arange(-low, n + high)
        if mode == "edge":
            places = places.clamp(0, n - 1)
        elif mode == "wrap":
            places = places % n
        elif n > 1:  # reflect
            places = places % (2 * n - 2)
            places = torch.where(places < n, places, 2 * n - 2 - places)
        else:
            places = torch.zeros_like(places)
        x = x.index_select(axis, places)
    return x


def eye(n_rows, n_cols, *, k, result):
    columns = n_rows if n_cols is None else n_cols
    return (torch.arange(columns) - torch.arange(n_rows)[:, None] == k).to(result)


def linspace(start, stop, num, *, endpoint, result):
    if endpoint:
        return torch.linspace(start, stop, num, dtype=result)
    return torch.linspace(start, stop, num + 1, dtype=result)[:-1]


def take(x, indices, *, axis):
    if axis is None:
        return x.reshape(-1)[indices.long()]
    axis = axis % x.ndim
    return x[(slice(None),) * axis + (indices.long(),)]


def segment_sum(x, segment_ids, *, num_segments):
    ids = segment_ids.long()
    ids = torch.where((ids < 0) | (ids > num_segments), num_segments, ids)
    y = torch.zeros((num_segments + 1, *x.shape[1:]), dtype=x.dtype)
    return y.index_add(0, ids, x)[:num_segments]


def written(x, idx, value, how):
    """The positions of an index as integers, for any kind of write."""
    places = torch.arange(x.numel()).reshape(x.shape)[idx].reshape(-1)
    value = torch.as_tensor(value, dtype=x.dtype).broadcast_to(x[idx].shape).reshape(-1)
    flat = x.reshape(-1).clone()
    return flat.scatter_reduce(0, places, value, how).reshape(x.shape)


def update_slice(x, values, start, *, axis):
    steps = values.shape[axis]
    places = torch.arange(steps) + start.clamp(0, x.shape[axis] - steps)
    return torch.index_copy(x, axis, places, values)


def index_set(x, idx, value):
    places = torch.arange(x.numel()).reshape(x.shape)[idx]
    value = torch.as_tensor(value, dtype=x.dtype).broadcast_to(places.shape).reshape(-1)
    places = places.reshape(-1)
    values = last_values(value, places, x.numel())
    return torch.index_put(x.reshape(-1), (places,), values).reshape(x.shape)


def last_values(values, places, size):
    """At repeated positions every write has the last value; only the last has a gradient."""
    order = torch.arange(places.shape[0], device=places.device)
    none = torch.zeros(size, dtype=torch.int64, device=places.device)
    winner = torch.scatter_reduce(none, 0, places, order, "amax")[places]
    return torch.where(winner == order, values, values[winner].detach())


def index_add(x, idx, value):
    return written(x, idx, value, "sum")


def index_multiply(x, idx, value):
    return written(x, idx, value, "prod")


def index_min(x, idx, value):
    return written(x, idx, value, "amin")


def index_max(x, idx, value):
    return written(x, idx, value, "amax")


def solve(x1, x2):
    if x2.ndim == 1:
        return torch.linalg.solve(x1, x2[:, None])[..., 0]
    return torch.linalg.solve(x1, x2)


def grouped_matmul(x, weights, group_sizes):
    parts = torch.split(x[: int(group_sizes.sum())], group_sizes.tolist())
    y = torch.cat([part @ weight for part, weight in zip(parts, weights)])
    return F.pad(y, (0, 0, 0, x.shape[0] - y.shape[0]))


def spread(x, steps):
    """Zeros between the elements of the spatial axes of (batch, channels, spatial...)."""
    sizes = [(n - 1) * step + 1 for n, step in zip(x.shape[2:], steps)]
    y = torch.zeros((*x.shape[:2], *sizes), dtype=x.dtype)
    y[(slice(None), slice(None), *[slice(None, None, step) for step in steps])] = x
    return y


def conv(
    x, filters, bias, *, strides, padding, x_dilations, dilations, groups, channel_first,
    filter_first,
):  # fmt: skip
    dims = len(strides)
    x = x if channel_first else x.movedim(-1, 1)
    if not filter_first:
        filters = filters.permute(dims + 1, dims, *range(dims))
    if max(x_dilations) > 1:
        x = spread(x, x_dilations)
    x = F.pad(x, [size for pair in reversed(padding) for size in pair])
    kernel = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[dims]
    y = kernel(x, filters, bias, strides, 0, dilations, groups)
    return y if channel_first else y.movedim(1, -1)


def conv_transpose(
    x, filters, bias, *, strides, starts, outs, dilations, groups, channel_first, filter_first
):
    dims = len(strides)
    x = x if channel_first else x.movedim(-1, 1)
    if not filter_first:
        filters = filters.permute(dims + 1, dims, *range(dims))
    kernel = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[dims]
    y = kernel(x, filters, None, strides, 0, 0, groups, dilations)
    missing = [max(a + n - size, 0) for a, n, size in zip(starts, outs, y.shape[2:])]
    y = F.pad(y, [size for n in reversed(missing) for size in (0, n)])
    spans = [slice(a, a + n) for a, n in zip(starts, outs)]
    y = y[(slice(None), slice(None), *spans)]
    y = y if bias is None else y + bias.reshape(-1, *[1] * dims)
    return y if channel_first else y.movedim(1, -1)


def max_pool(x, *, window, strides, padding, dilations, channel_first, indices):
    if indices:
        raise ValueError("positions of maxima are not part of this source")
    x = x if channel_first else x.movedim(-1, 1)
    x = F.pad(x, [size for pair in reversed(padding) for size in pair], value=float("-inf"))
    kernel = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[len(window)]
    y = kernel(x, window, strides, 0, dilations)
    return (y if channel_first else y.movedim(1, -1)), None


def attention_weights(query, key, mask, *, scale, is_causal):
    logits = (query * scale) @ key.mT
    if is_causal:
        seen = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
        logits = logits.masked_fill(~seen, float("-inf"))
    if mask is not None and mask.dtype == torch.bool:
        logits = logits.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        logits = logits + mask
    # A row whose keys are all masked is zero.
    blind = torch.isneginf(logits).all(-1, keepdim=True)
    return torch.softmax(logits.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)


def attention(query, key, value, mask, *, scale, is_causal):
    return attention_weights(query, key, mask, scale=scale, is_causal=is_causal) @ value


def lstm(x, h, c, kernel, recurrent_kernel, bias):
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    hs = []
    for step in inputs:
        i, f, g, o = torch.chunk(step + h @ recurrent_kernel, 4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        hs.append(h)
    return torch.stack(hs), (h, c)


def layer_norm(x, weight, bias, *, axes, epsilon):
    last = tuple(range(x.ndim - len(axes), x.ndim))
    if tuple(axes) == last:
        return F.layer_norm(x, [x.shape[a] for a in axes], weight, bias, epsilon)
    variance, mean = torch.var_mean(x, dim=axes, correction=0, keepdim=True)
    y = (x - mean) / torch.sqrt(variance + epsilon)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def class_losses(logits, targets, *, axis, reduction):
    logits = logits.movedim(axis, 1) if logits.ndim > 1 else logits
    return F.cross_entropy(logits, targets.long(), reduction=reduction)


def softmax(x, *, axis):
    if isinstance(axis, int):
        return torch.softmax(x, axis)
    parts = torch.exp(x - torch.amax(x, axis, keepdim=True))
    return parts / torch.sum(parts, axis, keepdim=True)


def log_softmax(x, *, axis):
    if isinstance(axis, int):
        return torch.log_softmax(x, axis)
    return x - torch.logsumexp(x, axis, keepdim=True)
