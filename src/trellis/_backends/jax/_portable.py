"""Functions of JAX alone, on arrays that are already promoted. They are kernels of this backend,
and ejected source contains their text where an operation needs more than one line. They do not use
Trellis. Functions that are NumPy's with jax.numpy are not written again here.
"""
# mypy: ignore-errors

import math

import jax
import jax.numpy as jnp


def abs(x):
    """The gradient at 0 is 0; JAX's own is 1 there."""
    return jnp.where(x == 0, jnp.zeros_like(x).real, jnp.abs(x))


def copysign(x1, x2):
    # |x| with the sign of y: at 0 the derivative is 0, as that of |x|.
    return abs(x1) * jax.lax.stop_gradient(jnp.copysign(jnp.ones_like(x1), x2))


def eig(x):
    """JAX has no derivatives of eigenvectors unless a program asks for them."""

    @jax.custom_jvp
    def decomposed(x):
        return tuple(jnp.linalg.eig(x))

    @decomposed.defjvp
    def derivative(primals, tangents):
        values, vectors = decomposed(*primals)
        eye = jnp.eye(vectors.shape[-1], dtype=vectors.dtype)
        inner = jnp.linalg.solve(vectors, tangents[0] @ vectors)
        gaps = values[..., None, :] - values[..., :, None]
        moved = vectors @ jnp.where(eye == 1, 0, inner / jnp.where(eye == 1, 1, gaps))
        # The vectors keep their length. Their phases do not matter: they are turned below.
        along = jnp.sum(jnp.conj(vectors) * moved, -2, keepdims=True).real
        return (values, vectors), (jnp.sum(inner * eye, -1), moved - vectors * along)

    values, vectors = decomposed(x)
    return values, turned(vectors)


def turned(vectors):
    """Columns with a real, positive largest component: the first one, within a thousandth, so that
    rounding does not choose among equal ones."""
    if vectors.shape[-1] == 0:
        return vectors
    size = jnp.abs(vectors)
    first = jnp.argmax(size >= 0.999 * jnp.max(size, -2, keepdims=True), -2, keepdims=True)
    largest = jnp.take_along_axis(vectors, first, -2)
    return vectors * (jnp.conj(largest) / jnp.abs(largest))


def erfc(x):
    """XLA's own rounds x**2 in the tail of float64, which the exponential magnifies up to 500
    times.
    """
    if x.dtype != jnp.float64:
        return jax.scipy.special.erfc(x)

    @jax.custom_jvp
    def precise(x):
        # The square of a number of 25 bits is exact. Below 2**-20, two terms are enough.
        size = jnp.clip(x, 0.0, 27.0)
        high = jnp.floor(size * 2.0**20) * 2.0**-20
        rest = size - high
        y = jax.scipy.special.erfc(high)
        # slope is the derivative of log(exp(x**2) erfc(x)).
        scaled = jnp.where(high < 26.0, y * jnp.exp(high * high), 1.0 / (high * math.sqrt(math.pi)))
        slope = 2.0 * high - 2.0 / math.sqrt(math.pi) / scaled
        factor = 1.0 + rest * slope + rest * rest * (1.0 + high * slope)
        away = y * jnp.exp(-rest * (size + high)) * factor
        return jnp.where(x > 0.5, away, jax.scipy.special.erfc(x))

    @precise.defjvp
    def derivative(primals, tangents):
        slope = -2 / math.sqrt(math.pi) * jnp.exp(-jnp.square(primals[0]))
        return precise(*primals), slope * tangents[0]

    return precise(x)


def erfinv(x):
    """JAX's own loses digits of float64 next to 1: a step of Halley's method restores them."""
    if x.dtype != jnp.float64:
        return jax.scipy.special.erfinv(x)

    @jax.custom_jvp
    def precise(x):
        y = jax.scipy.special.erfinv(x)
        far = (jnp.abs(x) > 0.5) & (jnp.abs(x) < 1)
        rest, z = jnp.where(far, 1 - jnp.abs(x), 0.5), jnp.where(far, jnp.abs(y), 0.5)
        apart = jax.scipy.special.erfc(z) - rest
        z = z + apart / (2 / math.sqrt(math.pi) * jnp.exp(-z * z) - z * apart)
        return jnp.where(far, jnp.sign(x) * z, y)

    @precise.defjvp
    def derivative(primals, tangents):
        y = precise(*primals)
        return y, math.sqrt(math.pi) / 2 * jnp.exp(y * y) * tangents[0]

    return precise(x)


def floor_divide(x1, x2):
    y = jnp.floor_divide(x1, x2)
    if y.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, y)  # integers by 0, as in NumPy
    # JAX computes it from the remainder, which is exact for finite numbers and NaN or -1 for the
    # others.
    is_ordinary = jnp.isfinite(x1) & jnp.isfinite(x2) & jnp.not_equal(x1, 0)
    return jnp.where(is_ordinary, y, jnp.floor(jnp.divide(x1, x2)))


def fmod(x1, x2):
    y = jnp.fmod(x1, x2)
    return jnp.where(x2 == 0, 0, y) if y.dtype.kind in "iub" else y


def hypot(x1, x2):
    """The gradient at (0, 0) is 0, not nan."""
    is_zero = (x1 == 0) & (x2 == 0)
    return jnp.where(is_zero, 0, jnp.hypot(jnp.where(is_zero, 1, x1), x2))


def nextafter(x1, x2):
    y = jnp.nextafter(jax.lax.stop_gradient(x1), jax.lax.stop_gradient(x2))
    # The derivative is 1 by x1 and 0 by x2, where they are equal too.
    finite = jnp.where(jnp.isfinite(x1), x1, 0)
    return y - (jax.lax.stop_gradient(finite) - finite)


def pow(x1, x2):
    if isinstance(x2, (int, float)):
        return jnp.pow(x1, x2)
    y = jnp.pow(jnp.where((x1 == 0) & (x2 == 0), 1, x1), x2)
    if y.dtype.kind == "i":
        # The integer part of 1 / x**n for a negative exponent, as in PyTorch.
        of_one = jnp.where(jnp.abs(x1) == 1, jnp.pow(x1, jnp.abs(x2)), 0)
        return jnp.where(x2 < 0, of_one, jnp.pow(x1, jnp.maximum(x2, 0)))
    # x**y at (0, 0) is 1, and its gradient by x is 0, not 0 * inf.
    return y


def remainder(x1, x2):
    y = jnp.remainder(x1, x2)
    if y.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, y)
    # A zero has the sign of the divisor. The added difference is 0, but keeps the gradient.
    sign = jax.lax.stop_gradient(jnp.asarray(x2, y.dtype))
    zero = jnp.copysign(jnp.zeros_like(y), sign) - (jax.lax.stop_gradient(y) - y)
    return jnp.where(y == 0, zero, y)


def sign(x):
    """JAX keeps the sign of -0.0."""
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.sign(x))


def truncate_divide(x1, x2):
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))
    if dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, jax.lax.div(x1, x2))
    if dtype.itemsize < 4:  # a quotient rounded to 16 bits may round up to the next integer
        return jnp.trunc(jnp.divide(x1.astype("float32"), x2.astype("float32"))).astype(dtype)
    return jnp.trunc(jnp.divide(x1, x2))


def clip(x, min, max):
    # The gradient passes at the bounds themselves; jnp.clip halves it there. A bound of NaN gives
    # NaN.
    if min is not None:
        x = jnp.where((x < min) | (min != min), jnp.asarray(min, x.dtype), x)
    if max is not None:
        x = jnp.where((x > max) | (max != max), jnp.asarray(max, x.dtype), x)
    return x


def class_losses(logits, targets, *, axis, reduction):
    places = jnp.expand_dims(targets, axis)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits, axis=axis), places, axis=axis)
    losses = jnp.squeeze(losses, axis=axis)
    return losses if reduction == "none" else getattr(losses, reduction)()


def max_pool(x, *, window, strides, padding, dilations, channel_first, indices):
    if indices:
        raise ValueError("positions of maxima are not part of this source")
    around = (
        (lambda pair, one: (one, one, *pair))
        if channel_first
        else (lambda pair, one: (one, *pair, one))
    )
    places = around(window, 1), around(strides, 1), around(padding, (0, 0))

    def over_windows(x, start):
        return jax.lax.reduce_window(
            x, start, jax.lax.max, *places, window_dilation=around(dilations, 1)
        )

    # XLA leaves nan out on processors where windows do not overlap (JAX 0.10): it is looked for.
    is_nan = over_windows(jnp.isnan(x).astype(x.dtype), 0.0) > 0
    return jnp.where(is_nan, jnp.nan, over_windows(x, -jnp.inf)), None


def conv(
    x, filters, bias, *, strides, padding, x_dilations, dilations, groups, channel_first,
    filter_first,
):  # fmt: skip
    spatial = "DHW"[3 - len(strides) :]
    data = f"NC{spatial}" if channel_first else f"N{spatial}C"
    kernel = f"OI{spatial}" if filter_first else f"{spatial}IO"
    y = jax.lax.conv_general_dilated(
        x, filters, strides, padding, x_dilations, dilations, (data, kernel, data), groups
    )
    if bias is None:
        return y
    return y + (bias.reshape(-1, *[1] * len(strides)) if channel_first else bias)


def conv_transpose(
    x, filters, bias, *, strides, starts, outs, dilations, groups, channel_first, filter_first
):
    x = jnp.moveaxis(x, 1, -1) if channel_first else x
    if filter_first:
        filters = jnp.transpose(filters, (*range(2, filters.ndim), 1, 0))
    kernel, (outer, inner) = filters.shape[:-2], filters.shape[-2:]
    dims = len(kernel)
    # The same as a convolution of the dilated input with the flipped filters.
    turned = jnp.flip(filters, tuple(range(dims)))
    turned = turned.reshape(*kernel, outer, groups, inner // groups)
    turned = jnp.moveaxis(turned, -1, dims)  # (kernel..., in of a group, out of a group, groups)
    turned = jnp.swapaxes(turned, -1, -2).reshape(*kernel, inner // groups, groups * outer)
    padding = []
    for n, k, s, d, start, out in zip(x.shape[1:-1], kernel, strides, dilations, starts, outs):
        low = (k - 1) * d - start
        padding.append((low, out + (k - 1) * d - ((n - 1) * s + 1) - low))
    y = conv(
        x, turned, bias, strides=(1,) * dims, padding=padding, x_dilations=strides,
        dilations=dilations, groups=groups, channel_first=False, filter_first=False,
    )  # fmt: skip
    return jnp.moveaxis(y, -1, 1) if channel_first else y


def lstm(x, h, c, kernel, recurrent_kernel, bias):
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias

    def advance(state, step):
        h, c = state
        i, f, g, o = jnp.split(step + h @ recurrent_kernel, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    state, hs = jax.lax.scan(advance, (h, c), inputs)
    return hs, state


def segment_sum(x, segment_ids, *, num_segments):
    return jax.ops.segment_sum(x, segment_ids, num_segments)


def grouped_matmul(x, weights, group_sizes):
    ends = jnp.cumsum(group_sizes)
    rows = jnp.arange(x.shape[0])[:, None]
    y = 0
    for start, end, weight in zip([0, *ends[:-1]], ends, weights):
        y = y + jnp.where((rows >= start) & (rows < end), x @ weight, 0)
    return y


def update_slice(x, values, start, *, axis):
    return jax.lax.dynamic_update_slice_in_dim(x, values, start, axis)


def index_set(x, idx, value):
    return x.at[idx].set(value)


def index_add(x, idx, value):
    return x.at[idx].add(value)


def index_multiply(x, idx, value):
    return x.at[idx].multiply(value)


def index_min(x, idx, value):
    return x.at[idx].min(value)


def index_max(x, idx, value):
    return x.at[idx].max(value)
