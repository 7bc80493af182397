"""Memory shared with NumPy and, through DLPack, with anything else."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.dtypes import name_of
from ..._core.errors import CopyError, DtypeError, PrecisionError, TracingError
from ._helpers import is_abstract
from ._types import Array
from .casting import bfloat16, names, narrow, needs_x64
from .device import as_device

# XLA on the CPU shares foreign memory only if it begins at such an address.
_ALIGNMENT = 64


def check_leaving(x: Array, /) -> None:
    """Raise if `x` has no value yet, or if converting it would lose a gradient."""
    if is_abstract(x):
        raise TracingError(
            "Inside jax.jit, vmap or scan an array has no values yet, so it cannot leave JAX. "
            "Return it from the compiled function and convert it there."
        )
    if isinstance(x, jax.core.Tracer):
        raise TracingError(
            "This array is being differentiated by JAX; converting it would cut the gradient. "
            "Convert it outside, or convert jax.lax.stop_gradient(x) where no gradient is wanted."
        )


def to_numpy(x: Array, /) -> np.ndarray[Any, Any]:
    """A NumPy array, read-only and without a copy on the CPU; bfloat16 is that of ml_dtypes."""
    check_leaving(x)
    # Reading the memory of an array whose computation failed would end the process; this raises.
    jax.block_until_ready(x)
    return np.asarray(x)


def from_numpy(x: np.ndarray[Any, Any], /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of JAX with the dtype of `x`; memory is shared only with `copy=False`.

    JAX arrays are immutable, so memory of a writable array is shared only on request.
    """
    return as_native(np.asarray(x), None, as_device(device), copy)


def as_native(x: np.ndarray[Any, Any], dtype: Any, device: Any, copy: bool | None) -> Any:
    if dtype is None:
        _check_precision(x.dtype)
    if copy is not False:
        # NumPy makes the copy, and device_put takes it: jnp.asarray would compile a program for
        # each shape.
        return jax.device_put(np.array(x, dtype=dtype), device)
    reason = _why_not_shared(x, dtype or x.dtype, device)
    if reason:
        raise CopyError(f"JAX cannot share this NumPy array: {reason}. Leave copy=False out.")
    # Unlike with DLPack, the array is not committed to a device, as with all other functions:
    # jax.jit would compile again for a committed one.
    return jax.device_put(x, device)


def _why_not_shared(x: np.ndarray[Any, Any], dtype: Any, device: Any) -> str:
    """Why XLA would copy; empty if it shares the memory."""
    if dtype != x.dtype:
        return f"it is {x.dtype}, not {dtype}"
    if device is not None and getattr(device, "platform", "") != "cpu":
        return f"it is not on {device}"
    if not x.flags.writeable:
        # DLPack cannot express this here, and a jax.jit that donates its input would write into it.
        return "it is read-only"
    if not x.flags.c_contiguous:
        return "it is not contiguous"
    if x.dtype == bfloat16:
        return "DLPack has no bfloat16 of NumPy"
    if x.size and x.ctypes.data % _ALIGNMENT:
        return f"its memory does not begin at a multiple of {_ALIGNMENT} bytes"
    return ""


def _check_precision(dtype: Any) -> None:
    if dtype not in names:
        raise DtypeError(f"JAX has no arrays of {dtype}. Convert with x.astype(...) first.")
    if dtype in needs_x64 and not jax.config.jax_enable_x64:
        raise PrecisionError(
            f"JAX would silently narrow {dtype} to 32 bits. Convert it first, x.astype("
            f'"{narrow(np.dtype(dtype))}"), or turn on 64-bit types: '
            'jax.config.update("jax_enable_x64", True), or JAX_ENABLE_X64=1 in the environment.'
        )


def from_dlpack(x: Array, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of any object with `__dlpack__`, shared where XLA can."""
    if isinstance(x, np.ndarray):
        if copy is None and not _why_not_shared(x, x.dtype, as_device(device)):
            copy = False
        return from_numpy(x, device=device, copy=copy)
    name = name_of(x.dtype) if hasattr(x, "dtype") else None
    if name in ("int64", "uint64", "float64", "complex128"):
        _check_precision(np.dtype(name))
    try:
        # JAX's own copy=True shares where it can.
        array = jnp.from_dlpack(x, device=as_device(device), copy=False if copy is False else None)
    except (BufferError, RuntimeError, ValueError) as error:
        if copy is False:
            raise CopyError(
                f"JAX cannot share this memory: {error} Leave copy=False out."
            ) from None
        raise
    if device is None and array.committed and array.device.platform == "cpu":
        # The same memory, or a copy of it, committed to no device; see as_native.
        return jax.device_put(np.array(array) if copy else np.asarray(array))
    return jnp.array(array, copy=True) if copy else array
