"""New arrays."""

import math
from typing import Any

import numpy as np
import tensorflow as tf

from ..._core.dtypes import fitted
from ..._core.errors import ArgumentTypeError, CopyError
from ._helpers import (
    COMPLEX,
    SCALARS,
    as_shape,
    common,
    default_complex,
    default_float,
    is_aligned,
    numpy_value,
    on,
    promote,
    size,
    sizes,
)
from ._types import Tensor
from .casting import as_dtype, astype
from .device import to_device

_CONTIGUOUS_TYPES = (np.ndarray, np.generic)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    dtype = as_dtype(dtype)
    if isinstance(obj, (tf.Tensor, tf.Variable)):
        x = tf.convert_to_tensor(obj)
        if copy is False and dtype is not None and dtype is not x.dtype:
            raise CopyError(
                f"copy=False: {x.dtype.name} cannot become {dtype.name} without a copy."
            )
        if dtype is not None:
            x = astype(x, dtype, copy=False)
        if copy or isinstance(obj, tf.Variable):
            x = tf.identity(x)
    elif copy is False:
        raise CopyError(
            "copy=False: TensorFlow copies what is not a tensor. Use from_dlpack() or leave out "
            "copy."
        )
    else:
        x = _from_python(obj, dtype)
    return x if device is None else to_device(x, device)


def _from_python(obj: Any, dtype: Any) -> Any:
    leaf = obj
    while isinstance(leaf, (list, tuple)) and len(leaf) > 0:
        leaf = leaf[0]
    if isinstance(obj, (list, tuple)) and _holds_tensor(obj):
        # Stacking keeps gradients and symbolic tensors.
        parts = common([x if isinstance(x, SCALARS) else asarray(x) for x in obj])
        x = tf.stack(parts)
        return x if dtype is None else astype(x, dtype)
    if dtype is not None and not isinstance(obj, _CONTIGUOUS_TYPES):
        return numpy_value(obj, dtype)
    values = np.asarray(obj)
    if values.dtype.kind in "OUSMm":
        raise ArgumentTypeError(f"An array is made of numbers, got {obj!r}.")
    if isinstance(leaf, (list, tuple)) or type(leaf) in (float, complex, bool, int):
        # Python's numbers have no width: they take the defaults.
        if values.dtype == np.float64:
            values = values.astype(default_float().as_numpy_dtype)
        elif values.dtype == np.complex128:
            values = values.astype(default_complex().as_numpy_dtype)
    x = tf.constant(values)
    return x if dtype is None else astype(x, dtype, copy=False)


def _holds_tensor(obj: Any) -> bool:
    for x in obj:
        if isinstance(x, (tf.Tensor, tf.Variable)):
            return True
        if isinstance(x, (list, tuple)) and _holds_tensor(x):
            return True
    return False


def from_dlpack(x: Tensor, /, *, device: Any = None, copy: Any = None) -> Any:
    if isinstance(x, (tf.Tensor, tf.Variable)):
        return asarray(x, device=device, copy=copy)
    try:
        result = tf.experimental.dlpack.from_dlpack(x.__dlpack__())
    except (BufferError, RuntimeError, ValueError, tf.errors.OpError) as error:
        if copy is False:
            raise CopyError(
                f"TensorFlow cannot share this memory: {error} Leave copy=False out."
            ) from error
        if not isinstance(x, np.ndarray):
            raise
        result = tf.constant(x)
    if "CPU" in result.device and not is_aligned(np.asarray(result)):
        if copy is False:
            raise CopyError(
                "TensorFlow cannot share memory that does not begin at a multiple of 64 bytes."
            )
        copy = True
    if copy:
        # tf.identity would share the foreign memory, which its owner may still write to.
        result = tf.constant(np.array(result))
    return result if device is None else to_device(result, device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    dtype = default_float() if dtype is None else as_dtype(dtype)
    with on(device):
        return tf.zeros(as_shape(shape), dtype)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    dtype = default_float() if dtype is None else as_dtype(dtype)
    with on(device):
        return tf.ones(as_shape(shape), dtype)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return zeros(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    native = as_dtype(dtype)
    if type(fill_value) is int and native is not None:
        fill_value = fitted(fill_value, native.name)
    with on(device):
        return tf.fill(as_shape(shape), asarray(fill_value, dtype=native))


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Any:
    with on(device):
        return tf.zeros_like(x, as_dtype(dtype))


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Any:
    with on(device):
        return tf.ones_like(x, as_dtype(dtype))


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Any:
    return zeros_like(x, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    dtype = x.dtype if dtype is None else as_dtype(dtype)
    return full(sizes(x), fill_value, dtype=dtype, device=device)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    if stop is None:
        start, stop = 0, start
    dtype = as_dtype(dtype)
    with on(device):
        if (
            isinstance(start, tf.Tensor)
            or isinstance(stop, tf.Tensor)
            or isinstance(step, tf.Tensor)
        ):
            x = tf.range(start, stop, step)
            return x if dtype is None else astype(x, dtype, copy=False)
        whole = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
        if dtype is None:
            dtype = tf.int64 if whole else default_float()
        # Integers are counted exactly: dividing them as floats is off by one beyond 2**53.
        count = -((start - stop) // step) if whole else math.ceil((stop - start) / step)
        index = tf.range(max(count, 0), dtype=tf.int64)
        if dtype.is_integer and whole:
            # int64 wraps around, so uint64 beyond its range comes out right as well.
            return tf.cast(index * _int64(step) + _int64(start), dtype)
        values = tf.cast(index, tf.float64) * float(step) + float(start)
        return astype(values, dtype, copy=False)


def _int64(value: int) -> Any:
    return tf.constant((value + 2**63) % 2**64 - 2**63, tf.int64)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    dtype = as_dtype(dtype)
    with on(device):
        first, last = asarray(start), asarray(stop)
        if dtype is None:
            dtype = promote(promote(first.dtype, last.dtype), default_float())
        work = tf.complex128 if COMPLEX & {dtype, first.dtype, last.dtype} else tf.float64
        # Python numbers are converted to the wide type directly: the default float would round them
        # first.
        first = tf.constant(start, work) if isinstance(start, SCALARS) else tf.cast(first, work)
        last = tf.constant(stop, work) if isinstance(stop, SCALARS) else tf.cast(last, work)
        index = tf.range(num, dtype=tf.int64)
        parts = max(num - 1 if endpoint else num, 1)
        values = first + tf.cast(index, work) * ((last - first) / tf.constant(parts, work))
        if endpoint and num > 1:
            values = tf.where(index == num - 1, last, values)
        if dtype.is_integer:
            values = tf.floor(values)
        return astype(values, dtype, copy=False)


def eye(
    n_rows: int, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    dtype = default_float() if dtype is None else as_dtype(dtype)
    with on(device):
        return tf.cast(
            tf.equal(_offsets(n_rows, n_rows if n_cols is None else n_cols), _int32(k)), dtype
        )


def _offsets(n_rows: Any, n_cols: Any) -> Any:
    """Column number minus row number: the number of the diagonal that each entry is on."""
    return tf.range(n_cols)[None, :] - tf.range(n_rows)[:, None]


def _int32(k: int) -> int:
    """The number of a diagonal, limited to int32: no matrix has more of them."""
    return max(-(2**31), min(k, 2**31 - 1))


def tril(x: Tensor, /, *, k: int = 0) -> Any:
    n_rows, n_cols = sizes(x)[-2:]
    return tf.where(_offsets(n_rows, n_cols) <= _int32(k), x, tf.zeros([], x.dtype))


def triu(x: Tensor, /, *, k: int = 0) -> Any:
    n_rows, n_cols = sizes(x)[-2:]
    return tf.where(_offsets(n_rows, n_cols) >= _int32(k), x, tf.zeros([], x.dtype))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    count = len(arrays)
    lengths = [size(x) for x in arrays]
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[0], places[1] = 1, 0
        lengths[0], lengths[1] = lengths[1], lengths[0]
    grids = []
    for x, place in zip(arrays, places, strict=True):
        shape = [-1 if i == place else 1 for i in range(count)]
        grids.append(tf.broadcast_to(tf.reshape(x, shape), lengths) if count else x)
    return tuple(grids)
