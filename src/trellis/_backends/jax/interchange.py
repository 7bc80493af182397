"""Memory shared with NumPy and, through DLPack, with anything else."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import CopyError, DtypeError, PrecisionError, TracingError
from ._helpers import is_abstract
from .datatypes import _names, _needs_x64
from .device import _as_device

__all__ = ["from_numpy", "to_numpy"]

# XLA on the CPU adopts foreign memory only where it begins at such an address.
_ALIGNMENT = 64


def to_numpy(x: Any, /) -> np.ndarray[Any, Any]:
    """A NumPy array, read-only where it shares the memory of `x`; bfloat16 is that of ml_dtypes."""
    if isinstance(x, jax.core.Tracer):
        raise TracingError(_traced("to_numpy", is_abstract(x)))
    return np.asarray(x)


def _traced(function: str, is_compiled: bool) -> str:
    if is_compiled:
        return (
            f"{function}() needs values, and inside jax.jit, vmap or scan there are none yet. "
            "Return the array from the compiled function and convert it there."
        )
    return (
        f"{function}() would cut the gradient: the array belongs to a jax.grad that is running. "
        f"Convert outside, or write {function}(jax.lax.stop_gradient(x)) if no gradient is wanted."
    )


def from_numpy(x: np.ndarray[Any, Any], /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of JAX with the dtype of `x`; the memory is shared only with `copy=False`.

    JAX takes its arrays for immutable, so sharing with a NumPy array that can be written has to be asked for.
    """
    return _from_numpy(x, None, _as_device(device), copy)


def _from_numpy(x: np.ndarray[Any, Any], dtype: Any, device: Any, copy: bool | None) -> Any:
    if dtype is None:
        _check_precision(x.dtype)
    if copy is not False:
        return jnp.array(x, dtype=dtype, device=device, copy=True)
    if dtype is not None and dtype != x.dtype:
        raise CopyError(f"From {x.dtype} to {dtype} needs a copy. Leave copy=False out.")
    reason = _why_not_shared(x, device)
    if reason:
        raise CopyError(f"JAX cannot share this NumPy array: {reason}. Leave copy=False out.")
    return jnp.asarray(x, device=device, copy=False)


def _why_not_shared(x: np.ndarray[Any, Any], device: Any) -> str:
    """Why XLA would copy; empty where it adopts the memory."""
    if (device or jax.local_devices()[0]).platform != "cpu":
        return "it is not on the same device"
    if not x.flags.c_contiguous:
        return "it is not contiguous"
    if x.ctypes.data % _ALIGNMENT:
        return f"its memory does not begin at a multiple of {_ALIGNMENT} bytes"
    return ""


def _check_precision(dtype: Any) -> None:
    if dtype not in _names:
        raise DtypeError(f"JAX has no arrays of {dtype}. Convert with x.astype(...) first.")
    if dtype in _needs_x64 and not jax.config.jax_enable_x64:
        raise PrecisionError(
            f"JAX would silently narrow {dtype} to 32 bits. Say so with dtype=, for example dtype=\"float32\", or turn "
            'on 64-bit types: jax.config.update("jax_enable_x64", True), or JAX_ENABLE_X64=1 in the environment.'
        )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of any object with `__dlpack__`, shared where XLA can adopt it."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None and str(dtype).rpartition(".")[2] in ("int64", "uint64", "float64", "complex128"):
        _check_precision(np.dtype(str(dtype).rpartition(".")[2]))
    try:
        return jnp.from_dlpack(x, device=_as_device(device), copy=copy)
    except (ValueError, BufferError) as error:
        if copy is False:
            raise CopyError(f"JAX cannot share this memory: {error} Leave copy=False out.") from None
        raise
