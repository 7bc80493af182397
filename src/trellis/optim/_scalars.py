"""Numbers that depend on the step: bias corrections and learning rates, in the precision of the leaves."""

import math
from collections.abc import Callable
from typing import Any

from .._core.dtypes import name_of
from ._pairs import Leaves, Now

_HALF = ("float16", "bfloat16")


def per_dtype(now: Now, leaves: Leaves, fn: Callable[[Any], Any]) -> Any:
    """`fn(step)`, with the step a float array of the leaves' dtype, as an operand beside the leaves.

    Where the leaves have several dtypes it is the list of the values that fit each. For half-precision
    leaves the number is computed in float32, where every step up to 2**24 has its own value.
    """
    first = leaves[0].dtype
    if all([x.dtype == first for x in leaves]):
        return _value(now, first, fn)
    return [_value(now, x.dtype, fn) for x in leaves]


def _value(now: Now, dtype: Any, fn: Callable[[Any], Any]) -> Any:
    is_half = name_of(dtype) in _HALF
    value = fn(now.xp.astype(now.step, "float32" if is_half else dtype))
    is_other = hasattr(value, "dtype") and value.dtype != dtype
    return now.xp.astype(value, dtype) if is_other else value


def one_minus_power(xp: Any, beta: float, t: Any) -> Any:
    """1 - beta**t. In float32, 1 - 0.999**1 loses five digits; expm1 loses none."""
    if beta == 0:
        return xp.ones_like(t)
    return -xp.expm1(t * math.log(beta))


def norms(xp: Any, xs: Leaves) -> Leaves:
    """The 2-norm of every leaf; those of half-precision leaves are float32, where squares do not overflow."""
    wide = [xp.astype(x, "float32") if name_of(x.dtype) in _HALF else x for x in xs]
    result: Leaves = xp.foreach_norm(wide)
    return result


def like(xp: Any, value: Any, x: Any) -> Any:
    """`value` in the dtype of `x`."""
    return value if value.dtype == x.dtype else xp.astype(value, x.dtype)


def scalar(xp: Any, x: Any, value: float) -> Any:
    """A number as an array beside `x`: its device, its dtype (float32 for half precision), no axes."""
    dtype = "float32" if name_of(x.dtype) in _HALF else x.dtype
    return xp.sum(xp.zeros_like(x, dtype=dtype)) + value
