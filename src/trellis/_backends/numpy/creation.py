"""New arrays on NumPy. The default float is the library's, not NumPy's float64."""

from typing import Any

import numpy as np

from ..._core.dtypes import default_complex, default_dtype, fitted
from ..._core.errors import ArgumentTypeError, CopyError
from ._helpers import default_complex as native_complex
from ._helpers import default_float, name_of
from ._tape import TracedArray
from .casting import as_dtype, check_device


def _float(dtype: Any) -> Any:
    return default_float() if dtype is None else as_dtype(dtype)


def _of_value(value: Any, dtype: Any) -> Any:
    """The dtype for a Python number when none is named."""
    if dtype is not None:
        return as_dtype(dtype)
    if hasattr(value, "dtype"):
        return value.dtype
    if isinstance(value, complex):
        return native_complex()
    return default_float() if isinstance(value, float) else np.asarray(value).dtype


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    check_device(device)
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None and any([isinstance(v, float) for v in (start, stop, step)]):
        dtype = default_dtype()
    if (stop - start) / step <= 0:  # NumPy counts far ends too, and raises
        stop = start
    return np.arange(start, stop, step, dtype=as_dtype(dtype))


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    check_device(device)
    dtype = as_dtype(dtype)
    if dtype is None and not hasattr(obj, "dtype"):
        dtype = _of_python(obj)
    try:
        if type(obj) is np.ndarray or isinstance(obj, np.ndarray):
            return np.array(obj, dtype=dtype, copy=copy, subok=False)
        from ._tape import TracedArray, array_from

        if isinstance(obj, TracedArray):
            obj = np.copy(obj) if copy else obj
            return obj if dtype is None or obj.dtype == dtype else obj.astype(dtype)
        try:
            found = np.array(obj, dtype=dtype, copy=copy)
            if found.dtype.kind in "OUSMm":
                raise ArgumentTypeError(f"An array is made of numbers, got {obj!r}.")
            return found
        except NotImplementedError:
            return array_from(obj, dtype)
    except ValueError as error:
        if copy is False:
            raise CopyError(
                f"asarray(copy=False) cannot use the memory of {type(obj).__name__} as it is; "
                "leave copy out to allow a copy."
            ) from error
        raise


def _of_python(obj: Any) -> Any:
    """The dtype for numbers in nested lists: Python floats mean the library's default float."""
    leaf = obj
    while isinstance(leaf, (list, tuple)) and len(leaf) > 0:
        leaf = leaf[0]
    if hasattr(leaf, "dtype"):
        return None
    if isinstance(leaf, (list, tuple)):
        return default_float()
    try:
        kind = np.asarray(obj).dtype
    except NotImplementedError:  # a traced array inside the list
        return None
    if kind == np.float64:
        return default_float()
    return native_complex() if kind == np.complex128 else None


def _given(shape: Any) -> Any:
    if shape is None:  # NumPy before 2.4 takes it for ()
        raise TypeError("a shape is needed")
    return shape


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.empty(_given(shape), dtype=_float(dtype))


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.empty(x.shape, dtype=as_dtype(dtype) or x.dtype)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    check_device(device)
    return np.eye(n_rows, n_cols, k=k, dtype=_float(dtype))


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    try:
        # Not every exporter can copy, so that is done here.
        array = np.from_dlpack(x, device=device, copy=False if copy is False else None)
    except (BufferError, RuntimeError, ValueError) as error:
        if copy is False:
            raise CopyError(
                f"NumPy cannot share this memory: {error} Leave copy=False out."
            ) from error
        raise
    return np.array(array) if copy else array


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return _filled(shape, fill_value, _of_value(fill_value, dtype))


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return _filled(x.shape, fill_value, as_dtype(dtype) or x.dtype)


def _filled(shape: Any, value: Any, dtype: Any) -> Any:
    if type(value) is int:
        value = fitted(value, name_of(dtype))
    if isinstance(value, TracedArray):  # np.full writes, which has no derivative
        return np.astype(np.broadcast_to(value, _given(shape)), dtype)
    return np.full(_given(shape), value, dtype=dtype)


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
    check_device(device)
    if dtype is None:
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        dtype = default_complex() if is_complex else default_dtype()
    return np.linspace(start, stop, num, endpoint=endpoint, dtype=as_dtype(dtype))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    return tuple(np.meshgrid(*arrays, indexing=indexing))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.ones(_given(shape), dtype=_float(dtype))


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.ones(x.shape, dtype=as_dtype(dtype) or x.dtype)


def tril(x: Any, /, *, k: int = 0) -> Any:
    return np.tril(x, k=k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    return np.triu(x, k=k)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.zeros(_given(shape), dtype=_float(dtype))


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    check_device(device)
    return np.zeros(x.shape, dtype=as_dtype(dtype) or x.dtype)
