"""What the files of this backend share: promotion, axes, sizes, safe square roots, sort keys."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core import dtypes
from ..._core.errors import ArgumentTypeError, DeviceError, ShapeError
from ..._core.shapes import LARGEST, broadcast_shapes, normal_axes, normal_axis
from ._private import Eager as Eager
from ._private import datatype_of
from ._private import is_recording as is_recording
from ._types import Tensor

SCALARS = (bool, int, float, complex)
FLOAT32 = tf.float32
FLOATING = frozenset([tf.float16, tf.bfloat16, tf.float32, tf.float64])
COMPLEX = frozenset([tf.complex64, tf.complex128])
INEXACT = FLOATING | COMPLEX
SIGNED = frozenset([tf.int8, tf.int16, tf.int32, tf.int64])
UNSIGNED = frozenset([tf.uint8, tf.uint16, tf.uint32, tf.uint64])
SIGNED_OF_WIDTH = {1: tf.int8, 2: tf.int16, 4: tf.int32, 8: tf.int64}

BY_NAME = {name: tf.as_dtype(name) for name in ("bool", *dtypes.NUMERIC)}
_promoted = {(BY_NAME[a], BY_NAME[b]): BY_NAME[c] for (a, b), c in dtypes.PROMOTION.items()}


def may_differentiate() -> bool:
    """Whether a gradient of what is computed now can be asked for: in a graph, or while a tape
    listens.

    What only serves a convention about gradients is left out of eager calls that nobody
    differentiates.
    """
    return not tf.executing_eagerly() or is_recording()


FLOAT32_ENUM = FLOAT32.as_datatype_enum


def is_plain_pair(x1: Any, x2: Any) -> bool:
    """Whether both are float32 tensors with values, and no tape listens; a graph may be made of
    them still.

    Their types are asked for in the form of the runtime: `x.dtype` takes three times as long.
    """
    return (
        type(x1) is Eager
        and type(x2) is Eager
        and datatype_of(x1) == FLOAT32_ENUM == datatype_of(x2)
        and not is_recording()
    )


def is_plain(x: Tensor) -> bool:
    """Whether it is a float32 tensor with values."""
    return type(x) is Eager and datatype_of(x) == FLOAT32_ENUM


def default_float() -> Any:
    return BY_NAME[dtypes.default_dtype()]


def default_complex() -> Any:
    return BY_NAME[dtypes.default_complex()]


def promote(a: Any, b: Any) -> Any:
    """The native dtype that holds both, by the standard's table."""
    try:
        return _promoted[a, b]
    except KeyError:
        raise dtypes.no_common_type(a.name, b.name) from None


def dtype_beside(value: Any, dtype: Any) -> Any:
    """The dtype in which a Python number and an array of `dtype` meet. Numbers never widen
    arrays.
    """
    if isinstance(value, bool) or dtype in COMPLEX:
        return dtype
    if isinstance(value, int):
        return tf.int64 if dtype is tf.bool else dtype
    if isinstance(value, float):
        return dtype if dtype in FLOATING else default_float()
    if dtype in FLOATING:
        return tf.complex128 if dtype is tf.float64 else tf.complex64
    return default_complex()


def tensor(x: Tensor) -> Any:
    """A tf.Tensor: variables are read, everything else converted."""
    return x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x)


def scalar(value: Any, dtype: Any) -> Any:
    """A Python number as a 0-d tensor; integers that do not fit raise instead of wrapping
    around.
    """
    value = dtypes.fitted(value, dtype.name)
    return tf.constant(int(value) if type(value) is bool and dtype is not tf.bool else value, dtype)


def pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both arguments in their common dtype."""
    if type(x1) is Eager and type(x2) is Eager and datatype_of(x1) == datatype_of(x2):
        return x1, x2
    if isinstance(x1, SCALARS):
        x2 = tensor(x2)
        dtype = dtype_beside(x1, x2.dtype)
        return scalar(x1, dtype), cast(x2, dtype)
    if isinstance(x2, SCALARS):
        x1 = tensor(x1)
        dtype = dtype_beside(x2, x1.dtype)
        return cast(x1, dtype), scalar(x2, dtype)
    refuse_others(x1, x2)
    if x1.dtype is x2.dtype:
        return x1, x2
    x1, x2 = tensor(x1), tensor(x2)
    dtype = promote(x1.dtype, x2.dtype)
    return cast(x1, dtype), cast(x2, dtype)


def refuse_others(*xs: Any) -> None:
    for x in xs:
        if not hasattr(x, "dtype"):
            raise ArgumentTypeError(
                f"Expected an array or a Python number, got {x!r} of type {type(x).__name__}. "
                "Write trellis.asarray(...) around lists and other objects first."
            )


def on(device: Any) -> Any:
    """A context that places what is made inside; a device that is not there is refused.

    TensorFlow itself would quietly use the CPU instead of a GPU that it does not have.
    """
    if device is None:
        return tf.device(None)
    try:
        wanted = tf.DeviceSpec.from_string(_device_name(device))
    except ValueError:
        wanted = None
    for known in tf.config.list_logical_devices():
        there = tf.DeviceSpec.from_string(known.name)
        if wanted is not None and there.device_type == wanted.device_type:
            if (wanted.device_index or 0) == there.device_index:
                return tf.device(device)
    names = ", ".join([d.name for d in tf.config.list_logical_devices()])
    raise DeviceError(f"TensorFlow has no device {device!r} here. It sees {names}.")


def _device_name(device: Any) -> str:
    """The short forms "cpu" and "gpu:1" as TensorFlow writes them."""
    if not isinstance(device, str):
        return str(device)
    if device.startswith("/"):
        return device
    kind, _, number = device.partition(":")
    return f"/device:{kind.upper()}:{number or 0}"


def common(xs: Any) -> list[Any]:
    """Several arrays in their common dtype."""
    xs = [x if isinstance(x, SCALARS) else tensor(x) for x in xs]
    dtype = None
    for x in xs:
        if not isinstance(x, SCALARS):
            dtype = x.dtype if dtype is None else promote(dtype, x.dtype)
    for x in xs:
        if isinstance(x, SCALARS):
            dtype = dtype_beside(x, dtype)
    return [scalar(x, dtype) if isinstance(x, SCALARS) else cast(x, dtype) for x in xs]


def truth(x: Tensor) -> Any:
    """Whether each element is not 0; a cast to bool looks at the real part of a complex number
    only.
    """
    return tf.not_equal(x, tf.zeros([], x.dtype)) if x.dtype in COMPLEX else tf.cast(x, tf.bool)


def cast(x: Tensor, dtype: Any) -> Any:
    return x if x.dtype is dtype else tf.cast(x, dtype)


def floating(x: Tensor) -> Any:
    """`x` itself where it is floating-point or complex, else in the default float."""
    if is_plain(x):
        return x
    dtype = x.dtype
    # Identity first: TensorFlow's data types are hashed in Python.
    return x if dtype is FLOAT32 or dtype in INEXACT else tf.cast(x, default_float())


def floating_pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = pair(x1, x2)
    return floating(x1), floating(x2)


# Shapes -------------------------------------------------------------------------------------------


def rank(x: Tensor) -> int:
    ndim = x.shape.rank
    if ndim is None:
        raise ShapeError(
            "The number of axes must be known while tracing. Give tf.function an input_signature."
        )
    return int(ndim)


def sizes(x: Tensor) -> list[Any]:
    """The size of every axis: an int where it is known, a scalar tensor where not (inside
    tf.function).
    """
    rank(x)
    static = x.shape.as_list()
    if None not in static:
        return static
    dynamic = tf.shape(x)
    return [dynamic[i] if n is None else n for i, n in enumerate(static)]


def size(x: Tensor) -> Any:
    """The number of elements, an int where it is known."""
    count = x.shape.num_elements()
    return tf.size(x) if count is None else count


@functools.cache
def _axes_array(found: tuple[int, ...]) -> Any:
    return np.array(found, np.int32)


def reduced_axes(axis: Any, ndim: int) -> Any:
    """The axes in the form that TensorFlow takes quickest: a number or a NumPy array, never a
    list.
    """
    if axis is None:
        return 0 if ndim == 1 else _axes_array(tuple(range(ndim)))
    if isinstance(axis, (tuple, list)):
        return _axes_array(normal_axes(axis, ndim))
    return normal_axis(axis, ndim)


def move(x: Tensor, source: int, destination: int) -> Any:
    """Move one axis; nothing is done where it is in place already."""
    ndim = rank(x)
    source, destination = normal_axis(source, ndim), normal_axis(destination, ndim)
    if source == destination:
        return x
    order = [i for i in range(ndim) if i != source]
    order.insert(destination, source)
    return tf.transpose(x, order)


def as_shape(shape: Any) -> Any:
    """A shape as a list for TensorFlow; a number is a shape of one axis."""
    if isinstance(shape, tf.TensorShape):
        return shape.as_list()
    if isinstance(shape, tf.Tensor) and shape.shape.rank == 1:
        return shape
    found = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    for n in found:
        if isinstance(n, int) and n > LARGEST:  # it would wait ten seconds for that memory
            raise MemoryError(f"an axis of {n} elements")
    return found


def broadcast_shape(xs: Any) -> Any:
    """The shape that all arrays broadcast to: a list of ints, or a tensor where sizes are
    unknown.
    """
    static = list(broadcast_shapes(*[x.shape.as_list() for x in xs]))
    if None not in static:
        return static
    dynamic = tf.shape(xs[0])
    for x in xs[1:]:
        dynamic = tf.broadcast_dynamic_shape(dynamic, tf.shape(x))
    return dynamic


def broadcast(x: Tensor, shape: Any) -> Any:
    if isinstance(shape, list) and x.shape.as_list() == shape:
        return x
    return tf.broadcast_to(x, shape)


# Values -------------------------------------------------------------------------------------------


def bits(x: Tensor) -> Any:
    """The bit pattern of a float as a signed integer of the same width."""
    return tf.bitcast(x, SIGNED_OF_WIDTH[x.dtype.size])


def sort_key(x: Tensor) -> Any:
    """Integers in the order of `x`: both zeros are equal and NaN, of either sign, is the
    greatest.
    """
    if x.dtype is tf.bool:
        return tf.cast(x, tf.uint8)
    if x.dtype not in FLOATING:
        return x
    nan = tf.math.is_nan(x)
    x = tf.where(tf.equal(x, tf.zeros([], x.dtype)), tf.zeros([], x.dtype), x)
    pattern = bits(x)
    highest = tf.constant(pattern.dtype.max, pattern.dtype)
    key = tf.where(pattern < 0, tf.bitwise.bitwise_xor(pattern, highest), pattern)
    return tf.where(nan, highest, key)


def order(x: Tensor, descending: bool) -> Any:
    """Indices that sort the last axis, stable, as int64."""
    if x.dtype in COMPLEX:
        first = order(tf.math.imag(x), descending)
        by_imag = tf.gather(tf.math.real(x), first, batch_dims=rank(x) - 1)
        return tf.gather(first, order(by_imag, descending), batch_dims=rank(x) - 1)
    key = sort_key(x)
    # top_k puts the lower index first among equals. Inverting bits reverses the order without
    # overflow.
    if not descending:
        key = tf.bitwise.invert(key)
    return tf.math.top_k(key, sizes(x)[-1], index_type=tf.int64).indices


def wrapped(indices: Tensor, count: Any) -> Any:
    """Indices in which the negative ones count from the end."""
    if indices.dtype not in (tf.int32, tf.int64):
        indices = tf.cast(indices, tf.int64)
    return tf.where(indices < 0, indices + tf.cast(count, indices.dtype), indices)


def numpy_value(value: Any, dtype: Any) -> Any:
    """A tensor of Python numbers or NumPy data by way of NumPy, which checks the range of
    integers.
    """
    return tf.constant(np.asarray(value, dtype=dtype.as_numpy_dtype))


def is_aligned(x: Tensor) -> bool:
    """Whether kernels can run on the memory of a NumPy array; on other memory they abort the
    process.
    """
    return x.size == 0 or x.ctypes.data % 64 == 0
