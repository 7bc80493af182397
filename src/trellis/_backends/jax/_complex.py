"""Complex functions at infinities and NaNs, as in C99 and the Array API standard; XLA returns NaN.
Each function takes a complex array and the value JAX computed for it, and corrects the corner
cases.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from ._types import Array


def _mend(value: Any, where: Any, real: Any, imag: Any) -> Any:
    part = value.real.dtype
    corner = lax.complex(*jnp.broadcast_arrays(jnp.asarray(real, part), jnp.asarray(imag, part)))
    return jnp.where(where, corner, value)


def exp(z: Array, value: Any) -> Any:
    odd = ~jnp.isfinite(z.imag)
    value = _mend(value, jnp.isneginf(z.real) & odd, 0.0, 0.0)
    return _mend(value, jnp.isposinf(z.real) & odd, jnp.inf, jnp.nan)


def expm1(z: Array, value: Any) -> Any:
    odd = ~jnp.isfinite(z.imag)
    value = _mend(value, jnp.isneginf(z.real) & odd, -1.0, 0.0)
    return _mend(value, jnp.isposinf(z.real) & odd, jnp.inf, jnp.nan)


def log(z: Array, value: Any) -> Any:
    """Also log1p."""
    odd = jnp.isinf(z.real) & jnp.isnan(z.imag) | jnp.isnan(z.real) & jnp.isinf(z.imag)
    return _mend(value, odd, jnp.inf, jnp.nan)


def sqrt(z: Array, value: Any) -> Any:
    value = _mend(value, jnp.isneginf(z.real) & jnp.isnan(z.imag), jnp.nan, jnp.inf)
    return _mend(value, jnp.isposinf(z.real) & jnp.isnan(z.imag), jnp.inf, jnp.nan)


def sinh(z: Array, value: Any) -> Any:
    odd = ~jnp.isfinite(z.imag)
    value = _mend(value, (z.real == 0) & odd, z.real, jnp.nan)
    return _mend(value, jnp.isinf(z.real) & odd, z.real, jnp.nan)


def cosh(z: Array, value: Any) -> Any:
    odd = ~jnp.isfinite(z.imag)
    value = _mend(value, (z.real == 0) & odd, jnp.nan, 0.0)
    return _mend(value, jnp.isinf(z.real) & odd, jnp.inf, jnp.nan)


def tanh(z: Array, value: Any) -> Any:
    value = _mend(value, (z.real == 0) & ~jnp.isfinite(z.imag), z.real, jnp.nan)
    zero = jnp.copysign(jnp.zeros_like(z.imag), z.imag)
    return _mend(value, jnp.isinf(z.real), jnp.sign(z.real), zero)


def acos(z: Array, value: Any) -> Any:
    real = jnp.where(z.real == 0, jnp.pi / 2, jnp.nan).astype(z.real.dtype)
    return _mend(value, jnp.isfinite(z.real) & jnp.isnan(z.imag), real, jnp.nan)


def acosh(z: Array, value: Any) -> Any:
    imag = jnp.where(z.real == 0, jnp.pi / 2, jnp.nan).astype(z.real.dtype)
    return _mend(value, jnp.isfinite(z.real) & jnp.isnan(z.imag), jnp.nan, imag)


def asinh(z: Array, value: Any) -> Any:
    is_odd = jnp.isnan(z.real) & jnp.isfinite(z.imag)  # JAX: a logarithm, if imag is large
    return _mend(value, is_odd, jnp.nan, jnp.where(z.imag == 0, z.imag, jnp.nan))


def atanh(z: Array, value: Any) -> Any:
    is_odd = jnp.isnan(z.imag) | jnp.isnan(z.real) & jnp.isfinite(z.imag)
    vanishes = jnp.isnan(z.imag) & ((z.real == 0) | jnp.isinf(z.real))
    real = jnp.where(vanishes, jnp.copysign(jnp.zeros_like(z.real), z.real), jnp.nan)
    return _mend(value, is_odd, real, jnp.nan)


log1p = log
