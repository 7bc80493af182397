"""New arrays: from numbers and lists through NumPy, and in the form of another array."""

from typing import Any

import numpy as np

from ...._core.dispatch import load, loaded
from ...._core.errors import ArgumentError, CopyError
from ...._core.typing import Device, DTypeLike, Scalar, Shape
from ...array_api import Native
from ..promotion import held
from . import xp


def asarray(
    obj: Any,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> Native:
    if isinstance(obj, xp.ARRAY_TYPES):
        return _of_array(obj, dtype, device, copy)
    if isinstance(obj, (list, tuple)) and _holds_array(obj):
        parts = [asarray(item, dtype=dtype, device=device) for item in obj]
        return xp.stack(parts)
    name = None if dtype is None else xp.dtype_name(dtype)
    if copy is False and not isinstance(obj, np.ndarray):
        raise CopyError(
            f"copy=False, but a {type(obj).__name__} has no memory to share. Write copy=None."
        )
    found = _numpy().asarray(obj, dtype=name, copy=copy)
    found = found if hasattr(obj, "dtype") else held(xp, found)
    return xp.from_numpy(found, device=device, copy=None if copy else copy)


def _numpy() -> Any:
    """NumPy's backend itself: while a recording runs, `load` gives one that leads back here."""
    load("numpy")
    return loaded["numpy"]


def _of_array(x: Native, dtype: DTypeLike | None, device: Device | None, copy: Any) -> Native:
    name = xp.dtype_name(x.dtype if dtype is None else dtype)
    is_same = name == xp.dtype_name(x.dtype)
    if copy is False and not is_same:
        raise CopyError(f"From {xp.dtype_name(x.dtype)} to {name} needs a copy. Write copy=None.")
    y = x if is_same and not copy else xp.astype(x, name, copy=bool(copy))
    return y if device is None else xp.to_device(y, device)


def _holds_array(items: Any) -> bool:
    for item in items:
        if isinstance(item, (list, tuple)):
            if _holds_array(item):
                return True
        elif isinstance(item, xp.ARRAY_TYPES):
            return True
    return False


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Native:
    if isinstance(x, xp.ARRAY_TYPES):
        return xp.asarray(x, device=device, copy=copy)
    return xp.from_numpy(_numpy().from_dlpack(x), device=device, copy=copy)


def full(
    shape: Shape,
    fill_value: Scalar | Native,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> Native:
    if hasattr(fill_value, "dtype"):
        value = xp.asarray(fill_value, dtype=dtype, device=device)
    else:
        kind = None if dtype is None else xp.dtype_name(dtype)
        number = _numpy().full((), fill_value, dtype=kind)
        value = xp.from_numpy(held(xp, np.asarray(number)), device=device)
    return xp.broadcast_to(value, (shape,) if isinstance(shape, int) else tuple(shape))


def full_like(
    x: Native,
    /,
    fill_value: Scalar | Native,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
) -> Native:
    place = xp.device(x) if device is None else device
    return xp.full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=place)


def empty_like(
    x: Native, /, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Native:
    return xp.full_like(x, 0, dtype=dtype, device=device)


def ones_like(
    x: Native, /, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Native:
    return xp.full_like(x, 1, dtype=dtype, device=device)


def zeros_like(
    x: Native, /, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Native:
    return xp.full_like(x, 0, dtype=dtype, device=device)


def meshgrid(*arrays: Native, indexing: Any = "xy") -> tuple[Native, ...]:
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid() knows the indexing 'xy' and 'ij', got {indexing!r}.")
    count = len(arrays)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[0], places[1] = 1, 0
    rows = [
        xp.reshape(x, tuple([-1 if i == place else 1 for i in range(count)]))
        for x, place in zip(arrays, places, strict=True)
    ]
    return xp.broadcast_arrays(*rows)


def tril(x: Native, /, *, k: int = 0) -> Native:
    return xp.where(_diagonals(x) <= k, x, xp.zeros_like(x))


def triu(x: Native, /, *, k: int = 0) -> Native:
    return xp.where(_diagonals(x) >= k, x, xp.zeros_like(x))


def _diagonals(x: Native) -> Native:
    """The number of the diagonal that each entry is on: column minus row."""
    rows, columns = x.shape[-2:]
    row = xp.arange(rows, device=xp.device(x))
    return xp.arange(columns, device=xp.device(x)) - xp.reshape(row, (rows, 1))
