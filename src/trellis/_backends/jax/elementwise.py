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
from ..._ops.making import functions_in, made, plainly
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
    # JAX has a derivative of its own for a number, which a compiled function would not see.
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
