"""Element-wise functions: PyTorch's where they conform to the standard for tensors of one dtype."""

from collections.abc import Callable
from typing import Any

import torch
from torch import abs as torch_abs
from torch import tanh as torch_tanh

from ..._core.dtypes import fitted
from ..._core.errors import DtypeError
from ..._ops import TABLE, record
from ..._ops.elementwise import OPS
from ..._ops.making import functions_in, made, plainly
from . import _portable
from ._helpers import (
    COMPLEX,
    FEW_KERNELS,
    FLOAT32,
    FLOATING,
    INEXACT,
    INTEGER,
    NAMES,
    NUMBER_FITS,
    NUMBERS,
    SIGNED,
    as_float,
    both,
    default_float,
    filled,
    number_dtype,
    ordered,
    promote,
    unordered,
)
from ._types import Tensor

# Their absolute value is themselves.
_NEVER_BELOW_ZERO = FEW_KERNELS | {torch.bool}

# Promotion ----------------------------------------------------------------------------------------


def _of_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs floats: integers take the default float, which may not be PyTorch's."""

    def call(x: Tensor, /) -> Any:
        return fn(x if x.dtype in INEXACT else x.to(default_float()))

    call.__name__ = call.__qualname__ = name
    return call


def _unary(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Tensor, /) -> Any:
        if x.dtype in FEW_KERNELS:
            return fn(x.to(torch.int64)).to(x.dtype)
        return fn(x)

    call.__name__ = call.__qualname__ = name
    return call


def _carried(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For uint16 to uint64: the same function on int64, its result cast back."""

    def call(x1: Any, x2: Any, /) -> Any:
        return fn(x1.to(torch.int64), x2.to(torch.int64)).to(x1.dtype)

    return call


def _compared(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, /) -> Any:
        return fn(ordered(x1), ordered(x2))

    return call


def _binary(name: str, fn: Callable[..., Any], few: Callable[..., Any]) -> Callable[..., Any]:
    """A function for which PyTorch also takes numbers; `few` is used for uint16 to uint64."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2):
            dtype = x1.dtype
            if dtype is x2.dtype and (dtype is FLOAT32 or dtype not in FEW_KERNELS):
                return fn(x1, x2)
        kind = type(x2)
        if kind in NUMBERS:
            if _is_taken(x2, kind, x1.dtype):
                return fn(x1, x2)
        else:
            kind = type(x1)
            if kind in NUMBERS and _is_taken(x1, kind, x2.dtype):
                return fn(x1, x2)
        x1, x2 = both(x1, x2)
        return few(x1, x2) if x1.dtype in FEW_KERNELS else fn(x1, x2)

    call.__name__ = call.__qualname__ = name
    return call


def _is_taken(number: Any, kind: Any, dtype: Any) -> bool:
    """Whether PyTorch takes a number with this type, promoted as in Trellis."""
    if (dtype, kind) in NUMBER_FITS:
        return kind is not int or -(2**63) <= number < 2**63
    return kind is int and dtype in SIGNED and -128 <= number < 128  # in every signed type


def _tensors_only(name: str, fn: Callable[..., Any], few: Callable[..., Any]) -> Callable[..., Any]:
    """A function for which PyTorch needs tensors on both sides."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2):
            dtype = x1.dtype
            if dtype is x2.dtype and (dtype is FLOAT32 or dtype not in FEW_KERNELS):
                return fn(x1, x2)
        x1, x2 = both(x1, x2)
        return few(x1, x2) if x1.dtype in FEW_KERNELS else fn(x1, x2)

    call.__name__ = call.__qualname__ = name
    return call


def _comparison(name: str, fn: Callable[..., Any], few: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch takes a number on the right of a comparison only."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2):
            dtype = x1.dtype
            if dtype is x2.dtype and (dtype is FLOAT32 or dtype not in FEW_KERNELS):
                return fn(x1, x2)
        kind = type(x2)
        if kind in NUMBERS and _is_taken(x2, kind, x1.dtype):
            return fn(x1, x2)
        x1, x2 = both(x1, x2)
        return few(x1, x2) if x1.dtype in FEW_KERNELS else fn(x1, x2)

    call.__name__ = call.__qualname__ = name
    return call


def _floating(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of real floating-point arrays; integers are cast to the default float."""

    def call(x1: Any, x2: Any, /) -> Any:
        if type(x1) is type(x2):
            dtype = x1.dtype
            if dtype is x2.dtype and (dtype is FLOAT32 or dtype in FLOATING):
                return fn(x1, x2)
        x1, x2 = both(x1, x2)
        return fn(as_float(x1), as_float(x2))

    call.__name__ = call.__qualname__ = name
    return call


def _shift_right_unsigned(x1: Any, x2: Any) -> Any:
    n, by = x1.to(torch.int64), x2.to(torch.int64)
    if x1.dtype is torch.uint64:  # int64 would shift its sign in
        shifted = ((n >> 1) & (2**63 - 1)) >> torch.clamp(by - 1, min=0)
        return torch.where(by == 0, n, shifted).to(x1.dtype)
    return (n >> by).to(x1.dtype)


def _extremum(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, /) -> Any:
        return unordered(fn(ordered(x1), ordered(x2)), x1.dtype)

    return call


def _logical(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """An element is true or false whatever its type: no promotion is needed."""

    def call(x1: Any, x2: Any, /) -> Any:
        device = (x1 if isinstance(x1, torch.Tensor) else x2).device
        return fn(_truth(x1, device), _truth(x2, device))

    call.__name__ = call.__qualname__ = name
    return call


def _truth(x: Tensor, device: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x != 0 if x.dtype in FEW_KERNELS else x
    number_dtype(x, torch.bool)  # raises for anything but a number
    return torch.full((), bool(x), dtype=torch.bool, device=device)


def _divide_unsigned(x1: Any, x2: Any) -> Any:
    """Quotient of uint64 tensors in int64 arithmetic; 0 where the divisor is 0."""
    n, d = x1.to(torch.int64), x2.to(torch.int64)
    if x1.dtype is not torch.uint64:
        return _portable.by_nonzero(n, d, torch.floor_divide).to(x1.dtype)
    is_zero = d == 0
    d = torch.where(is_zero, 1, d)
    is_large = d < 0  # 2**63 and more: the quotient is 0 or 1
    safe = torch.where(is_large, 1, d)
    half = (n >> 1) & (2**63 - 1)
    quotient = torch.floor_divide(half, safe) << 1
    rest = n - quotient * safe
    smallest = ordered(torch.zeros_like(x1))  # adding 2**63 orders int64 as uint64
    quotient = quotient + ((rest ^ smallest) >= (safe ^ smallest)).to(torch.int64)
    at_least = ((n ^ smallest) >= (d ^ smallest)).to(torch.int64)
    quotient = torch.where(is_large, at_least, quotient)
    return torch.where(is_zero, 0, quotient).to(torch.uint64)


def _remainder_unsigned(x1: Any, x2: Any) -> Any:
    n, d = x1.to(torch.int64), x2.to(torch.int64)
    quotient = _divide_unsigned(x1, x2).to(torch.int64)
    return torch.where(d == 0, 0, n - quotient * d).to(x1.dtype)


# The functions for uint16 to uint64 where int64 gives other results.
_FEW = {
    "floor_divide": _divide_unsigned,
    "truncate_divide": _divide_unsigned,
    "remainder": _remainder_unsigned,
    "fmod": _remainder_unsigned,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "bitwise_right_shift": _shift_right_unsigned,
}


def _promoting(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    few = _FEW.get(name) or _carried(fn)
    wants_tensors = "torch" in TABLE[name].arrays_only
    return _tensors_only(name, fn, few) if wants_tensors else _binary(name, fn, few)


globals().update(
    made(
        OPS,
        "torch",
        {"torch": torch},
        functions_in(_portable),
        {
            record.FLOATS: _of_floats,
            record.LIKE: _unary,
            record.QUESTION: plainly,
            record.PART: plainly,
            record.PROMOTED: _promoting,
            record.EQUALITY: lambda name, fn: _comparison(name, fn, fn),
            record.COMPARISON: lambda name, fn: _comparison(name, fn, _compared(fn)),
            record.ORDERED: lambda name, fn: _tensors_only(name, fn, _extremum(fn)),
            record.FLOAT_PAIR: _floating,
            record.LOGICAL: _logical,
        },
    )
)

# More than one call -------------------------------------------------------------------------------

# Common functions of PyTorch have a global name here: its module has a `__getattr__`, so looking up
# `torch.tanh` takes some 90 ns more.

positive = torch.positive


def logical_not(x: Tensor, /) -> Any:
    return x == 0 if x.dtype in FEW_KERNELS else torch.logical_not(x)


def tanh(x: Tensor, /) -> Any:
    dtype = x.dtype
    if dtype in COMPLEX:
        return _complex_tanh(x)
    return torch_tanh(x if dtype in FLOATING else x.to(default_float()))


def _complex_tanh(x: Tensor) -> Any:
    """At the infinities PyTorch gives the imaginary zero the sign of another branch."""
    y = torch.tanh(x)
    limit = torch.complex(y.real, torch.copysign(torch.zeros_like(y.imag), x.imag))
    return torch.where(torch.isinf(x.real) & torch.isfinite(x.imag), limit, y)


# The complex cases of the next three have the standard's signs and infinities, which PyTorch lacks.


def acos(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        near_zero = torch.complex(torch.pi / 2 - x.real, -x.imag)
        return torch.where(x == 0, near_zero, torch.acos(x))
    return torch.acos(as_float(x))


def expm1(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        exponential = torch.exp(x)
        exact = torch.expm1(x.real) * torch.cos(x.imag) - 2 * torch.sin(x.imag / 2) ** 2
        # Adding 0 turns -0 into +0, as in the standard.
        real_part = torch.where(torch.isfinite(exact), exact + 0.0, exponential.real - 1)
        return torch.complex(real_part, exponential.imag)
    return torch.expm1(as_float(x))


def log1p(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        return torch.where(torch.isinf(x), torch.log(x), torch.log1p(x))
    return torch.log1p(as_float(x))


def abs(x: Tensor, /) -> Any:
    return x.clone() if x.dtype in _NEVER_BELOW_ZERO else torch_abs(x)


def ceil(x: Tensor, /) -> Any:
    return x.clone() if x.dtype is torch.bool else torch.ceil(x)


def floor(x: Tensor, /) -> Any:
    return x.clone() if x.dtype is torch.bool else torch.floor(x)


def trunc(x: Tensor, /) -> Any:
    return x.clone() if x.dtype is torch.bool else torch.trunc(x)


def conj(x: Tensor, /) -> Any:
    # torch.conj only sets a flag, for which conversion to NumPy and DLPack raise.
    return torch.conj_physical(x)


def round(x: Tensor, /) -> Any:
    if x.dtype in COMPLEX:
        return torch.complex(torch.round(x.real), torch.round(x.imag))
    return x.clone() if x.dtype is torch.bool else torch.round(x)


def sign(x: Tensor, /) -> Any:
    if x.dtype is torch.bool:
        raise DtypeError("sign() is for numbers, got an array of bool.")
    if x.dtype in FEW_KERNELS:
        return (x != 0).to(x.dtype)
    return _portable.sign(x)


def nan_to_num(x: Tensor, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype in COMPLEX:
        return torch.complex(
            torch.nan_to_num(x.real, nan, posinf, neginf),
            torch.nan_to_num(x.imag, nan, posinf, neginf),
        )
    return torch.nan_to_num(x, nan, posinf, neginf)


def _divide(x1: Any, x2: Any, /) -> Any:
    """Integers would give PyTorch's default float, which need not be ours."""
    if (x1 if isinstance(x1, torch.Tensor) else x2).dtype in INEXACT:
        return torch.div(x1, x2)
    return _divide_as_floats(*both(x1, x2))


def _divide_as_floats(x1: Any, x2: Any) -> Any:
    return torch.div(x1.to(default_float()), x2.to(default_float()))


divide = _binary("divide", _divide, _divide_as_floats)


def _real_logaddexp(x1: Any, x2: Any) -> Any:
    if x1.dtype in COMPLEX or x2.dtype in COMPLEX:
        raise DtypeError("logaddexp() is for real numbers, got an array of complex ones.")
    return torch.logaddexp(x1, x2)


logaddexp = _floating("logaddexp", _real_logaddexp)


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = both(x1, x2)
    if x1.dtype in FEW_KERNELS:
        x1, x2 = x1.to(torch.float64), x2.to(torch.float64)
    return torch.isclose(x1, x2, rtol, atol, equal_nan)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Any:
    """`x` kept between `min` and `max`; each may be None, a number or an array. The dtype stays
    that of `x`.
    """
    if min is None and max is None:
        return x.clone()
    wide = _type_of_bounds(x.dtype, (min, max))
    if wide is not x.dtype:
        return clip(x.to(wide), min, max).to(x.dtype)
    if (min is None or _is_taken(min, type(min), x.dtype)) and (
        max is None or _is_taken(max, type(max), x.dtype)
    ):
        return torch.clamp(x, min, max)
    low = None if min is None else _bound(min, x)
    high = None if max is None else _bound(max, x)
    if x.dtype in FEW_KERNELS:
        low = None if low is None else ordered(low)
        high = None if high is None else ordered(high)
        return unordered(torch.clamp(ordered(x), low, high), x.dtype)
    return torch.clamp(x, low, high)


def _bound(value: Any, x: Tensor) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(x.dtype)
    number_dtype(value, x.dtype)  # raises for anything but a number
    return filled(fitted(value, NAMES[x.dtype]), x.dtype, x.device)


def _type_of_bounds(dtype: Any, bounds: Any) -> Any:
    """The type to compare integers in: -1 is below every uint8, but is not a uint8."""
    for bound in bounds:
        if isinstance(bound, torch.Tensor) and bound.dtype in INTEGER and dtype in INTEGER:
            dtype = promote(dtype, bound.dtype)
    return dtype
