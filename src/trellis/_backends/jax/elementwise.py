"""Element-wise functions."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.dtypes import fitted
from ..._core.errors import DtypeError
from ..._core.guards import unordered
from ..._ops import record
from ..._ops.elementwise import OPS
from ..._ops.making import functions_in, made, plainly
from . import _complex, _portable
from ._promotion import (
    are_complex,
    floating,
    floating_pair,
    ordered_pair,
    pair,
    promote,
    refuse_others,
)
from ._types import Array

# Functions of more than one JAX call are compiled: their checks of dtypes then run only while
# tracing, and eager calls take JAX's fast path. Functions that read a default of Trellis are not:
# it would be frozen.
_compiled = functools.partial(jax.jit, inline=True)

# Promotion ----------------------------------------------------------------------------------------


def _of_floats(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs floats: integers are cast to the default float first. Some have corner
    cases of complex numbers that JAX gets wrong.
    """
    corners = getattr(_complex, name, None)
    kernel = fn if corners is None else _compiled(_mended(fn, corners))

    def call(x: Array, /) -> Any:
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
    """A function that compares sizes: complex numbers raise."""

    def call(x1: Any, x2: Any, /) -> Any:
        x1, x2 = ordered_pair(name, x1, x2)
        return fn(x1, x2)

    call.__name__ = call.__qualname__ = name
    return call


def _of_truths(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """An element is true or false whatever its type: no promotion is needed."""

    def call(x1: Any, x2: Any, /) -> Any:
        return fn(_truth(x1), _truth(x2))

    call.__name__ = call.__qualname__ = name
    return call


def _truth(x: Array) -> Any:
    if type(x) in (bool, int, float, complex):
        return bool(x)
    refuse_others(x)
    return x if x.dtype.kind == "b" else x != 0


_KERNELS = {name: _compiled(fn) for name, fn in functions_in(_portable).items()}
globals().update(
    made(
        OPS,
        "jax",
        {"jnp": jnp, "jax": jax},
        _KERNELS,
        {
            record.FLOATS: _of_floats,
            record.LIKE: plainly,
            record.QUESTION: plainly,
            record.PART: plainly,
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


def round(x: Array, /) -> Any:
    return jnp.round(x) if x.dtype.kind != "b" else x


def positive(x: Array, /) -> Any:
    if x.dtype.kind == "b":
        raise DtypeError("positive() is for numbers, got an array of bool.")
    return jnp.positive(x)


logical_not = jnp.logical_not


def nan_to_num(x: Array, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def atan2(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    if are_complex(x1, x2):
        raise DtypeError("atan2() is for real numbers, got an array of complex ones.")
    return jnp.atan2(x1, x2)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    x1, x2 = floating_pair(x1, x2)
    if are_complex(x1, x2):
        raise DtypeError("logaddexp() is for real numbers, got an array of complex ones.")
    return jnp.logaddexp(x1, x2)


def pow(x1: Any, x2: Any, /) -> Any:
    x1, x2 = pair(x1, x2)
    # JAX has a special derivative for a Python number, which a compiled function would not use.
    return jnp.pow(x1, x2) if isinstance(x2, (int, float)) else _KERNELS["pow"](x1, x2)


def isclose(
    x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x1, x2 = pair(x1, x2)
    return jnp.isclose(x1, x2, rtol, atol, equal_nan)


def clip(x: Array, /, min: Any = None, max: Any = None) -> Any:
    if x.dtype.kind == "c":
        raise unordered("clip")
    if x.dtype.kind == "b":
        raise DtypeError("clip() is for numbers, got an array of bool.")
    return _KERNELS["clip"](jnp.asarray(x), _bound(min, x), _bound(max, x))


def _bound(bound: Any, x: Array) -> Any:
    """A number must fit the type of x, an array of integers must have a type in common with it."""
    if hasattr(bound, "dtype"):
        if bound.dtype.kind in "iu" and x.dtype.kind in "iu":
            promote(bound.dtype, x.dtype)
        return bound
    return None if bound is None else fitted(bound, x.dtype.name)
