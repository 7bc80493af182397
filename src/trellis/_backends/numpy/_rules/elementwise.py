"""Derivatives of NumPy's ufuncs. Only Python numbers as factors: they never widen float32."""

import math
from typing import Any

import numpy as np

from ...._core.errors import DtypeError
from .. import _portable, _scipy
from .._tape import WRITES, as_view, back_to, composed, constant, differentiable, stop, unbroadcast

constant(
    np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.sign, np.signbit, np.floor_divide,
    np.isfinite, np.isinf, np.isnan, np.isclose, np.allclose, np.isneginf, np.isposinf,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
    np.result_type, np.iscomplexobj, np.isrealobj, np.array_equal, np.may_share_memory,
)  # fmt: skip


differentiable(np.negative, lambda ans, x: lambda g: -g)
differentiable(np.positive, lambda ans, x: lambda g: g)
differentiable(np.exp, lambda ans, x: lambda g: g * ans)
differentiable(np.exp2, lambda ans, x: lambda g: g * ans * math.log(2))
differentiable(np.expm1, lambda ans, x: lambda g: g * (ans + 1))
differentiable(np.log, lambda ans, x: lambda g: g / x)
differentiable(np.log2, lambda ans, x: lambda g: g / (x * math.log(2)))
differentiable(np.log10, lambda ans, x: lambda g: g / (x * math.log(10)))
differentiable(np.log1p, lambda ans, x: lambda g: g / (x + 1))
differentiable(np.sqrt, lambda ans, x: lambda g: g * 0.5 / ans)
differentiable(np.cbrt, lambda ans, x: lambda g: g / (3 * ans * ans))
differentiable(np.square, lambda ans, x: lambda g: g * 2 * x)
differentiable(np.reciprocal, lambda ans, x: lambda g: -g * ans * ans)
differentiable(np.sin, lambda ans, x: lambda g: g * np.cos(x))
differentiable(np.cos, lambda ans, x: lambda g: -g * np.sin(x))
differentiable(np.tan, lambda ans, x: lambda g: g * (1 + ans * ans))
differentiable(np.arcsin, lambda ans, x: lambda g: g / np.sqrt(1 - x * x))
differentiable(np.arccos, lambda ans, x: lambda g: -g / np.sqrt(1 - x * x))
differentiable(np.arctan, lambda ans, x: lambda g: g / (1 + x * x))
differentiable(np.sinh, lambda ans, x: lambda g: g * np.cosh(x))
differentiable(np.cosh, lambda ans, x: lambda g: g * np.sinh(x))
differentiable(np.tanh, lambda ans, x: lambda g: g * (1 - ans * ans))
differentiable(np.arcsinh, lambda ans, x: lambda g: g / np.sqrt(x * x + 1))
differentiable(np.arccosh, lambda ans, x: lambda g: g / np.sqrt(x * x - 1))
differentiable(np.arctanh, lambda ans, x: lambda g: g / (1 - x * x))
differentiable(np.deg2rad, lambda ans, x: lambda g: g * (math.pi / 180))
differentiable(np.radians, lambda ans, x: lambda g: g * (math.pi / 180))
differentiable(np.rad2deg, lambda ans, x: lambda g: g * (180 / math.pi))
differentiable(np.degrees, lambda ans, x: lambda g: g * (180 / math.pi))
differentiable(np.conjugate, lambda ans, x: lambda g: np.conjugate(g))


def _abs_vjp(ans: Any, x: Any) -> Any:
    if np.iscomplexobj(x):
        size = np.where(ans == 0, np.ones_like(ans), ans)
        return lambda g: g * np.conjugate(x) / size
    return lambda g: g * np.sign(x)


differentiable(np.absolute, _abs_vjp)
differentiable(np.fabs, _abs_vjp)


def _complexify(x: Any, g: Any) -> Any:
    return g + 0j if np.iscomplexobj(x) else g


_real = differentiable(np.real, lambda ans, x: lambda g: unbroadcast(_complexify(x, g), x))
_imag = differentiable(
    np.imag,
    lambda ans, x: lambda g: unbroadcast(np.multiply(-1j if np.iscomplexobj(x) else 0, g), x),
)


@composed(np.real)
def _real_rule(val: Any) -> Any:
    return as_view(_real(val), val, np.real) if np.iscomplexobj(val) else val


@composed(np.imag)
def _imag_rule(val: Any) -> Any:
    return as_view(_imag(val), val, np.imag)


WRITES[np.real] = lambda view, whole: view + 1j * np.imag(whole)
WRITES[np.imag] = lambda view, whole: np.real(whole) + 1j * view


# Two arguments ------------------------------------------------------------------------------------


def _binary(ufunc: Any, first: Any, second: Any) -> None:
    """`first(g, ans, x, y)` and `second(...)` are the gradients before broadcasting is undone."""
    differentiable(
        ufunc,
        lambda ans, x, y: lambda g: unbroadcast(first(g, ans, x, y), x),
        lambda ans, x, y: lambda g: unbroadcast(second(g, ans, x, y), y),
    )


def _symmetric(ufunc: Any, by: Any) -> None:
    """Both arguments play the same part: `by(g, mine, other, ans)` is the gradient of either."""
    differentiable(
        ufunc,
        lambda ans, x, y: lambda g: unbroadcast(by(g, x, y, ans), x),
        lambda ans, x, y: lambda g: unbroadcast(by(g, y, x, ans), y),
    )


def _power_by_base(g: Any, ans: Any, x: Any, y: Any) -> Any:
    if isinstance(y, (int, float)):
        if y == 2:
            return g * (2 * x)
        return g * (y * x ** (y - 1)) if y != 0 else g * np.zeros_like(x)
    below = np.where(y == 0, np.ones_like(y), y - 1)
    return g * (y * x**below)


def _power_by_exponent(g: Any, ans: Any, x: Any, y: Any) -> Any:
    if isinstance(x, (int, float)):
        return g * ans * (math.log(x) if x > 0 else 0.0)
    return g * ans * np.log(np.where(x == 0, np.ones_like(x), x))


def _winner(better: Any) -> Any:
    """At ties, each side gets half."""
    return lambda g, mine, other, ans: np.where(
        mine == other, g * 0.5, np.where(better(mine, other), g, np.zeros_like(g))
    )


def _winner_of_numbers(g: Any, mine: Any, other: Any, ans: Any) -> Any:
    """As `_winner`, where nan loses."""
    zero = np.zeros_like(g)
    return np.where(mine == ans, np.where(mine == other, g * 0.5, g), zero)


def _over_length(g: Any, part: Any, other: Any, length: Any) -> Any:
    """part / length, and 0 where the length is 0."""
    return np.where(length == 0, np.zeros_like(g), g * part / np.where(length == 0, 1, length))


def _share(power: Any) -> Any:
    return lambda g, part, other, ans: (
        g * power(np.where(np.isfinite(ans), part - ans, np.zeros_like(ans)))
    )


def _same(g: Any) -> Any:
    return g


# The four arithmetic operations are in every formula: each keeps only the arrays that it needs.
differentiable(
    np.add, lambda ans, x, y: back_to(x, ans, _same), lambda ans, x, y: back_to(y, ans, _same)
)
differentiable(
    np.subtract,
    lambda ans, x, y: back_to(x, ans, _same),
    lambda ans, x, y: back_to(y, ans, lambda g: -g),
)
differentiable(
    np.multiply,
    lambda ans, x, y: back_to(x, ans, lambda g: g * y),
    lambda ans, x, y: back_to(y, ans, lambda g: g * x),
)
differentiable(
    np.divide,
    lambda ans, x, y: back_to(x, ans, lambda g: g / y),
    lambda ans, x, y: back_to(y, ans, lambda g: -g * ans / y),
)
_binary(np.power, _power_by_base, _power_by_exponent)
_symmetric(np.maximum, _winner(np.greater))
_symmetric(np.minimum, _winner(np.less))
_symmetric(np.fmax, _winner_of_numbers)
_symmetric(np.fmin, _winner_of_numbers)
_symmetric(np.hypot, _over_length)
_symmetric(np.logaddexp, _share(np.exp))
_symmetric(np.logaddexp2, _share(np.exp2))
_binary(
    np.arctan2,
    lambda g, ans, x, y: g * y / (x * x + y * y),
    lambda g, ans, x, y: -g * x / (x * x + y * y),
)
_binary(
    np.copysign,
    # |x| with the sign of y: at 0 the derivative is 0, as that of |x|.
    lambda g, ans, x, y: g * np.sign(x) * np.copysign(np.ones_like(g), y),
    lambda g, ans, x, y: np.zeros_like(g),
)
# The next number is as far away for all neighbours: the derivative is 1 by x, 0 by the direction.
_binary(np.nextafter, lambda g, ans, x, y: g, lambda g, ans, x, y: np.zeros_like(g))
_binary(np.fmod, lambda g, ans, x, y: g, lambda g, ans, x, y: -g * np.trunc(x / y))
_binary(np.remainder, lambda g, ans, x, y: g, lambda g, ans, x, y: -g * np.floor(x / y))


# Neither one nor two ------------------------------------------------------------------------------


@composed(np.clip)
def _clip(
    x: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    """The gradient passes where low <= x <= high, the bounds included."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    clipped = x
    if low is not None:
        clipped = np.where(clipped < low, low, clipped)
    if high is not None:
        clipped = np.where(clipped > high, high, clipped)
    return clipped


_chosen = differentiable(
    np.where,
    None,
    lambda ans, c, x, y: lambda g: unbroadcast(np.where(c, g, np.zeros((), g.dtype)), x),
    lambda ans, c, x, y: lambda g: unbroadcast(np.where(c, np.zeros((), g.dtype), g), y),
)


@composed(np.where)
def _where(condition: Any, *choices: Any) -> Any:
    condition = stop(condition)
    return _chosen(condition, *choices) if choices else np.nonzero(condition)


@composed(np.divmod)
def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return np.floor_divide(x, y), np.remainder(x, y)


@composed(np.nan_to_num)
def _nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    limits = np.finfo(x.dtype)
    x = np.where(np.isnan(x), nan, x)
    x = np.where(x == np.inf, limits.max if posinf is None else posinf, x)
    return np.where(x == -np.inf, limits.min if neginf is None else neginf, x)


def _by_scipy(name: str) -> Any:
    """SciPy has loops for float32 and float64 only, and takes float64 for the two half types."""

    def values(x: Any) -> Any:
        fn = getattr(_scipy.special, name)
        return fn(x) if x.dtype.itemsize >= 4 else fn(x.astype("f4")).astype(x.dtype)

    return _of_reals(name, values)


def _of_reals(name: str, fn: Any) -> Any:
    def values(x: Any) -> Any:
        if x.dtype.kind == "c":
            raise DtypeError(f"{name}() is for real numbers, got an array of complex ones.")
        return fn(x)

    return values


_two_over_root_pi = 2 / math.sqrt(math.pi)
erf = differentiable(
    _by_scipy("erf"), lambda ans, x: lambda g: g * _two_over_root_pi * np.exp(-x * x)
)
erfc = differentiable(
    _of_reals("erfc", _portable.erfc),
    lambda ans, x: lambda g: -g * _two_over_root_pi * np.exp(-x * x),
)
erfinv = differentiable(
    _by_scipy("erfinv"), lambda ans, x: lambda g: g / _two_over_root_pi * np.exp(ans * ans)
)

_cast = differentiable(
    lambda x, dtype: x.astype(dtype),
    lambda ans, x, dtype: lambda g: unbroadcast(_complexify(x, g), x),
)


@composed(np.astype)
def _astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    """Integers and bools are constants: they have no gradient."""
    if not copy and x.dtype == dtype:
        return x
    # "V" is bfloat16.
    return _cast(x, dtype) if np.dtype(dtype).kind in "fcV" else stop(x).astype(dtype)
