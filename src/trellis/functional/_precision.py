"""In which dtype a function computes: float32 at least, rounded once to the dtype of the result."""

from collections.abc import Callable
from typing import Any

from .._core.arrays import NUMBERS
from .._core.dispatch import default_xp, xp_of
from .._core.dtypes import COMPLEX, FLOATING, default_dtype, promote
from .._core.errors import ArgumentTypeError, DtypeError
from .._core.leafwise import call_leafwise
from .._core.typing import Array, Backend

_PRECISE = ("float32", "float64")


def applied(name: str, formula: Callable[..., Any], x: Array, *options: object) -> Any:
    """`formula(xp, x, *options)`, computed in float32 at least; leaf by leaf in pytrees.

    The result has the dtype of `x`; integers become the default float.
    """
    if isinstance(x, dict):
        return call_leafwise(lambda leaf: applied(name, formula, leaf, *options), (x,), {})
    try:
        xp = xp_of(x)
    except ArgumentTypeError:
        if not isinstance(x, NUMBERS):
            raise
        return applied(name, formula, default_xp().asarray(x), *options)
    kind = xp.dtype_name(x.dtype)
    if kind in _PRECISE:
        return formula(xp, x, *options)
    y, kind = precise(name, xp, x)
    return xp.astype(formula(xp, y, *options), kind, copy=False)


def precise(name: str, xp: Backend, x: Array) -> tuple[Any, str]:
    """`x` in float32 or float64 to compute with, and the name of the dtype that the result has."""
    kind = xp.dtype_name(x.dtype)
    if kind in _PRECISE:
        return x, kind
    _refuse_complex(name, kind)
    if kind not in FLOATING:
        kind = str(default_dtype())
    return xp.astype(x, kind if kind in _PRECISE else "float32"), kind


def all_precise(name: str, xp: Backend, *arrays: Array | None) -> tuple[list[Any], str]:
    """Several arrays in one dtype to compute with (None passes), and the dtype of the result."""
    found = as_floats(name, xp, *arrays)
    kind = xp.dtype_name(found[0].dtype)
    if kind in _PRECISE:
        return found, kind
    return [x if x is None else xp.astype(x, "float32") for x in found], kind


def as_floats(name: str, xp: Backend, *arrays: Array | None) -> list[Any]:
    """The arrays in one float dtype: the widest among them, else the default float; None passes."""
    first = arrays[0].dtype  # type: ignore[union-attr]  # the first is never None
    is_one = all([x is None or x.dtype == first for x in arrays])
    if is_one and xp.dtype_name(first) in FLOATING:
        return list(arrays)
    target = None
    for x in arrays:
        kind = None if x is None else xp.dtype_name(x.dtype)
        _refuse_complex(name, kind)
        if kind in FLOATING:
            target = kind if target is None else promote(target, kind)
    target = str(default_dtype()) if target is None else target
    return [
        x if x is None or xp.dtype_name(x.dtype) == target else xp.astype(x, target) for x in arrays
    ]


def _refuse_complex(name: str, kind: str | None) -> None:
    if kind in COMPLEX:
        raise DtypeError(f"{name}() computes with real numbers, got an array of {kind}.")


def parameter(xp: Backend, x: Array | None, like: Array) -> Any:
    """A scale or an offset in the dtype that `like` is computed in; None passes."""
    if x is None or x.dtype == like.dtype:
        return x
    return xp.astype(x, like.dtype)
