"""Functions of TensorFlow alone, on arrays that are already promoted. They are kernels of this
backend, and ejected source contains their text where an operation needs more than one line. They do
not use Trellis.
"""
# mypy: ignore-errors

import itertools
import math

import tensorflow as tf


def bitwise_and(x1, x2):
    return tf.logical_and(x1, x2) if x1.dtype == tf.bool else tf.bitwise.bitwise_and(x1, x2)


def bitwise_or(x1, x2):
    return tf.logical_or(x1, x2) if x1.dtype == tf.bool else tf.bitwise.bitwise_or(x1, x2)


def bitwise_xor(x1, x2):
    return tf.not_equal(x1, x2) if x1.dtype == tf.bool else tf.bitwise.bitwise_xor(x1, x2)


def bitwise_invert(x, /):
    return tf.logical_not(x) if x.dtype == tf.bool else tf.bitwise.invert(x)


def bitwise_left_shift(x1, x2):
    # In TensorFlow a shift by the whole width is undefined; here all bits are shifted out.
    inside = x2 < x1.dtype.size * 8
    return tf.where(inside, tf.bitwise.left_shift(x1, x2), tf.zeros([], x1.dtype))


def bitwise_right_shift(x1, x2):
    width = x1.dtype.size * 8
    if not x1.dtype.is_unsigned:
        return tf.bitwise.right_shift(x1, tf.minimum(x2, tf.constant(width - 1, x2.dtype)))
    return tf.where(x2 < width, tf.bitwise.right_shift(x1, x2), tf.zeros([], x1.dtype))


def by_nonzero(x1, x2, fn):
    """Integers divided by 0 give 0, as on NumPy; TensorFlow would raise."""
    zero, one = tf.zeros([], x2.dtype), tf.ones([], x2.dtype)
    is_zero = tf.equal(x2, zero)
    return tf.where(is_zero, zero, fn(x1, tf.where(is_zero, one, x2)))


def floor_divide(x1, x2):
    if not x1.dtype.is_floating:
        return by_nonzero(x1, x2, tf.math.floordiv)
    if x1.dtype == tf.bfloat16:  # the kernel rounds the quotient before it takes the floor
        wide = tf.math.floordiv(tf.cast(x1, tf.float32), tf.cast(x2, tf.float32))
        return tf.cast(wide, tf.bfloat16)
    return tf.math.floordiv(x1, x2)


def remainder(x1, x2):
    if not x1.dtype.is_floating:
        return by_nonzero(x1, x2, tf.math.floormod)
    rest, zero = tf.math.floormod(x1, x2), tf.zeros([], x1.dtype)
    # A zero has the sign of the divisor. The added difference is 0, but keeps the gradient.
    signed = tf.where(signbit(x2), -zero, zero) - (tf.stop_gradient(rest) - rest)
    return tf.where(tf.equal(rest, zero), signed, rest)


def fmod(x1, x2):
    # Of positive numbers both remainders are the same; the sign of x1 is removed and applied again.
    # `TruncateMod` has no gradient, and no kernel for most of the types.
    if x1.dtype.is_floating:
        is_negative = signbit(x1)
        rest = tf.math.floormod(tf.where(is_negative, -x1, x1), tf.abs(x2))
        return tf.where(is_negative, -rest, rest)
    rest, zero = by_nonzero(x1, x2, tf.math.floormod), tf.zeros([], x1.dtype)
    is_above = tf.not_equal(rest, zero) & tf.not_equal(x1 < zero, x2 < zero)
    return tf.where(is_above, rest - x2, rest)


def truncate_divide(x1, x2):
    if not x1.dtype.is_floating:
        return by_nonzero(x1, x2, tf.truncatediv)
    if x1.dtype.size < 4:  # a quotient rounded to 16 bits may round up to the next integer
        return tf.cast(trunc(tf.cast(x1, tf.float32) / tf.cast(x2, tf.float32)), x1.dtype)
    return trunc(x1 / x2)


def pow(x1, x2):
    if x1.dtype.is_unsigned:
        # No kernel for these. Multiplication in int64 wraps around in the same way.
        return tf.cast(tf.pow(tf.cast(x1, tf.int64), tf.cast(x2, tf.int64)), x1.dtype)
    if x1.dtype.is_integer:
        # The integer part of 1 / x**n for a negative exponent, as in PyTorch.
        of_one = tf.where(tf.equal(tf.abs(x1), 1), tf.pow(x1, tf.abs(x2)), tf.zeros([], x1.dtype))
        return tf.where(x2 < 0, of_one, tf.pow(x1, tf.maximum(x2, tf.zeros([], x2.dtype))))
    if x1.dtype.is_floating:
        # x**y at (0, 0) is 1, and its gradient by x is 0, not 0 * inf.
        nothing = tf.equal(x1, 0) & tf.equal(x2, 0)
        x1 = tf.where(nothing, tf.ones([], x1.dtype), x1)
    return tf.pow(x1, x2)


def cbrt(x):
    """TensorFlow has none: a power, and one step of Newton's method for its last digits."""
    size, one = tf.abs(x), tf.ones([], x.dtype)
    is_plain = (size > 0) & tf.math.is_finite(size)
    size = tf.where(is_plain, size, one)
    third = tf.constant(1 / 3, x.dtype)
    root = tf.pow(size, third)
    root = copysign(root - (root - size / (root * root)) / 3, x)
    # The power lets the derivative be infinite at 0, and 0 at the infinities.
    is_zero = tf.equal(x, tf.zeros([], x.dtype))
    power = tf.pow(tf.where(is_zero, x, one), third)
    far = tf.pow(tf.where(tf.math.is_finite(x), one, tf.abs(x)), third)
    rest = tf.where(is_zero, x - (tf.stop_gradient(power) - power), copysign(far, x))
    return tf.where(is_plain, root, rest)


def hypot(x1, x2):
    one = tf.ones([], x1.dtype)
    # Scaled by the larger one, so that squares neither overflow nor vanish.
    scale = tf.stop_gradient(tf.maximum(tf.abs(x1), tf.abs(x2)))
    scale = tf.where(tf.math.is_finite(scale) & (scale > 0), scale, one)
    length = scale * safe_sqrt(tf.square(x1 / scale) + tf.square(x2 / scale))
    infinite = tf.math.is_inf(x1) | tf.math.is_inf(x2)
    return tf.where(infinite, tf.constant(math.inf, x1.dtype), length)


def safe_sqrt(x):
    """The square root with gradient 0 at 0, where that of TensorFlow is infinite."""
    is_zero = tf.equal(x, tf.zeros([], x.dtype))
    root = tf.sqrt(tf.where(is_zero, tf.ones([], x.dtype), x))
    return tf.where(is_zero, tf.zeros([], x.dtype), root)


def maximum(x1, x2):
    if x1.dtype == tf.bool:
        return tf.logical_or(x1, x2)
    return shared_ties(x1, x2, tf.maximum(x1, x2))


def minimum(x1, x2):
    if x1.dtype == tf.bool:
        return tf.logical_and(x1, x2)
    return shared_ties(x1, x2, tf.minimum(x1, x2))


def shared_ties(x1, x2, extreme):
    """The same values; at ties each side gets half of the gradient, where tf gives all to the
    first.
    """
    if not x1.dtype.is_floating:
        return extreme
    is_tie = tf.equal(x1, x2) & tf.math.is_finite(x1)
    return tf.where(is_tie, x2 + tf.constant(0.5, x1.dtype) * (x1 - x2), extreme)


def copysign(x1, x2):
    size = tf.abs(x1)
    return tf.where(signbit(x2), -size, size)


def nextafter(x1, x2):
    kernel = tf.math.nextafter if x1.dtype.size > 2 else nextafter_half
    y = kernel(tf.stop_gradient(x1), tf.stop_gradient(x2))
    # The derivative is 1 by x1 and 0 by x2, where they are equal too.
    finite = tf.where(tf.math.is_finite(x1), x1, tf.zeros_like(x1))
    return y - (tf.stop_gradient(finite) - finite)


def nextafter_half(x1, x2):
    """The 16-bit floats have no kernel: add 1 to their bit patterns instead."""
    x1, x2 = x1 + tf.zeros_like(x2), x2 + tf.zeros_like(x1)
    pattern = tf.bitcast(x1, tf.int16)
    one = tf.ones([], pattern.dtype)
    away = tf.equal(x2 > x1, x1 > 0)
    stepped = tf.where(away, pattern + one, pattern - one)
    smallest = tf.where(x2 > 0, one, one + tf.constant(pattern.dtype.min, pattern.dtype))
    stepped = tf.where(tf.equal(x1, tf.zeros([], x1.dtype)), smallest, stepped)
    result = tf.where(tf.equal(x1, x2), x2, tf.bitcast(stepped, x1.dtype))
    return tf.where(tf.math.is_nan(x1) | tf.math.is_nan(x2), x1 + x2, result)


def trunc(x):
    if not x.dtype.is_floating:
        return tf.identity(x)
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


def exp2(x):
    return tf.pow(tf.constant(2, x.dtype), x)


def log2(x):
    return tf.math.log(x) / tf.constant(math.log(2), x.dtype)


def log10(x):
    return tf.math.log(x) / tf.constant(math.log(10), x.dtype)


def logaddexp(x1, x2):
    first = x1 >= x2
    high, low = tf.where(first, x1, x2), tf.where(first, x2, x1)
    # Two equal infinities differ by NaN, where the sum is that infinity.
    level = tf.equal(high, low) & tf.math.is_inf(high)
    distance = tf.where(level, tf.zeros([], x1.dtype), low - high)
    return tf.where(level, high, high + tf.math.softplus(distance))


def erf(x):
    if x.dtype == tf.float64:
        # The float64 kernel returns nan for infinities; from 10 on erf is 1 to the last digit.
        ten = tf.constant(10.0, x.dtype)
        x = tf.where(tf.abs(x) > ten, tf.sign(x) * ten, x)
    return tf.math.erf(x)


def erfc(x):
    if x.dtype == tf.float64:
        # The float64 kernel returns nan for infinities; beyond 30 erfc is 0 or 2.
        limit = tf.constant(30.0, x.dtype)
        x = tf.where(tf.abs(x) > limit, tf.sign(x) * limit, x)
    return tf.math.erfc(x)


def erfinv(x):
    if x.dtype.size < 4:
        return tf.cast(tf.math.erfinv(tf.cast(x, tf.float32)), x.dtype)
    y = tf.math.erfinv(x)
    # The kernel adds 1 first, which loses digits of small numbers: a step of Newton's method
    # restores them.
    is_small = tf.abs(x) < tf.constant(0.5, x.dtype)
    z = tf.where(is_small, y, tf.zeros_like(y))
    factor = tf.constant(2 / math.sqrt(math.pi), x.dtype)
    y = tf.where(is_small, z - (tf.math.erf(z) - x) / (factor * tf.exp(-tf.square(z))), y)
    # Next to 1 it loses digits too, and is infinite. There 1 - |x| is exact: Winitzki's formula,
    # and two of Halley's steps for erfc.
    is_near = tf.logical_and(tf.abs(x) > tf.constant(0.9, x.dtype), tf.abs(x) < 1)
    rest = tf.where(is_near, 1 - tf.abs(x), tf.constant(0.5, x.dtype))
    log = tf.math.log(rest * (2 - rest))
    a = tf.constant(0.147, x.dtype)
    t = 2 / (tf.constant(math.pi, x.dtype) * a) + log / 2
    z = tf.sqrt(tf.sqrt(tf.square(t) - log / a) - t)
    for _ in range(2):
        off = tf.math.erfc(z) - rest
        z = z + off / (factor * tf.exp(-tf.square(z)) - z * off)
    return tf.where(is_near, tf.sign(x) * z, y)


def signbit(x, /):
    if x.dtype == tf.bool:
        return tf.zeros_like(x)
    if not x.dtype.is_floating:
        return tf.less(x, tf.zeros([], x.dtype))
    pattern = {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]
    return tf.less(tf.bitcast(x, pattern), tf.zeros([], pattern))


def nan_to_num(x, *, nan, posinf, neginf):
    if x.dtype.is_complex:
        parts = [
            nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf)
            for part in (tf.math.real(x), tf.math.imag(x))
        ]
        return tf.complex(parts[0], parts[1])
    if not x.dtype.is_floating:
        return tf.identity(x)
    high = x.dtype.max if posinf is None else posinf
    low = x.dtype.min if neginf is None else neginf
    infinite = tf.math.is_inf(x)
    x = tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), x)
    x = tf.where(infinite & (x > 0), tf.constant(high, x.dtype), x)
    return tf.where(infinite & (x < 0), tf.constant(low, x.dtype), x)


def isclose(x1, x2, *, rtol, atol, equal_nan):
    near = tf.abs(x1 - x2) <= atol + rtol * tf.abs(x2)
    size1, size2 = tf.abs(x1), tf.abs(x2)
    result = tf.equal(x1, x2) | (near & tf.math.is_finite(size1) & tf.math.is_finite(size2))
    return result | (tf.math.is_nan(size1) & tf.math.is_nan(size2)) if equal_nan else result


def clip(x, min, max):
    # The gradient passes at the bounds themselves. A bound of NaN gives NaN.
    if min is not None:
        low = tf.cast(min, x.dtype)
        x = tf.where((x < low) | tf.not_equal(low, low), low, x)
    if max is not None:
        high = tf.cast(max, x.dtype)
        x = tf.where((x > high) | tf.not_equal(high, high), high, x)
    return x


def var(x, *, axis, correction, keepdims):
    y = tf.math.reduce_variance(x, axis, keepdims)
    count = tf.size(x) // tf.size(y)
    count = tf.cast(count, y.dtype)
    return y * count / (count - correction)


def std(x, *, axis, correction, keepdims):
    return tf.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def with_first(x, axis, value, include_initial):
    if not include_initial:
        return x
    shape = list(x.shape)
    shape[axis] = 1
    return tf.concat([tf.fill(shape, tf.cast(value, x.dtype)), x], axis)


def cumulative_sum(x, *, axis, include_initial):
    axis = 0 if axis is None else axis
    return with_first(tf.cumsum(x, axis), axis, 0, include_initial)


def cumulative_prod(x, *, axis, include_initial):
    axis = 0 if axis is None else axis
    return with_first(tf.math.cumprod(x, axis), axis, 1, include_initial)


def part(x, axis, start, stop):
    return x[(slice(None),) * (axis % x.shape.rank) + (slice(start, stop),)]


def diff(x, *, axis, n, prepend, append):
    pieces = [piece for piece in (prepend, x, append) if piece is not None]
    x = tf.concat(pieces, axis)
    for _ in range(n):
        x = part(x, axis, 1, None) - part(x, axis, None, -1)
    return x


def argmax(x, *, axis, keepdims):
    if axis is None:
        y = tf.argmax(tf.reshape(x, [-1]))
        return tf.reshape(y, [1] * x.shape.rank) if keepdims else y
    y = tf.argmax(x, axis)
    return tf.expand_dims(y, axis) if keepdims else y


def argmin(x, *, axis, keepdims):
    return argmax(-x, axis=axis, keepdims=keepdims)


def sort_key(x):
    """Integers in the order of x: both zeros are equal, and nan is the greatest."""
    if x.dtype == tf.bool:
        return tf.cast(x, tf.uint8)
    if not x.dtype.is_floating:
        return x
    wide = x if x.dtype == tf.float64 else tf.cast(x, tf.float32)
    wide = tf.where(wide == 0, tf.zeros_like(wide), wide)
    bits = tf.bitcast(wide, tf.int64 if x.dtype == tf.float64 else tf.int32)
    bits = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, bits.dtype.max), bits)
    return tf.where(tf.math.is_nan(x), tf.constant(bits.dtype.max, bits.dtype), bits)


def largest_first(x, k, descending):
    """The places of the first k along the last axis; of equal ones the lower place comes first."""
    key = sort_key(x)
    return tf.math.top_k(key if descending else tf.bitwise.invert(key), k).indices


def topk(x, k, *, axis, largest):
    last = moveaxis(x, axis, -1)
    places = largest_first(last, k, largest)
    values = tf.gather(last, places, batch_dims=last.shape.rank - 1)
    return moveaxis(values, -1, axis), moveaxis(places, -1, axis)


def sort(x, *, axis, descending):
    last = moveaxis(x, axis, -1)
    places = largest_first(last, tf.shape(last)[-1], descending)
    found = tf.gather(last, places, batch_dims=last.shape.rank - 1)
    return moveaxis(tf.ensure_shape(found, last.shape), -1, axis)


def argsort(x, *, axis, descending):
    last = moveaxis(x, axis, -1)
    places = largest_first(last, tf.shape(last)[-1], descending)
    return moveaxis(tf.ensure_shape(places, last.shape), -1, axis)


def broadcast_arrays(*arrays):
    shape = tf.TensorShape([])
    for x in arrays:
        shape = tf.broadcast_static_shape(shape, x.shape)
    return [tf.broadcast_to(x, shape) for x in arrays]


def concat(arrays, *, axis):
    if axis is None:
        return tf.concat([tf.reshape(x, [-1]) for x in arrays], 0)
    return tf.concat(arrays, axis)


def moveaxis(x, source, destination):
    rank = x.shape.rank
    sources = [source] if isinstance(source, int) else source
    targets = [destination] if isinstance(destination, int) else destination
    pairs = sorted([(b % rank, a % rank) for a, b in zip(sources, targets)])
    order = [axis for axis in range(rank) if axis not in [a for _, a in pairs]]
    for place, axis in pairs:
        order.insert(place, axis)
    return tf.transpose(x, order)


def pad(x, pad_width, *, mode, constant_values):
    if mode == "constant":
        return tf.pad(x, pad_width, constant_values=tf.cast(constant_values, x.dtype))
    for axis, (low, high) in enumerate(pad_width):
        n = x.shape[axis]
        places = tf.range(-low, n + high)
        if mode == "edge":
            places = tf.clip_by_value(places, 0, n - 1)
        elif mode == "wrap":
            places = places % n
        elif n > 1:  # reflect
            places = places % (2 * n - 2)
            places = tf.where(places < n, places, 2 * n - 2 - places)
        else:
            places = tf.zeros_like(places)
        x = tf.gather(x, places, axis=axis)
    return x


def roll(x, shift, *, axis):
    if axis is None:
        return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), x.shape)
    if not isinstance(axis, int) and isinstance(shift, int):
        shift = [shift] * len(axis)
    return tf.roll(x, shift, axis)


def tile(x, repetitions):
    rank = max(x.shape.rank, len(repetitions))
    x = tf.reshape(x, [1] * (rank - x.shape.rank) + list(x.shape))
    return tf.tile(x, [1] * (rank - len(repetitions)) + list(repetitions))


def sliding_window(x, window, *, axis, step):
    return moveaxis(tf.signal.frame(x, window, step, axis=axis), axis % x.shape.rank + 1, -1)


def eye(n_rows, n_cols, *, k, result):
    columns = n_rows if n_cols is None else n_cols
    return tf.cast(tf.range(columns) - tf.range(n_rows)[:, None] == k, result)


def linspace(start, stop, num, *, endpoint, result):
    count = num if endpoint else num + 1
    y = tf.linspace(tf.cast(start, result), tf.cast(stop, result), count)
    return y if endpoint else y[:-1]


def tril(x, *, k):
    rows, columns = tf.range(x.shape[-2])[:, None], tf.range(x.shape[-1])
    return tf.where(columns - rows <= k, x, tf.zeros_like(x))


def triu(x, *, k):
    rows, columns = tf.range(x.shape[-2])[:, None], tf.range(x.shape[-1])
    return tf.where(columns - rows >= k, x, tf.zeros_like(x))


def take(x, indices, *, axis):
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    return tf.gather(x, tf.where(indices < 0, indices + x.shape[axis], indices), axis=axis)


def take_along_axis(x, indices, *, axis):
    indices = tf.where(indices < 0, indices + x.shape[axis], indices)
    last, places = moveaxis(x, axis, -1), moveaxis(indices, axis, -1)
    shape = tf.broadcast_static_shape(last.shape[:-1], places.shape[:-1])
    last = tf.broadcast_to(last, [*shape, last.shape[-1]])
    places = tf.broadcast_to(places, [*shape, places.shape[-1]])
    return moveaxis(tf.gather(last, places, batch_dims=len(shape)), -1, axis)


def places_of(shape, key):
    """The number of each element that an index picks."""
    import numpy as np

    key = key if isinstance(key, tuple) else (key,)
    key = tuple([k.numpy() if isinstance(k, tf.Tensor) else k for k in key])
    return np.arange(math.prod(shape)).reshape(shape)[key]


def getitem(x, key):
    return tf.gather(tf.reshape(x, [-1]), places_of(tuple(x.shape), key))


def written(x, idx, value, how):
    places = places_of(tuple(x.shape), idx)
    value = tf.reshape(tf.broadcast_to(tf.cast(value, x.dtype), places.shape), [-1])
    y = how(tf.reshape(x, [-1]), places.reshape(-1, 1), value)
    return tf.reshape(y, x.shape)


def update_slice(x, values, start, *, axis):
    axis = axis % len(x.shape)
    length, steps = x.shape[axis], values.shape[axis]
    behind = tf.range(length) - tf.clip_by_value(tf.cast(start, tf.int32), 0, length - steps)
    values = tf.gather(values, tf.clip_by_value(behind, 0, max(steps - 1, 0)), axis=axis)
    shape = [1] * axis + [length] + [1] * (len(x.shape) - axis - 1)
    return tf.where(tf.reshape((behind >= 0) & (behind < steps), shape), values, x)


def index_set(x, idx, value):
    return written(x, idx, value, set_last)


def set_last(x, index, value):
    """At repeated positions every write has the last value; only the last has a gradient."""
    order, places = tf.range(tf.shape(index)[0]), index[:, 0]
    winner = tf.gather(tf.math.unsorted_segment_max(order, places, tf.shape(x)[0]), places)
    is_last = tf.reshape(tf.equal(winner, order), [-1] + [1] * (len(value.shape) - 1))
    value = tf.where(is_last, value, tf.stop_gradient(tf.gather(value, winner)))
    return tf.tensor_scatter_nd_update(x, index, value)


def index_add(x, idx, value):
    return written(x, idx, value, tf.tensor_scatter_nd_add)


def index_min(x, idx, value):
    return written(x, idx, value, tf.tensor_scatter_nd_min)


def index_max(x, idx, value):
    return written(x, idx, value, tf.tensor_scatter_nd_max)


def matmul(x1, x2):
    if x1.shape.rank == 1 or x2.shape.rank == 1:
        return tf.tensordot(x1, x2, [[x1.shape.rank - 1], [max(x2.shape.rank - 2, 0)]])
    return tf.linalg.matmul(x1, x2)


def vecdot(x1, x2, *, axis):
    x1 = tf.math.conj(x1) if x1.dtype.is_complex else x1
    return tf.reduce_sum(x1 * x2, axis)


def cholesky(x, *, upper):
    y = tf.linalg.cholesky(x)
    return tf.linalg.adjoint(y) if upper else y


def cross(x1, x2, *, axis):
    y = tf.linalg.cross(moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))
    return moveaxis(y, -1, axis)


def solve(x1, x2):
    if x2.shape.rank == 1:
        columns = tf.broadcast_to(x2[:, None], [*x1.shape[:-1], 1])
        return tf.linalg.solve(x1, columns)[..., 0]
    return tf.linalg.solve(x1, x2)


def eig(x):
    values, vectors = tf.linalg.eig(x)
    return values, turned(vectors)


def turned(vectors):
    """Columns with a real, positive largest component: the first one, within a thousandth, so that
    rounding does not choose among equal ones."""
    if vectors.shape[-1] == 0:
        return vectors
    size = tf.abs(vectors)
    is_large = size >= 0.999 * tf.reduce_max(size, -2, True)
    first = tf.argmax(tf.cast(is_large, tf.uint8), -2)
    is_first = tf.range(tf.shape(size, tf.int64)[-2])[:, None] == first[..., None, :]
    zero = tf.zeros([], vectors.dtype)
    largest = tf.reduce_sum(tf.where(is_first, vectors, zero), -2, True)
    return vectors * (tf.math.conj(largest) / tf.cast(tf.abs(largest), vectors.dtype))


def svd(x, *, full_matrices):
    s, u, v = tf.linalg.svd(x, full_matrices)
    return u, s, tf.linalg.adjoint(v)


def matrix_power(x, n):
    x = tf.linalg.inv(x) if n < 0 else x
    y = tf.broadcast_to(tf.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for _ in range(abs(n)):
        y = y @ x
    return y


def searchsorted(x1, x2, *, side, sorter):
    x1 = x1 if sorter is None else tf.gather(x1, sorter)
    return tf.reshape(tf.searchsorted(x1, tf.reshape(x2, [-1]), side), x2.shape)


def with_length(x, n, axis):
    """Cut, or padded with zeros, along an axis."""
    x = part(x, axis, 0, n)
    pairs = [[0, 0] for _ in x.shape]
    pairs[axis][1] = n - x.shape[axis]
    return tf.pad(x, pairs)


def scaled(y, norm, n, is_forward):
    """Scaled by 1 / n in one of the directions, or by its root in both."""
    if norm == "ortho":
        return y / n**0.5 if is_forward else y * n**0.5
    wanted = "forward" if is_forward else "backward"
    if norm == wanted:
        return y / n if is_forward else y
    return y if is_forward else y * n


def fft(x, *, n, axis, norm):
    n = x.shape[axis] if n is None else n
    kind = tf.complex128 if x.dtype in (tf.float64, tf.complex128) else tf.complex64
    y = tf.signal.fft(moveaxis(tf.cast(with_length(x, n, axis), kind), axis, -1))
    return moveaxis(scaled(y, norm, n, True), -1, axis)


def ifft(x, *, n, axis, norm):
    n = x.shape[axis] if n is None else n
    kind = tf.complex128 if x.dtype in (tf.float64, tf.complex128) else tf.complex64
    y = tf.signal.ifft(moveaxis(tf.cast(with_length(x, n, axis), kind), axis, -1))
    return moveaxis(scaled(y, norm, n, False), -1, axis)


def rfft(x, *, n, axis, norm):
    n = x.shape[axis] if n is None else n
    return part(fft(x, n=n, axis=axis, norm=norm), axis, 0, n // 2 + 1)


def irfft(x, *, n, axis, norm):
    n = 2 * (x.shape[axis] - 1) if n is None else n
    y = tf.signal.irfft(moveaxis(with_length(x, n // 2 + 1, axis), axis, -1), [n])
    return moveaxis(scaled(y, norm, n, False), -1, axis)


def fftshift(x, *, axes):
    axes = range(x.shape.rank) if axes is None else [axes] if isinstance(axes, int) else axes
    for axis in axes:
        x = tf.roll(x, x.shape[axis] // 2, axis)
    return x


def ifftshift(x, *, axes):
    axes = range(x.shape.rank) if axes is None else [axes] if isinstance(axes, int) else axes
    for axis in axes:
        x = tf.roll(x, -(x.shape[axis] // 2), axis)
    return x


def vector_norm(x, *, axis, keepdims, ord):
    x = tf.abs(x)
    if ord == math.inf:
        return tf.reduce_max(x, axis, keepdims)
    if ord == -math.inf:
        return tf.reduce_min(x, axis, keepdims)
    if ord == 0:
        return tf.cast(tf.math.count_nonzero(x, axis, keepdims), x.dtype)
    return tf.reduce_sum(x**ord, axis, keepdims) ** (1 / ord)


def linear(x, weight, bias):
    y = tf.tensordot(x, weight, [[x.shape.rank - 1], [1]])
    return y if bias is None else y + bias


def grouped_matmul(x, weights, group_sizes):
    ends = tf.cumsum(group_sizes)
    rows = tf.range(x.shape[0], dtype=ends.dtype)[:, None]
    y = 0
    for i in range(weights.shape[0]):
        mine = (rows >= ends[i] - group_sizes[i]) & (rows < ends[i])
        y = y + tf.where(mine, x @ weights[i], tf.zeros([], x.dtype))
    return y


def windows(x, kernel, strides, dilations):
    """The part of x (batch, spatial..., channels) under each position of the kernel, in order."""
    outs = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[1:-1], kernel, strides, dilations)
    ]
    parts = []
    for place in itertools.product(*[range(k) for k in kernel]):
        spans = [
            slice(at * d, at * d + (out - 1) * s + 1, s)
            for at, d, out, s in zip(place, dilations, outs, strides)
        ]
        parts.append(x[(slice(None), *spans)])
    return parts


def spread(x, steps):
    """Zeros between the elements of the spatial axes."""
    for axis, step in enumerate(steps, start=1):
        if step > 1:
            n = x.shape[axis]
            rows = [tf.gather(x, [i], axis=axis) for i in range(n)]
            zeros = [tf.zeros_like(rows[0])] * (step - 1)
            joined = [rows[0]]
            for row in rows[1:]:
                joined += [*zeros, row]
            x = tf.concat(joined, axis)
    return x


def conv(
    x, filters, bias, *, strides, padding, x_dilations, dilations, groups, channel_first,
    filter_first,
):  # fmt: skip
    rank = x.shape.rank
    x = tf.transpose(x, [0, *range(2, rank), 1]) if channel_first else x
    if filter_first:
        filters = tf.transpose(filters, [*range(2, rank), 1, 0])
    x = tf.pad(spread(x, x_dilations), [(0, 0), *padding, (0, 0)])
    if groups == 1 and (max(strides) == 1 or max(dilations) == 1) and rank < 5:
        y = tf.nn.convolution(x, filters, strides, "VALID", dilations=dilations)
    else:
        kernel, inner, outer = filters.shape[:-2], filters.shape[-2], filters.shape[-1]
        matrices = tf.reshape(filters, [-1, inner, groups, outer // groups])
        y = 0
        for place, part in enumerate(windows(x, kernel, strides, dilations)):
            part = tf.reshape(part, [*part.shape[:-1], groups, inner])
            y = y + tf.einsum("...gi,igo->...go", part, matrices[place])
        y = tf.reshape(y, [*y.shape[:-2], outer])
    y = y if bias is None else y + bias
    return tf.transpose(y, [0, rank - 1, *range(1, rank - 1)]) if channel_first else y


def conv_transpose(
    x, filters, bias, *, strides, starts, outs, dilations, groups, channel_first, filter_first
):
    rank = x.shape.rank
    x = tf.transpose(x, [0, *range(2, rank), 1]) if channel_first else x
    if filter_first:
        filters = tf.transpose(filters, [*range(2, rank), 1, 0])
    kernel, outer, inner = list(filters.shape[:-2]), filters.shape[-2], filters.shape[-1]
    dims = len(kernel)
    # The same as a convolution of the dilated input with the flipped filters.
    turned = tf.reshape(tf.reverse(filters, range(dims)), [*kernel, outer, groups, inner // groups])
    turned = tf.transpose(turned, [*range(dims), dims + 2, dims + 1, dims])
    turned = tf.reshape(turned, [*kernel, inner // groups, groups * outer])
    x = spread(x, strides)
    pairs, cuts = [], []
    for n, k, d, start, out in zip(x.shape[1:-1], kernel, dilations, starts, outs):
        low = (k - 1) * d - start
        high = out + (k - 1) * d - n - low
        pairs.append((max(low, 0), max(high, 0)))
        cuts.append(slice(max(-low, 0), max(-low, 0) + out))
    y = conv(
        x, turned, bias, strides=(1,) * dims, padding=pairs, x_dilations=(1,) * dims,
        dilations=dilations, groups=groups, channel_first=False, filter_first=False,
    )  # fmt: skip
    y = y[(slice(None), *cuts)]
    return tf.transpose(y, [0, rank - 1, *range(1, rank - 1)]) if channel_first else y


def max_pool(x, *, window, strides, padding, dilations, channel_first, indices):
    if indices:
        raise ValueError("positions of maxima are not part of this source")
    rank = x.shape.rank
    x = tf.transpose(x, [0, *range(2, rank), 1]) if channel_first else x
    low = tf.cast(-math.inf, x.dtype)
    x = tf.pad(x, [(0, 0), *padding, (0, 0)], constant_values=low)
    y = tf.reduce_max(tf.stack(windows(x, window, strides, dilations)), 0)
    return (tf.transpose(y, [0, rank - 1, *range(1, rank - 1)]) if channel_first else y), None


def attention_weights(query, key, mask, *, scale, is_causal):
    logits = tf.matmul(query * scale, key, transpose_b=True)
    low = tf.cast(-math.inf, logits.dtype)
    if is_causal:
        seen = tf.range(logits.shape[-1]) <= tf.range(logits.shape[-2])[:, None]
        logits = tf.where(seen, logits, low)
    if mask is not None and mask.dtype == tf.bool:
        logits = tf.where(mask, logits, low)
    elif mask is not None:
        logits = logits + mask
    # A row whose keys are all masked is zero.
    blind = tf.reduce_all(tf.equal(logits, low), -1, keepdims=True)
    weights = tf.nn.softmax(tf.where(blind, tf.zeros_like(logits), logits))
    return tf.where(blind, tf.zeros_like(logits), weights)


def attention(query, key, value, mask, *, scale, is_causal):
    return attention_weights(query, key, mask, scale=scale, is_causal=is_causal) @ value


def lstm(x, h, c, kernel, recurrent_kernel, bias):
    inputs = tf.tensordot(x, kernel, 1)
    inputs = inputs if bias is None else inputs + bias
    hs = []
    for step in tf.unstack(inputs):
        i, f, g, o = tf.split(step + h @ recurrent_kernel, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        hs.append(h)
    return tf.stack(hs), (h, c)


def layer_norm(x, weight, bias, *, axes, epsilon):
    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    y = (x - mean) / tf.sqrt(variance + epsilon)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    y = y if weight is None else y * tf.reshape(weight, shape)
    return y if bias is None else y + tf.reshape(bias, shape)


def gelu(x, *, approximate):
    # Not tf.nn.gelu, whose constants have the precision of float32 in float64 too.
    if approximate:
        bend = math.sqrt(2 / math.pi) * (x * (1 + 0.044715 * (x * x)))
        return 0.5 * x * (1 + tf.tanh(bend))
    return 0.5 * x * (1 + tf.math.erf(x * math.sqrt(0.5)))


def elu(x, *, alpha, scale):
    return scale * tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0)))


def class_losses(logits, targets, *, axis, reduction):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, moveaxis(logits, axis, -1))
    if reduction == "none":
        return losses
    return tf.reduce_sum(losses) if reduction == "sum" else tf.reduce_mean(losses)


def softmax(x, *, axis):
    parts = tf.exp(x - tf.reduce_max(x, axis, keepdims=True))
    return parts / tf.reduce_sum(parts, axis, keepdims=True)


def log_softmax(x, *, axis):
    return x - tf.reduce_logsumexp(x, axis, keepdims=True)
