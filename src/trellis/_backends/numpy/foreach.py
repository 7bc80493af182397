"""Arithmetic over lists of leaves on NumPy; the caller's temporaries are overwritten."""

from typing import Any

import numpy as np

from ..shared import foreach as plain
from ._blocks import are_alike
from ._helpers import BFLOAT16, widened
from ._steps import STEP_KERNELS as STEP_KERNELS
from ._tape import TracedArray
from .gradients import stop_gradient


def _room(x: Any, *others: Any) -> Any:
    """`x` as memory for a result, or None: scalars have no memory, traced arrays are recorded.

    With a Python number bfloat16 becomes float32, which NumPy does not write back.
    """
    if type(x) is not np.ndarray or x.dtype.kind == "V":
        return None
    return None if any([isinstance(y, TracedArray) for y in others]) else x


def _onto(x: Any, y: Any) -> Any:
    """x + y, where `y` is a temporary that may become the result.

    Leaf by leaf, so that what is written is still in the cache when it is read again.
    """
    is_plain = type(y) is np.ndarray and type(x) is np.ndarray and y.dtype.kind != "V"
    is_place = is_plain and y.dtype == x.dtype and y.shape == x.shape
    return np.add(x, y, out=y if is_place else None)


def _kept(results: list[Any], xs: list[Any]) -> list[Any]:
    """Leaves of bfloat16 keep their type; NumPy's operators with a number would return float32."""
    if BFLOAT16 not in [x.dtype for x in xs]:
        return results
    return [
        y.astype(x.dtype) if x.dtype.kind == "V" and y.dtype == np.float32 else y
        for y, x in zip(results, xs, strict=True)
    ]


def foreach_add(xs: list[Any], ys: Any, alpha: Any = 1, *, reuse: bool = False) -> list[Any]:
    is_one = isinstance(alpha, int) and alpha == 1
    if not reuse and is_one:
        return _kept(plain.foreach_add(xs, ys), xs)
    if not reuse:
        if isinstance(ys, list) and type(alpha) is float and are_alike(xs, ys):
            return _descended(xs, ys, alpha)
        factors = _list(alpha, xs)
        rows = zip(xs, _list(ys, xs), factors, strict=True)
        return _kept([_onto(x, y * factor) for x, y, factor in rows], xs)
    terms = ys if is_one else plain.foreach_mul(_list(ys, xs), alpha)
    pairs = zip(xs, _list(terms, xs), strict=True)
    return _kept([np.add(x, y, out=_room(x, y)) for x, y in pairs], xs)


def _descended(xs: list[Any], ys: list[Any], alpha: float) -> list[Any]:
    """x + alpha * y, where all are plain arrays: the step of every optimizer without a kernel."""
    factors = {dtype: np.array(alpha, dtype) for dtype in {x.dtype for x in xs}}
    found = []
    for x, y in zip(xs, ys, strict=True):
        z = np.multiply(y, factors[x.dtype])
        found.append(np.add(x, z, z if z.ndim else None))
    return found


def foreach_mul(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    if not reuse:
        return _kept(plain.foreach_mul(xs, ys), xs)
    pairs = zip(xs, _list(ys, xs), strict=True)
    return _kept([np.multiply(x, y, out=_room(x, y)) for x, y in pairs], xs)


def foreach_div(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    if not reuse:
        return _kept(plain.foreach_div(xs, ys), xs)
    pairs = zip(xs, _list(ys, xs), strict=True)
    return _kept([np.divide(x, y, out=_room(x, y)) for x, y in pairs], xs)


def foreach_addcmul(
    xs: list[Any], ys: list[Any], zs: list[Any], value: float = 1, *, reuse: bool = False
) -> list[Any]:
    products = foreach_mul(plain.foreach_mul(ys, zs), value, reuse=True)
    return foreach_add(xs, products, reuse=reuse)


def foreach_addcdiv(
    xs: list[Any], ys: list[Any], zs: list[Any], value: float = 1, *, reuse: bool = False
) -> list[Any]:
    quotients = foreach_mul(plain.foreach_div(ys, zs), value, reuse=True)
    return foreach_add(xs, quotients, reuse=reuse)


def foreach_sqrt(xs: list[Any], *, reuse: bool = False) -> list[Any]:
    return [np.sqrt(x, out=_room(x) if reuse else None) for x in xs]


def foreach_maximum(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    pairs = zip(xs, _list(ys, xs), strict=True)
    return _kept([np.maximum(x, y, out=_room(x, y) if reuse else None) for x, y in pairs], xs)


def foreach_norm(xs: list[Any]) -> list[Any]:
    return [_norm(x) if x.dtype.kind != "V" else _norm(widened(x)) for x in xs]


def _norm(x: Any) -> Any:
    return np.sqrt((x * x).sum())


def foreach_lerp(xs: list[Any], ys: list[Any], weight: float) -> list[Any]:
    return _kept([_lerp(x, y, weight) for x, y in zip(xs, ys, strict=True)], xs)


def _lerp(x: Any, y: Any, weight: float) -> Any:
    away = y - x
    return _onto(x, np.multiply(away, weight, out=_room(away)))


def foreach_cast(xs: list[Any], dtype: Any) -> list[Any]:
    return [x.astype(dtype) for x in xs]


def foreach_detach(xs: list[Any]) -> list[Any]:
    if TracedArray not in set(map(type, xs)):
        return xs
    return [stop_gradient(x) if isinstance(x, TracedArray) else x for x in xs]


def _list(y: Any, xs: list[Any]) -> list[Any]:
    return plain.spread(y, xs)
