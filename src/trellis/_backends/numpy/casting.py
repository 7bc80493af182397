"""Data types on NumPy: the native constants, and canonical names turned into them."""

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from ..._core import dtypes
from ..._core.arrays import is_array
from ..._core.errors import DtypeError
from ._helpers import BFLOAT16, NATIVE, name_of
from ._helpers import default_complex as default_complex
from ._helpers import default_float as default_float

bool = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, bfloat16, float32, float64 = np.float16, BFLOAT16.type, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

# All forms of a dtype that a caller may pass, so that `as_dtype` is one look-up.
_native: dict[Any, np.dtype[Any] | None] = {None: None}
for _name, _dtype in NATIVE.items():
    for _spelling in (_name, _dtype, _dtype.type):
        _native[_spelling] = _dtype


def as_dtype(dtype: Any, /) -> Any:
    """The native dtype of a canonical name, a native dtype or a scalar type; None stays None."""
    try:
        return _native[dtype]
    except (KeyError, TypeError):
        return _uncommon_dtype(dtype)


def _uncommon_dtype(dtype: Any) -> Any:
    name = dtypes.name_of(dtype)
    if name in NATIVE:
        return NATIVE[name]
    raise DtypeError(
        f"{dtype!r} is not a data type of the numpy backend; write for example 'float32'."
    )


def dtype_name(dtype: Any, /) -> str:
    """The canonical name of a native dtype."""
    return name_of(np.dtype(dtype))


def astype(x: Any, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Any:
    check_device(device)
    dtype = as_dtype(dtype)
    if dtype is None:
        raise dtypes.refuse_none()
    if x.dtype == dtype:
        return x.copy() if copy else x
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        raise dtypes.refuse_dropping(x.dtype.name, dtype.name)
    return x.astype(dtype)


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    source = _dtype_of(from_).name
    target = np.dtype(as_dtype(to)).name
    return dtypes.PROMOTION.get((source, target)) == target


def finfo(type: Any, /) -> dtypes.FloatLimits:
    dtype = _dtype_of(type)
    limits = ml_dtypes.finfo(dtype) if dtype.kind == "V" else np.finfo(dtype)
    numbers = [float(x) for x in (limits.eps, limits.max, limits.min, limits.smallest_normal)]
    eps, largest, lowest, smallest = numbers
    return dtypes.FloatLimits(limits.bits, eps, largest, lowest, smallest, np.dtype(limits.dtype))


def iinfo(type: Any, /) -> dtypes.IntLimits:
    limits = np.iinfo(_dtype_of(type))
    return dtypes.IntLimits(limits.bits, limits.max, limits.min, limits.dtype)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    return dtypes.is_kind(dtype_name(as_dtype(dtype)), kind, as_name=lambda d: as_dtype(d).name)


def result_type(*arrays_and_dtypes: Any) -> Any:
    return NATIVE[dtypes.result_name(arrays_and_dtypes, as_name=lambda d: as_dtype(d).name)]


def _dtype_of(x: Any) -> Any:
    """The dtype of an array, or of anything that names one."""
    return x.dtype if is_array(x) else as_dtype(x)


def check_device(device: Any) -> None:
    if device is not None and device != "cpu":
        from ..._core.errors import DeviceError

        raise DeviceError(f"NumPy arrays live on 'cpu'; there is no device {device!r}.")
