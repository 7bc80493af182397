"""Element-wise functions on NumPy: its ufuncs, on arrays promoted by the library's table.

Traced arrays implement `__array_ufunc__`. Arrays of one float type are passed to the ufunc
directly.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from ..._core.dtypes import fitted
from ..._core.errors import DtypeError
from ..._core.guards import unordered
from ..._ops import record
from ..._ops.elementwise import OPS
from ..._ops.making import functions_in, made, plainly
from . import _portable
from ._helpers import FLOAT32, cast, floating, floating_pair, pair, promote
from ._rules import elementwise as _with_derivatives

# Promotion ----------------------------------------------------------------------------------------


def _of_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs floats: integers take the default float, not one by their width."""

    def call(x: Any, /) -> Any:
        return fn(x) if x.dtype is FLOAT32 else fn(floating(x))

    call.__name__ = call.__qualname__ = name
    return call


def _promoting(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays, promoted by the table."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2) and x1.dtype is x2.dtype:
            return fn(x1, x2)
        return fn(*pair(x1, x2))

    call.__name__ = call.__qualname__ = name
    return call


def _ordering(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same for functions that compare sizes: NumPy would order complex numbers."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2):
            dtype = x1.dtype
            if dtype is x2.dtype and (dtype is FLOAT32 or dtype.kind != "c"):
                return fn(x1, x2)
        x1, x2 = pair(x1, x2)
        if complex in (type(x1), type(x2)) or "c" in (np.result_type(x1, x2).kind):
            raise unordered(name)
        return fn(x1, x2)

    call.__name__ = call.__qualname__ = name
    return call


def _promoting_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same for functions that need floats."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2):
            dtype = x1.dtype
            if dtype is x2.dtype and (dtype is FLOAT32 or dtype.kind not in "iub"):
                return fn(x1, x2)
        return fn(*floating_pair(x1, x2))

    call.__name__ = call.__qualname__ = name
    return call


def _of_truths(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """An element is true or false whatever its type: no promotion is needed."""

    def call(x1: Any, x2: Any, /) -> Any:
        return fn(x1, x2) if type(x1) is type(x2) else fn(*_checked(x1, x2))

    call.__name__ = call.__qualname__ = name
    return call


def _checked(x1: Any, x2: Any) -> tuple[Any, Any]:
    if not (hasattr(x1, "dtype") and hasattr(x2, "dtype")):
        pair(x1, x2)  # raises for anything but an array or a number
    return x1, x2


globals().update(
    made(
        OPS,
        "numpy",
        {"np": np, "scipy": SimpleNamespace(special=_with_derivatives)},
        functions_in(_portable),
        {
            record.FLOATS: _of_floats,
            record.LIKE: plainly,
            record.QUESTION: plainly,
            record.PROMOTED: _promoting,
            record.EQUALITY: _promoting,
            record.ORDERED: _ordering,
            record.COMPARISON: _ordering,
            record.FLOAT_PAIR: _promoting_floats,
            record.LOGICAL: _of_truths,
        },
    )
)

# More than one call -------------------------------------------------------------------------------

logical_not = np.logical_not
erfc = _of_floats("erfc", _with_derivatives.erfc)


_np_tanh = np.tanh  # found faster than in NumPy's module, which has a `__getattr__`


def tanh(x: Any, /) -> Any:
    if x.dtype is FLOAT32:
        return _np_tanh(x)
    return _complex_tanh(x) if x.dtype.kind == "c" else _np_tanh(floating(x))


def _complex_tanh(x: Any) -> Any:
    """At the infinities the imaginary zero has the sign of x, where NumPy follows sin(2x)."""
    y, b = np.tanh(x), np.imag(x)
    limit = _joined(np.real(y), np.copysign(np.zeros_like(b), b))
    return np.where(np.isinf(np.real(x)) & np.isfinite(b), limit, y)


_real_expm1 = _of_floats("expm1", np.expm1)
_real_log1p = _of_floats("log1p", np.log1p)


def expm1(x: Any, /) -> Any:
    return _complex_expm1(x) if x.dtype.kind == "c" else _real_expm1(x)


def _complex_expm1(x: Any) -> Any:
    """exp(a + ib) - 1 without cancellation, and with the standard's values at infinity."""
    a, b = np.real(x), np.imag(x)
    no_angle = (b == 0) | (np.isinf(a) & (a < 0) & ~np.isfinite(b))
    # At a = -inf any angle gives -1, at b = 0 the number is real.
    angle = np.where(no_angle, np.zeros((), b.dtype), b)
    is_far = np.isinf(a) & (a > 0) & ~np.isfinite(angle)
    with np.errstate(invalid="ignore"):  # the result there is nan
        half = np.sin(angle / 2)
        real_part = np.where(
            b == 0, np.expm1(a) + 0.0, np.expm1(a) * np.cos(angle) - 2 * half * half
        )
        imag_part = np.where(no_angle, np.where(b == 0, b, angle), np.exp(a) * np.sin(angle))
    return _joined(np.where(is_far, a, real_part), imag_part)


def log1p(x: Any, /) -> Any:
    return _complex_log1p(x) if x.dtype.kind == "c" else _real_log1p(x)


def _complex_log1p(x: Any) -> Any:
    """NumPy adds the 1 before the logarithm, which loses the real part of a small number."""
    y, a, b = np.log1p(x), np.real(x), np.imag(x)
    is_small, zero = (np.abs(a) < 0.5) & (np.abs(b) < 0.5), np.zeros((), a.dtype)
    a, b = np.where(is_small, a, zero), np.where(is_small, b, zero)
    near = np.log1p(a * (2 + a) + b * b) / 2
    return _joined(np.where(is_small, near, np.real(y)), np.imag(y))


def _joined(real_part: Any, imag_part: Any) -> Any:
    """A complex array from its parts; `a + 1j * b` alone would make nan of an infinite `b`."""
    plain = (np.ndarray, np.generic)
    if not (isinstance(real_part, plain) and isinstance(imag_part, plain)):
        return real_part + 1j * imag_part  # traced: the sum has a derivative
    joined = np.empty(real_part.shape, dtype=np.result_type(real_part, np.complex64))
    joined.real, joined.imag = real_part, imag_part
    return joined


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    if x.dtype.kind == "c":
        raise unordered("clip")
    if x.dtype.kind == "b":
        raise DtypeError("clip() is for numbers, got an array of bool.")
    wide = _type_of_bounds(x.dtype, (min, max))
    if wide != x.dtype:
        return cast(clip(cast(x, wide), min, max), x.dtype)
    low, high = _bound(min, x), _bound(max, x)
    if low is None and high is None:
        return np.positive(x)
    if x.dtype.kind == "V":  # np.clip returns float32
        x = x if low is None else np.where(np.isnan(low) | (x < low), low, x)
        return x if high is None else np.where(np.isnan(high) | (x > high), high, x)
    return np.clip(x, low, high)


def _bound(bound: Any, x: Any) -> Any:
    """Bounds take the type of x, as the standard asks."""
    if hasattr(bound, "dtype"):
        return cast(bound, x.dtype)
    if bound is None or (x.dtype.kind in "fc" and type(bound) is not complex):
        return bound
    return np.asarray(fitted(bound, x.dtype.name), x.dtype)


def _type_of_bounds(dtype: Any, bounds: Any) -> Any:
    """The type to compare integers in: -1 is below every uint8, but is not a uint8."""
    for bound in bounds:
        if hasattr(bound, "dtype") and bound.dtype.kind in "iu" and dtype.kind in "iu":
            dtype = promote(dtype, bound.dtype)
    return dtype


def imag(x: Any, /) -> Any:
    return np.imag(x)


def real(x: Any, /) -> Any:
    return np.real(x)


def round(x: Any, /) -> Any:
    return np.round(x) if x.dtype.kind != "b" else np.array(x)  # NumPy returns float16


def nan_to_num(x: Any, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind == "V":  # NumPy does not know the limits of bfloat16
        limits = ml_dtypes.finfo(x.dtype)
        high = float(limits.max) if posinf is None else posinf
        low = float(limits.min) if neginf is None else neginf
        wide = np.nan_to_num(x.astype(np.float32), nan=nan, posinf=high, neginf=low)
        return wide.astype(x.dtype)
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = pair(x1, x2)
    return np.isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)
