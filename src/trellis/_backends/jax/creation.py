"""New arrays."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.dtypes import fitted
from ..._core.errors import ArgumentTypeError, CopyError, PrecisionError
from ._helpers import is_array
from ._types import Array
from .casting import as_dtype, default_int, default_of
from .device import as_device
from .interchange import as_native
from .interchange import from_dlpack as from_dlpack

_numbers = (bool, int, float, complex)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    dtype, device = as_dtype(dtype), as_device(device)
    if is_array(obj):
        return _from_native(obj, dtype, device, copy)
    if isinstance(obj, (np.ndarray, np.generic)):
        return as_native(np.asarray(obj), dtype, device, copy)
    if not isinstance(obj, (*_numbers, list, tuple, range)):
        return _from_foreign(obj, dtype, device, copy)
    if copy is False:
        raise CopyError(
            f"A {type(obj).__name__} cannot become an array without a copy. Leave copy=False out."
        )
    leaves = obj if isinstance(obj, range) else jax.tree_util.tree_leaves(obj)
    if any([is_array(leaf) for leaf in leaves]):
        # Python numbers among arrays take the arrays' dtype; passing it prevents a weak result.
        array = jnp.asarray(obj, dtype=dtype, device=device)
        return array if dtype is not None else array.astype(array.dtype)
    kinds = {getattr(leaf, "dtype", type(leaf)) for leaf in leaves}
    if dtype is None and not kinds <= set(_numbers):
        if str in kinds or bytes in kinds:
            raise ArgumentTypeError("Text cannot become an array of JAX, only numbers can.")
        examples = [kind(0) if isinstance(kind, type) else kind for kind in kinds]
        return as_native(np.array(obj, np.result_type(*examples)), None, device, None)
    return _from_numbers(obj, kinds, dtype, device)


def _from_native(x: Array, dtype: Any, device: Any, copy: Any) -> Any:
    if copy is False and dtype is not None and x.dtype != dtype:
        raise CopyError(f"From {x.dtype} to {dtype} needs a copy. Remove copy=False.")
    if copy:
        return jnp.array(x, dtype=dtype, device=device, copy=True)
    return jnp.asarray(x, dtype=dtype, device=device)


def _from_foreign(obj: Any, dtype: Any, device: Any, copy: Any) -> Any:
    """Anything that exports its memory: array.array, memoryview, tensors of other frameworks."""
    if (
        hasattr(obj, "__array__")
        or hasattr(obj, "__array_interface__")
        or hasattr(obj, "__buffer__")
    ):
        return as_native(np.asarray(obj), dtype, device, copy)
    try:
        view = memoryview(obj)
    except TypeError:
        kind = f"{type(obj).__module__}.{type(obj).__qualname__}"
        raise ArgumentTypeError(
            f"asarray() expects numbers, nested lists of numbers or an array, got {kind}."
        ) from None
    return as_native(np.asarray(view), dtype, device, copy)


def _from_numbers(obj: Any, kinds: set[Any], dtype: Any, device: Any) -> Any:
    if dtype is None:
        widest = [kind for kind in (complex, float, int, bool) if kind in kinds]
        dtype = default_of(widest[0] if widest else float)
    try:
        return jax.device_put(np.array(obj, dtype), device)
    except OverflowError as error:
        if jax.config.jax_enable_x64:
            raise
        raise PrecisionError(
            f"{error}, the integer type of JAX without 64-bit types. Write floats, or turn 64-bit "
            "types on: "
            'jax.config.update("jax_enable_x64", True).'
        ) from None


def _dtype_of(fill_value: Any) -> Any:
    return fill_value.dtype if hasattr(fill_value, "dtype") else default_of(type(fill_value))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return jnp.zeros(shape, as_dtype(dtype) or default_of(float), device=as_device(device))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return jnp.ones(shape, as_dtype(dtype) or default_of(float), device=as_device(device))


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return jnp.empty(shape, as_dtype(dtype) or default_of(float), device=as_device(device))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    native = as_dtype(dtype) or _dtype_of(fill_value)
    if type(fill_value) is int:
        fill_value = fitted(fill_value, native.name)
    return jnp.full(shape, fill_value, native, device=as_device(device))


def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Any:
    return jnp.zeros_like(x, dtype=as_dtype(dtype), device=as_device(device))


def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Any:
    return jnp.ones_like(x, dtype=as_dtype(dtype), device=as_device(device))


def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Any:
    return jnp.empty_like(x, dtype=as_dtype(dtype), device=as_device(device))


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    native = as_dtype(dtype) or x.dtype
    if type(fill_value) is int:
        fill_value = fitted(fill_value, native.name)
    return jnp.full_like(x, fill_value, dtype=native, device=as_device(device))


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    if stop is None:
        start, stop = 0, start
    is_integer = not any([isinstance(value, float) for value in (start, stop, step)])
    dtype = as_dtype(dtype) or (default_int() if is_integer else default_of(float))
    if start == 0 and step == 1:  # one program where the general form compiles three
        return jnp.arange(stop, dtype=dtype, device=as_device(device))
    return jnp.arange(start, stop, step, dtype=dtype, device=as_device(device))


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    dtype = as_dtype(dtype) or default_of(complex if is_complex else float)
    return jnp.linspace(start, stop, num, endpoint, dtype=dtype, device=as_device(device))


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    dtype = as_dtype(dtype) or default_of(float)
    return jnp.eye(n_rows, n_cols, k, dtype=dtype, device=as_device(device))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    return tuple(jnp.meshgrid(*[jnp.ravel(x) for x in arrays], indexing=indexing))


def tril(x: Array, /, *, k: int = 0) -> Any:
    return jnp.tril(x, k)


def triu(x: Array, /, *, k: int = 0) -> Any:
    return jnp.triu(x, k)
