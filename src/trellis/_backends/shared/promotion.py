"""Promotion by the library's table, for formulas over any backend."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.dtypes import COMPLEX, FLOATING, default_dtype, result_name
from ..array_api import Native

if TYPE_CHECKING:
    from ..interface import Backend

INEXACT = frozenset(FLOATING + COMPLEX)
_NARROW = {"int64": "int32", "uint64": "uint32"}


def type_name(xp: "Backend", x: Native) -> str:
    """The canonical name of an array's type."""
    return xp.dtype_name(x.dtype)


def is_complex(xp: "Backend", x: Native) -> bool:
    return xp.dtype_name(x.dtype) in COMPLEX


def held(xp: "Backend", x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NumPy's 64-bit integers in 32 bits, if the framework has no wider ones."""
    name = x.dtype.name
    return x if name in xp.TYPES else x.astype(_NARROW.get(name, name))


def floating(xp: "Backend", x: Native) -> Native:
    """Integers and bools in the default float, everything else as it is."""
    if xp.dtype_name(x.dtype) in INEXACT:
        return x
    return xp.astype(x, str(default_dtype()))


def together(xp: "Backend", *xs: Native) -> list[Native]:
    """Arrays, and Python numbers among them, as arrays of their common type."""
    name = result_name(xs, as_name=xp.dtype_name)
    return [
        xp.astype(x, name, copy=False) if hasattr(x, "dtype") else xp.asarray(x, dtype=name)
        for x in xs
    ]
