"""Data types: TensorFlow's own dtype objects, found by name or passed through."""

import builtins
from typing import Any

import tensorflow as tf

from ..._core import dtypes
from ..._core.errors import DtypeError
from ._helpers import SCALARS, dtype_beside, on, promote
from ._types import Tensor

bool = tf.bool
int8, int16, int32, int64 = tf.int8, tf.int16, tf.int32, tf.int64
uint8, uint16, uint32, uint64 = tf.uint8, tf.uint16, tf.uint32, tf.uint64
float16, bfloat16, float32, float64 = tf.float16, tf.bfloat16, tf.float32, tf.float64
complex64, complex128 = tf.complex64, tf.complex128

_natives = [tf.as_dtype(name) for name in ("bool", *dtypes.NUMERIC)]
_native: dict[Any, Any] = {None: None}
_native.update({dtype: dtype for dtype in _natives})
_native.update({dtype.name: dtype for dtype in _natives})


def as_dtype(dtype: Any, /) -> Any:
    """The native dtype of a native dtype or of a canonical name; None stays None."""
    try:
        if type(dtype) is int:  # TensorFlow numbers its types, and accepts the number as a type
            raise KeyError(dtype)
        return _native[dtype]
    except (KeyError, TypeError):
        if isinstance(dtype, type) and dtype in SCALARS:
            return _native[dtypes.name_of(dtype)]
        raise DtypeError(
            f"{dtype!r} is not a data type of the tensorflow backend. Pass tf.float32 or the like, "
            f"or one of the names {', '.join([d.name for d in _natives])}."
        ) from None


def dtype_name(dtype: Any, /) -> str:
    """The canonical name of a native dtype."""
    name = as_dtype(dtype).name
    return name


def astype(x: Tensor, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Any:
    dtype = as_dtype(dtype)
    if dtype is None:
        raise dtypes.refuse_none()
    if device is not None:
        with on(device):
            return tf.identity(_cast(x, dtype))
    if x.dtype is dtype:
        return tf.identity(x) if copy else tf.convert_to_tensor(x)
    return _cast(x, dtype)


def _cast(x: Tensor, dtype: Any) -> Any:
    if x.dtype.is_complex and not dtype.is_complex:
        if dtype is not tf.bool:
            raise dtypes.refuse_dropping(x.dtype.name, dtype.name)
        x = tf.not_equal(x, tf.zeros([], x.dtype))
    if dtype.is_unsigned and dtype is not tf.uint64 and x.dtype.is_floating:
        # Negative floats wrap around through int64; what the direct cast does depends on the
        # kernel.
        x = tf.cast(x, tf.int64)
    return tf.cast(x, dtype)


def _dtype_of(x: Tensor) -> Any:
    return x.dtype if hasattr(x, "dtype") else as_dtype(x)


def result_type(*arrays_and_dtypes: Any) -> Any:
    scalars = [x for x in arrays_and_dtypes if isinstance(x, SCALARS)]
    typed = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, SCALARS)]
    if not typed:
        raise DtypeError(
            "result_type() needs at least one array or dtype, not only Python scalars."
        )
    dtype = typed[0]
    for other in typed[1:]:
        dtype = promote(dtype, other)
    for value in scalars:
        dtype = dtype_beside(value, dtype)
    return dtype


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    source, target = _dtype_of(from_).name, as_dtype(to).name
    return dtypes.PROMOTION.get((source, target)) == target


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    if isinstance(kind, tuple):
        answers = [isdtype(dtype, k) for k in kind]
        return True in answers
    if isinstance(kind, str) and kind in dtypes.KINDS and kind != "bool":
        return as_dtype(dtype).name in dtypes.KINDS[kind]
    return as_dtype(dtype) is as_dtype(kind)
