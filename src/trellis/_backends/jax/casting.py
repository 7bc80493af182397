"""Data types: native constants, names, casts, limits, promotion."""

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from ..._core.dtypes import (
    NUMERIC,
    FloatLimits,
    default_complex,
    default_dtype,
    refuse_dropping,
    refuse_none,
    result_name,
)
from ..._core.errors import DtypeError, PrecisionError
from ._helpers import is_array
from ._types import Array

bool: Any = np.dtype("bool")
int8, int16, int32, int64 = (
    np.dtype("int8"),
    np.dtype("int16"),
    np.dtype("int32"),
    np.dtype("int64"),
)
uint8, uint16 = np.dtype("uint8"), np.dtype("uint16")
uint32, uint64 = np.dtype("uint32"), np.dtype("uint64")
float16, bfloat16 = np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)
float32, float64 = np.dtype("float32"), np.dtype("float64")
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

_NUMBERS = (builtins.bool, int, float, complex)
TYPES: dict[str, Any] = {name: globals()[name] for name in ("bool", *NUMERIC)}
names: dict[Any, str] = {}
_native: dict[Any, Any] = {None: None}
for _name, _dtype in TYPES.items():
    # All forms that JAX itself accepts: the name, np.dtype, NumPy's scalar type, jnp.float32.
    for _spelling in (
        _name,
        _dtype,
        _dtype.type,
        getattr(jnp, "bool_" if _name == "bool" else _name),
    ):
        _native[_spelling] = _dtype
        names[_spelling] = _name
# A set: None equals float64 for NumPy, and only hashing tells them apart.
needs_x64 = frozenset((int64, uint64, float64, complex128))


def as_dtype(dtype: Any, /) -> Any:
    """The native dtype of a name or dtype; None stays None; 64 bits need JAX's x64 mode."""
    native = lookup(dtype)
    if native in needs_x64 and not jax.config.jax_enable_x64:
        raise PrecisionError(
            f"JAX would silently make {native} a 32-bit type. Ask for {narrow(native)}, or turn "
            '64-bit types on first: jax.config.update("jax_enable_x64", True), or '
            "JAX_ENABLE_X64=1 in the environment."
        )
    return native


def lookup(dtype: Any) -> Any:
    try:
        return _native[dtype]
    except (KeyError, TypeError):
        if isinstance(dtype, type) and dtype in _NUMBERS:
            return default_of(dtype)
        raise DtypeError(
            f"{dtype!r} is not a data type of JAX here. Write one of "
            f"{', '.join(('bool', *NUMERIC))}, as a name or as a dtype."
        ) from None


def narrow(dtype: Any) -> str:
    return {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}[
        dtype.name
    ]


def default_int() -> Any:
    return int64 if jax.config.jax_enable_x64 else int32


def default_of(kind: type) -> Any:
    """The dtype of Python numbers of that kind."""
    if kind is float:
        return as_dtype(default_dtype())
    if kind is complex:
        return as_dtype(default_complex())
    return default_int() if kind is int else bool


def dtype_name(dtype: Any, /) -> str:
    """The canonical name of a dtype."""
    try:
        return names[dtype]
    except (KeyError, TypeError):
        raise DtypeError(f"{dtype!r} is not a data type of JAX that Trellis knows.") from None


def astype(x: Array, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    from .device import as_device

    dtype = as_dtype(dtype)
    if dtype is None:
        raise refuse_none()
    if not copy and device is None and x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind != "c" and dtype != bool:
        raise refuse_dropping(x.dtype.name, dtype.name)
    return jnp.astype(x, dtype, copy=copy, device=as_device(device))


def finfo(type: Any, /) -> FloatLimits:
    info = jnp.finfo(type.dtype if is_array(type) else lookup(type))
    limits = (float(info.eps), float(info.max), float(info.min), float(info.smallest_normal))
    return FloatLimits(int(info.bits), *limits, np.dtype(info.dtype))


def result_type(*arrays_and_dtypes: Any) -> Any:
    name = result_name(arrays_and_dtypes, as_name=dtype_name)
    # An int with bools is JAX's default int.
    names = [_name_of(item) for item in arrays_and_dtypes]
    is_default = name == "int64" and all([n in ("bool", None) for n in names])
    return default_int() if is_default else as_dtype(name)


def _name_of(item: Any) -> str | None:
    """The type of an array or a type; None for a Python number."""
    if type(item) in _NUMBERS:
        return None
    return dtype_name(item.dtype if is_array(item) else item)
