"""The library's promotion table on JAX's types: arrays meet in the type that the table names.

JAX's own rules differ in three ways: uint64 beside a signed integer becomes a float, integers in
functions that need floats become float64 as soon as 64-bit types are on, and an array made of a
Python number is weak.
"""

from typing import Any

import jax
import jax.numpy as jnp

from ..._core import dtypes
from ..._core.errors import ArgumentTypeError
from ..._core.guards import unordered
from ._types import Array
from .casting import as_dtype, default_of, lookup

_numbers = (bool, int, float, complex)
_promoted = {(lookup(a), lookup(b)): lookup(c) for (a, b), c in dtypes.PROMOTION.items()}


def promote(a: Any, b: Any) -> Any:
    """The native type that holds both."""
    if a == b:
        return a
    if (a, b) not in _promoted:
        raise dtypes.no_common_type(a.name, b.name)
    # uint32 beside a signed type is int64: it raises where 64-bit types are off.
    return as_dtype(_promoted[a, b])


def pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two arguments, one of which may be a Python number, in the type in which they meet."""
    if type(x2) in _numbers:
        return _beside(x1, x2)
    if type(x1) in _numbers:
        x2, x1 = _beside(x2, x1)
        return x1, x2
    refuse_others(x1, x2)
    if x1.dtype == x2.dtype:
        return x1, x2
    dtype = promote(x1.dtype, x2.dtype)
    return cast(x1, dtype), cast(x2, dtype)


def floating_pair(x1: Any, x2: Any) -> tuple[Any, Any]:
    """`pair` for formulas that need floats."""
    x1, x2 = pair(x1, x2)
    return (
        floating(x1) if hasattr(x1, "dtype") else x1,
        floating(x2) if hasattr(x2, "dtype") else x2,
    )


def are_complex(x1: Any, x2: Any) -> bool:
    """Of the two that `pair` gives. `jnp.result_type` takes as long as the operation itself."""
    kinds = [x.dtype.kind if hasattr(x, "dtype") else type(x) for x in (x1, x2)]
    return "c" in kinds or complex in kinds


def ordered_pair(function: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """`pair` for functions that need an order, which complex numbers do not have."""
    dtype = getattr(x1, "dtype", None)
    if dtype is not None and dtype.kind == "f" and dtype == getattr(x2, "dtype", None):
        return x1, x2
    x1, x2 = pair(x1, x2)
    if are_complex(x1, x2):
        raise unordered(function)
    return x1, x2


def common(xs: Any) -> list[Any]:
    """Several arrays, and Python numbers among them, in the type in which they all meet."""
    dtype = None
    for x in xs:
        if type(x) not in _numbers:
            refuse_others(x)
            dtype = x.dtype if dtype is None else promote(dtype, x.dtype)
    for x in xs:
        if type(x) in _numbers:
            dtype = default_of(type(x)) if dtype is None else beside_number(dtype, x)
    return [_of_number(x, dtype) if type(x) in _numbers else cast(x, dtype) for x in xs]


def _of_number(number: Any, dtype: Any) -> Any:
    return jnp.asarray(dtypes.fitted(number, dtype.name), dtype)


def beside_number(dtype: Any, number: Any) -> Any:
    """The type of an array of `dtype` beside a Python number."""
    if dtype.kind == "b" and type(number) is int:
        return default_of(int)
    return lookup(dtypes.with_scalar(dtype.name, number))


def _beside(x: Array, number: Any) -> tuple[Any, Any]:
    if x.dtype.kind in "iub" and type(number) in (float, complex):
        dtype = default_of(type(number))
        return cast(x, dtype), jnp.asarray(number, dtype)
    if type(number) is int and (x.dtype.kind in "iu" or not dtypes.is_64_bits(number)):
        return x, dtypes.fitted(number, beside_number(x.dtype, number).name)
    return x, number  # JAX's own rule for Python numbers is the table's


def cast(x: Array, dtype: Any) -> Any:
    return x if x.dtype == dtype else jax.lax.convert_element_type(x, dtype)


def floating(x: Array) -> Any:
    """Integers and bools in the default float, everything else as it is."""
    return cast(x, default_of(float)) if x.dtype.kind in "iub" else x


def refuse_others(*xs: Any) -> None:
    for x in xs:
        if not hasattr(x, "dtype"):
            raise ArgumentTypeError(
                f"Expected an array or a Python number, got {x!r} of type {type(x).__name__}. "
                "Write trellis.asarray(...) around lists and other objects first."
            )
