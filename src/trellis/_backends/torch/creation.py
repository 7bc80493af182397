"""Creation: from shapes, ranges, lists, NumPy arrays and other libraries' arrays."""

from typing import Any

import numpy as np
import torch

from ..._core.errors import ArgumentError, ArgumentTypeError, CopyError
from ._helpers import FEW_KERNELS, INTEGER, as_device, default_complex, default_float, filled
from ._types import Tensor
from .casting import as_dtype
from .interchange import from_numpy


def _inferred(value: Any) -> Any:
    """The dtype of a Python number."""
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, int):
        return torch.int64
    return default_float() if isinstance(value, float) else default_complex()


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    if stop is None:
        start, stop = 0, start
    native = as_dtype(dtype)
    if native is None:
        all_ints = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
        native = torch.int64 if all_ints else default_float()
    if (stop - start) * step <= 0:  # PyTorch raises for ranges in the wrong direction
        return torch.empty((0,), dtype=native, device=as_device(device))
    if native in FEW_KERNELS:
        return torch.arange(start, stop, step, dtype=torch.int64, device=as_device(device)).to(
            native
        )
    return torch.arange(start, stop, step, dtype=native, device=as_device(device))


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """A tensor from a tensor, number, nested list, NumPy array, buffer or DLPack object.

    Memory is shared where that is possible, unless `copy=True`; `copy=False` raises where it is
    not. Lists that contain tensors are stacked, so gradients flow through them.
    """
    native = as_dtype(dtype)
    if isinstance(obj, torch.Tensor):
        return _from_tensor(obj, native, device, copy)
    if isinstance(obj, (np.ndarray, np.generic)):
        return _from_tensor(from_numpy(obj, copy=copy), native, device, None if copy else copy)
    if isinstance(obj, (bool, int, float, complex)):
        _refuse_no_copy(copy, obj)
        return filled(obj, _inferred(obj) if native is None else native, as_device(device))
    if isinstance(obj, (list, tuple)):
        _refuse_no_copy(copy, obj)
        return _from_list(obj, native, device)
    if hasattr(obj, "__dlpack__"):
        return _from_tensor(torch.from_dlpack(obj), native, device, copy)
    try:
        view = memoryview(obj)
    except TypeError:
        raise ArgumentTypeError(
            "asarray() expects an array, a number or nested lists of numbers, got "
            f"{type(obj).__name__}."
        ) from None
    return asarray(np.asarray(view), dtype=native, device=as_device(device), copy=copy)


def _from_tensor(x: Tensor, dtype: Any, device: Any, copy: Any) -> Any:
    if copy:
        return x.to(device=as_device(device), dtype=dtype, copy=True)
    moved = x.to(device=as_device(device), dtype=dtype)
    if copy is False and moved is not x:
        raise CopyError(
            f"copy=False, but {x.dtype} on {x.device} can become {moved.dtype} on {moved.device} "
            "only by copying. Write copy=None."
        )
    return moved


def _refuse_no_copy(copy: Any, obj: Any) -> None:
    if copy is False:
        raise CopyError(
            f"copy=False, but a {type(obj).__name__} has no memory to share. Write copy=None."
        )


def _from_list(items: Any, dtype: Any, device: Any) -> Any:
    leaves = _leaves(items)
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            return _stacked(items, dtype, device)
    for leaf in leaves:
        if isinstance(leaf, (np.ndarray, np.generic)):
            return _from_tensor(from_numpy(np.asarray(items)), dtype, device, None)
    if dtype is None:
        kinds = [type(leaf) for leaf in leaves]
        if complex in kinds:
            dtype = default_complex()
        elif float in kinds or not kinds:
            dtype = default_float()
    if dtype in FEW_KERNELS:
        return torch.tensor(_wrapped(items), dtype=torch.int64, device=as_device(device)).to(dtype)
    return torch.tensor(items, dtype=dtype, device=as_device(device))


def _leaves(items: Any) -> list[Any]:
    leaves = []
    for item in items:
        if isinstance(item, (list, tuple)):
            leaves += _leaves(item)
        else:
            leaves.append(item)
    return leaves


def _wrapped(items: Any) -> Any:
    """Integers of uint64 as the int64 of the same bits."""
    if isinstance(items, (list, tuple)):
        return [_wrapped(item) for item in items]
    return items - 2**64 if items >= 2**63 else int(items)


def _stacked(items: Any, dtype: Any, device: Any) -> Any:
    from .manipulation import stack

    return stack([asarray(item, dtype=dtype, device=as_device(device)) for item in items])


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.empty(shape, dtype=as_dtype(dtype) or default_float(), device=as_device(device))


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.empty_like(x, dtype=as_dtype(dtype), device=as_device(device))


def eye(
    n_rows: int, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Any:
    columns = n_rows if n_cols is None else n_cols
    native = as_dtype(dtype) or default_float()
    if k == 0 and native not in FEW_KERNELS:
        return torch.eye(n_rows, columns, dtype=native, device=as_device(device))
    row = torch.arange(n_rows, device=as_device(device))
    column = torch.arange(columns, device=as_device(device))
    # Beyond the corners nothing changes, and int64 would overflow.
    offset = max(-n_rows, min(k, columns))
    return (column == row[:, None] + offset).to(native)


def from_dlpack(x: Tensor, /, *, device: Any = None, copy: Any = None) -> Any:
    if isinstance(x, np.ndarray):
        # torch.from_dlpack aborts the process at a negative stride, and treats read-only memory as
        # writable.
        return from_numpy(x, device=as_device(device), copy=copy)
    try:
        # Not every exporter can copy, so that is done here.
        tensor = torch.from_dlpack(
            x, device=as_device(device), copy=False if copy is False else None
        )
    except (BufferError, RuntimeError, ValueError) as error:
        if copy is False:
            raise CopyError(
                f"PyTorch cannot share this memory: {error} Leave copy=False out."
            ) from error
        raise
    return tensor.clone() if copy else tensor


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    native = as_dtype(dtype)
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(fill_value, torch.Tensor):
        return fill_value.to(device=as_device(device), dtype=native).broadcast_to(size).clone()
    return filled(
        fill_value, _inferred(fill_value) if native is None else native, as_device(device), size
    )


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    native = as_dtype(dtype) or x.dtype
    if isinstance(fill_value, (torch.Tensor, int)) or native in INTEGER:
        return full(x.shape, fill_value, dtype=native, device=device or x.device)
    return torch.full_like(x, fill_value, dtype=native, device=as_device(device))


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
    native = as_dtype(dtype)
    if native is None:
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        native = default_complex() if is_complex else default_float()
    if native in FEW_KERNELS:
        points = linspace(
            start, stop, num, dtype=torch.float64, device=as_device(device), endpoint=endpoint
        )
        return points.to(torch.int64).to(native)
    if not endpoint:
        return torch.linspace(start, stop, num + 1, dtype=native, device=as_device(device))[:-1]
    return torch.linspace(start, stop, num, dtype=native, device=as_device(device))


def meshgrid(*arrays: Any, indexing: str = "xy") -> Any:
    if not arrays:
        return ()
    count = len(arrays)  # torch.meshgrid needs one type for all; here each keeps its own
    rows = [x.reshape((1,) * i + (-1,) + (1,) * (count - 1 - i)) for i, x in enumerate(arrays)]
    grids = torch.broadcast_tensors(*rows)
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid() knows the indexing 'xy' and 'ij', got {indexing!r}.")
    return tuple([g.transpose(0, 1) if indexing == "xy" and count > 1 else g for g in grids])


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.ones(shape, dtype=as_dtype(dtype) or default_float(), device=as_device(device))


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.ones_like(x, dtype=as_dtype(dtype), device=as_device(device))


def tril(x: Tensor, /, *, k: int = 0) -> Any:
    if x.dtype in FEW_KERNELS:
        return torch.tril(x.to(torch.int64), k).to(x.dtype)
    return torch.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Any:
    if x.dtype in FEW_KERNELS:
        return torch.triu(x.to(torch.int64), k).to(x.dtype)
    return torch.triu(x, k)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.zeros(shape, dtype=as_dtype(dtype) or default_float(), device=as_device(device))


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.zeros_like(x, dtype=as_dtype(dtype), device=as_device(device))
