"""Data types by the one table of the library, for formulas over any backend."""

from typing import TYPE_CHECKING

from ..._core.dtypes import COMPLEX, FLOATING, default_dtype, result_name
from ..array_api import Native

if TYPE_CHECKING:
    from ..interface import Backend

INEXACT = frozenset(FLOATING + COMPLEX)


def type_name(xp: "Backend", x: Native) -> str:
    """The canonical name of an array's type."""
    return xp.dtype_name(x.dtype)


def is_complex(xp: "Backend", x: Native) -> bool:
    return xp.dtype_name(x.dtype) in COMPLEX


def floating(xp: "Backend", x: Native) -> Native:
    """Integers and bools in the default float, everything else as it is."""
    if xp.dtype_name(x.dtype) in INEXACT:
        return x
    return xp.astype(x, str(default_dtype()))


def together(xp: "Backend", *xs: Native) -> list[Native]:
    """Arrays, and Python numbers among them, as arrays of the type in which they meet."""
    name = result_name(xs, as_name=xp.dtype_name)
    return [
        xp.astype(x, name, copy=False) if hasattr(x, "dtype") else xp.asarray(x, dtype=name)
        for x in xs
    ]
