"""Data types: native constants, names, limits and promotion."""

import builtins
from typing import Any

import torch

from ..._core.dtypes import KINDS, FloatLimits, IntLimits, name_of, refuse_dropping, refuse_none
from ..._core.errors import ArgumentError, DtypeError
from ._helpers import (
    NAMES,
    NATIVE,
    PROMOTED,
    as_device,
    number_dtype,
    promote,
)
from ._types import Tensor

bool = torch.bool
int8, int16, int32, int64 = torch.int8, torch.int16, torch.int32, torch.int64
uint8, uint16, uint32, uint64 = torch.uint8, torch.uint16, torch.uint32, torch.uint64
float16, bfloat16 = torch.float16, torch.bfloat16
float32, float64 = torch.float32, torch.float64
complex64, complex128 = torch.complex64, torch.complex128

_BY_ANY: dict[Any, Any] = {None: None, **NATIVE, **{native: native for native in NAMES}}


def as_dtype(dtype: Any, /) -> Any:
    """The native dtype of a canonical name or of a native dtype; None stays None."""
    try:
        return _BY_ANY[dtype]
    except (KeyError, TypeError):
        return _other_dtype(dtype)


def _other_dtype(dtype: Any) -> Any:
    """Dtype objects of other frameworks count by their names."""
    native = NATIVE.get(name_of(dtype))
    if native is None:
        raise DtypeError(f"Unknown data type {dtype!r}. The data types are {', '.join(NATIVE)}.")
    return native


def dtype_name(dtype: Any, /) -> str:
    """The canonical name of a dtype."""
    return NAMES[as_dtype(dtype)]


def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    dtype = as_dtype(dtype)
    if dtype is None:
        raise refuse_none()
    if x.dtype.is_complex and not dtype.is_complex and dtype is not torch.bool:
        raise refuse_dropping(NAMES[x.dtype], NAMES[dtype])
    if device is not None:
        device = as_device(device)
    return x.to(device=device, dtype=dtype, copy=copy)


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether promotion leads from one type to the other; an array counts by its dtype."""
    source = from_.dtype if isinstance(from_, torch.Tensor) else as_dtype(from_)
    target = as_dtype(to)
    return PROMOTED.get((source, target)) is target


def finfo(type: Any, /) -> FloatLimits:
    """Limits of a floating-point type; of a complex type, those of its parts."""
    native = type.dtype if isinstance(type, torch.Tensor) else as_dtype(type)
    info = torch.finfo(native)
    return FloatLimits(
        info.bits, info.eps, info.max, info.min, info.smallest_normal, NATIVE[info.dtype]
    )


def iinfo(type: Any, /) -> IntLimits:
    native = type.dtype if isinstance(type, torch.Tensor) else as_dtype(type)
    info = torch.iinfo(native)
    return IntLimits(info.bits, info.max, info.min, native)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    name = NAMES[as_dtype(dtype)]
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in KINDS:
            if name in KINDS[one]:
                return True
        elif isinstance(one, str) and one not in NATIVE:
            raise ArgumentError(
                f"Unknown kind {one!r}. The kinds are {', '.join(KINDS)}, or a data type."
            )
        elif name == NAMES[as_dtype(one)]:
            return True
    return False


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of an operation on these; Python numbers never widen within their kind."""
    dtype = None
    numbers = []
    for x in arrays_and_dtypes:
        if isinstance(x, (builtins.bool, int, float, complex)):
            numbers.append(x)
        else:
            own = x.dtype if isinstance(x, torch.Tensor) else as_dtype(x)
            dtype = own if dtype is None else promote(dtype, own)
    if dtype is None:
        raise DtypeError(
            "result_type() needs at least one array or dtype, not only Python scalars."
        )
    for number in numbers:
        dtype = number_dtype(number, dtype)
    return dtype
