"""Data types, from the table `TYPES` of a backend."""

from typing import Any

import ml_dtypes
import numpy as np

from ...._core import dtypes
from ...._core.arrays import is_array
from ...._core.errors import ArgumentError, DtypeError
from ...._core.typing import DTypeLike
from . import xp


def as_dtype(dtype: DTypeLike | None, /) -> Any:
    """The native type for a canonical name or a type of any framework; None stays None."""
    return None if dtype is None else xp.TYPES[xp.dtype_name(dtype)]


def dtype_name(dtype: Any, /) -> str:
    """The canonical name of a native type, or of one of another framework."""
    name = _named(dtype)
    if name not in xp.TYPES:
        raise DtypeError(f"Unknown data type {dtype!r}. Write one of {', '.join(xp.TYPES)}.")
    return name


def _named(dtype: Any) -> str:
    for name, native in xp.TYPES.items():
        if native is dtype:
            return name
    return dtypes.name_of(dtype)


def _name_of(x: Any) -> str:
    """The type of an array, or of anything that names one."""
    return xp.dtype_name(x.dtype if is_array(x) else x)


def can_cast(from_: Any, to: DTypeLike, /) -> bool:
    target = _name_of(to)
    return dtypes.PROMOTION.get((_name_of(from_), target)) == target


def finfo(type: Any, /) -> dtypes.FloatLimits:
    name = {"complex64": "float32", "complex128": "float64"}.get(_name_of(type), _name_of(type))
    if name not in dtypes.FLOATING:
        raise DtypeError(f"finfo() expects a floating-point type, got {name}. Use iinfo().")
    found = ml_dtypes.finfo(name)
    return dtypes.FloatLimits(
        bits=int(found.bits),
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=xp.TYPES[name],
    )


def iinfo(type: Any, /) -> dtypes.IntLimits:
    name = _name_of(type)
    if name not in dtypes.INTEGER:
        raise DtypeError(f"iinfo() expects an integer type, got {name}. Use finfo().")
    found = np.iinfo(name)
    return dtypes.IntLimits(found.bits, int(found.max), int(found.min), xp.TYPES[name])


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    name = _name_of(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in dtypes.KINDS:
            if name in dtypes.KINDS[one]:
                return True
        elif isinstance(one, str) and one not in xp.TYPES:
            known = ", ".join(dtypes.KINDS)
            raise ArgumentError(f"Unknown kind {one!r}. The kinds are {known}, or a data type.")
        elif name == xp.dtype_name(one):
            return True
    return False


def result_type(*arrays_and_dtypes: Any) -> Any:
    return xp.TYPES[dtypes.result_name(arrays_and_dtypes, as_name=xp.dtype_name)]
