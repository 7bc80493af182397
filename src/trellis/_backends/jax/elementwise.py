"""Functions of each element."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.dtypes import fitted
from ..._core.errors import DtypeError
from ..._core.guards import unordered
from ..._ops.elementwise import OPS
from ..._ops.making import made, plainly
from ..._ops.record import (
    COMPARISON,
    EQUALITY,
    FLOAT_PAIR,
    FLOATS,
    LIKE,
    LOGICAL,
    ORDERED,
    PART,
    PROMOTED,
    QUESTION,
)
from ..exports import hand_on
from . import _complex
from ._promotion import (
    are_complex,
    floating,
    floating_pair,
    ordered_pair,
    pair,
    promote,
    refuse_others,
)

# What is more than one call of JAX is compiled: the questions about its dtype are then answered
# while tracing, and an eager call goes JAX's fast way. Never what reads a default of Trellis, which
# would freeze.
_compiled = functools.partial(jax.jit, inline=True)

# How types meet -----------------------------------------------------------------------------------


def _of_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs floats: integers take the default float first. Of complex numbers some
    have corners that JAX misses.
    """
    corners = getattr(_complex, name, None)
    kernel = fn if corners is None else _compiled(_mended(fn, corners))

    def call(x: Any, /) -> Any:
        return kernel(x) if x.dtype.kind not in "iub" else kernel(floating(x))

    call.__name__ = call.__qualname__ = name
    return call


def _mended(fn: Callable[..., Any], corners: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: corners(x, fn(x)) if x.dtype.kind == "c" else fn(x)


def _promoting(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, /) -> Any:
        return fn(*pair(x1, x2))

    call.__name__ = call.__qualname__ = name
    return call


def _promoting_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(x1: Any, x2: Any, /) -> Any:
        return fn(*floating_pair(x1, x2))

    call.__name__ = call.__qualname__ = name
    return call


def _ordering(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks which number is larger: complex ones are refused."""

    def call(x1: Any, x2: Any, /) -> Any:
        x1, x2 = ordered_pair(name, x1, x2)
        return fn(x1, x2)

    call.__name__ = call.__qualname__ = name
    return call


def _of_truths(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Whether an element counts as true does not depend on its type: no common one is needed."""

    def call(x1: Any, x2: Any, /) -> Any:
        return fn(_truth(x1), _truth(x2))

    call.__name__ = call.__qualname__ = name
    return call


def _truth(x: Any) -> Any:
    if type(x) in (bool, int, float, complex):
        return bool(x)
    refuse_others(x)
    return x if x.dtype.kind == "b" else x != 0


globals().update(
    made(
        OPS,
        "jax",
        {"jnp": jnp, "jax": jax},
        {
            FLOATS: _of_floats,
            LIKE: plainly,
            QUESTION: plainly,
            PART: plainly,
            PROMOTED: _promoting,
            EQUALITY: _promoting,
            ORDERED: _ordering,
            COMPARISON: _ordering,
            FLOAT_PAIR: _promoting_floats,
            LOGICAL: _of_truths,
        },
    )
)

# What is more than that ---------------------------------------------------------------------------


def round(x: Any, /) -> Any:
    return jnp.round(x) if x.dtype.kind != "b" else x


def positive(x: Any, /) -> Any:
    if x.dtype.kind == "b":
        raise DtypeError("positive() is for numbers, got an array of bool.")
    return jnp.positive(x)


@_compiled
def sign(x: Any, /) -> Any:
    # JAX keeps the sign of -0.0.
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.sign(x))


logical_not = jnp.logical_not


def nan_to_num(x: Any, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def atan2(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    if are_complex(x1, x2):
        raise DtypeError("atan2() is for real numbers, got an array of complex ones.")
    return jnp.atan2(x1, x2)


def copysign(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    # |x| with the sign of y: at 0 the derivative is 0, as that of |x|.
    return _abs(jnp.asarray(x1)) * jax.lax.stop_gradient(jnp.copysign(jnp.ones_like(x1), x2))


def floor_divide(x1: Any, x2: Any, /) -> Any:
    return _floor_divide(*pair(x1, x2))


@_compiled
def _floor_divide(x1: Any, x2: Any) -> Any:
    y = jnp.floor_divide(x1, x2)
    if y.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, y)  # of integers by 0, as NumPy has it
    # JAX rounds by way of the remainder, which is exact for finite numbers and NaN or -1 for the
    # others.
    is_ordinary = jnp.isfinite(x1) & jnp.isfinite(x2) & jnp.not_equal(x1, 0)
    return jnp.where(is_ordinary, y, jnp.floor(jnp.divide(x1, x2)))


def fmod(x1: Any, x2: Any, /) -> Any:
    return _fmod(*pair(x1, x2))


@_compiled
def _fmod(x1: Any, x2: Any) -> Any:
    y = jnp.fmod(x1, x2)
    return jnp.where(x2 == 0, 0, y) if y.dtype.kind in "iub" else y


def hypot(x1: Any, x2: Any, /) -> Any:
    return _hypot(*floating_pair(x1, x2))


@_compiled
def _hypot(x1: Any, x2: Any) -> Any:
    # The gradient at (0, 0) is 0, not nan.
    is_zero = (x1 == 0) & (x2 == 0)
    return jnp.where(is_zero, 0, jnp.hypot(jnp.where(is_zero, 1, x1), x2))


def logaddexp(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    if are_complex(x1, x2):
        raise DtypeError("logaddexp() is for real numbers, got an array of complex ones.")
    return jnp.logaddexp(x1, x2)


def nextafter(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    dtype = (x1 if hasattr(x1, "dtype") else x2).dtype
    return _nextafter(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))


@jax.custom_jvp
def _nextafter(x1: Any, x2: Any) -> Any:
    return jnp.nextafter(x1, x2)


@_nextafter.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """The next number is as far away for all neighbours: 1 by x1, 0 by the direction."""
    y = _nextafter(*primals)
    return y, jnp.broadcast_to(tangents[0], y.shape)


def pow(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    kind = "number" if isinstance(x2, (int, float)) else jnp.result_type(x1, x2).kind
    if kind == "i":
        return _whole_pow(x1, x2)
    return _pow(x1, x2) if kind == "f" else jnp.pow(x1, x2)


@_compiled
def _whole_pow(x1: Any, x2: Any) -> Any:
    """The whole part of 1 / x**n where the exponent is negative, as PyTorch has it."""
    of_one = jnp.where(jnp.abs(x1) == 1, jnp.pow(x1, jnp.abs(x2)), 0)
    return jnp.where(x2 < 0, of_one, jnp.pow(x1, jnp.maximum(x2, 0)))


@_compiled
def _pow(x1: Any, x2: Any) -> Any:
    # x**y at (0, 0) is 1, and its gradient by x is 0, not 0 * inf.
    return jnp.pow(jnp.where((x1 == 0) & (x2 == 0), 1, x1), x2)


def remainder(x1: Any, x2: Any, /) -> Any:
    return _remainder(*pair(x1, x2))


@_compiled
def _remainder(x1: Any, x2: Any) -> Any:
    y = jnp.remainder(x1, x2)
    if y.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, y)
    return _with_sign_at_zero(y, jnp.asarray(x2, y.dtype))


@jax.custom_jvp
def _with_sign_at_zero(y: Any, x2: Any) -> Any:
    """A remainder of 0 has the sign of the divisor; the gradient does not see it."""
    return jnp.where(y == 0, jnp.copysign(y, x2), y)


@_with_sign_at_zero.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return _with_sign_at_zero(*primals), tangents[0]


def truncate_divide(x1: Any, x2: Any, /) -> Any:
    return _truncate_divide(*pair(x1, x2))


@_compiled
def _truncate_divide(x1: Any, x2: Any) -> Any:
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.broadcast_arrays(jnp.asarray(x1, dtype), jnp.asarray(x2, dtype))
    if x1.dtype.kind in "iub":
        return jnp.where(x2 == 0, 0, jax.lax.div(x1, x2))
    if x1.dtype.itemsize < 4:  # a quotient rounded to 16 bits may reach the next whole number
        quotient = jnp.divide(x1.astype("float32"), x2.astype("float32"))
        return jnp.trunc(quotient).astype(x1.dtype)
    return jnp.trunc(jnp.divide(x1, x2))


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = pair(x1, x2)
    return jnp.isclose(x1, x2, rtol, atol, equal_nan)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    return _clip(x, _bound(min, x), _bound(max, x))


@_compiled
def _clip(x: Any, min: Any, max: Any) -> Any:
    # The gradient passes at the bounds themselves; jnp.clip halves it there. A bound of NaN gives
    # NaN.
    y = jnp.asarray(x)
    if y.dtype.kind == "c":
        raise unordered("clip")
    if y.dtype.kind == "b":
        raise DtypeError("clip() is for numbers, got an array of bool.")
    if min is not None:
        y = jnp.where((y < min) | (min != min), jnp.asarray(min, y.dtype), y)
    if max is not None:
        y = jnp.where((y > max) | (max != max), jnp.asarray(max, y.dtype), y)
    return y


def _bound(bound: Any, x: Any) -> Any:
    """A number must fit the type of x, an array of integers must have a type in common with it."""
    if hasattr(bound, "dtype"):
        if bound.dtype.kind in "iu" and x.dtype.kind in "iu":
            promote(bound.dtype, x.dtype)
        return bound
    return None if bound is None else fitted(bound, x.dtype.name)


@_compiled
def abs(x: Any, /) -> Any:
    return _abs(x)


@jax.custom_jvp
def _abs(x: Any) -> Any:
    return jnp.abs(x)


@_abs.defjvp
def _(primals: Any, tangents: Any) -> Any:
    """The gradient at 0 is 0; JAX's own is 1 there."""
    (x,), (t,) = primals, tangents
    if jnp.iscomplexobj(x):
        return jax.jvp(jnp.abs, (x,), (t,))
    return _abs(x), t * jnp.sign(x)


hand_on(globals())
