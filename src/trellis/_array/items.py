"""`x[key]` and `x[key] = value` as the standard and NumPy have them, over native arrays of any
backend: integers, slices, `...`, None, masks and integer arrays, differentiable on all of them.
"""

import math
import operator
from typing import Any

import numpy as np

from .._core.arrays import is_array
from .._core.dtypes import PROMOTION
from .._core.errors import DtypeError
from .._core.typing import Backend


def get_item(xp: Backend, x: Any, key: Any) -> Any:
    """The native array `x[key]`."""
    items = _for_every_axis(xp, x, key if isinstance(key, tuple) else (key,))
    # Beside an index array, an integer is one too: as in NumPy, both broadcast.
    is_advanced = any([_is_array(item) for item in items])
    basic: list[Any] = []
    arrays: list[Any] = []
    places: list[int] = []
    axis = 0  # of x; `len(basic)` is that of the sliced array while integers are arrays
    for item in items:
        if item is None or isinstance(item, slice):
            basic.append(item)
            axis += item is not None
        elif not is_advanced:
            basic.append(_within(item, x.shape[axis]))
            axis += 1
        else:
            found = _index_arrays(xp, x, item, axis)
            for index in found:
                places.append(len(basic))
                arrays.append(index)
                basic.append(slice(None))
            if _is_array(item) and len(item.shape) == 0 and xp.isdtype(item.dtype, "bool"):
                basic[-1] = None  # a mask without axes selects from a new one
            else:
                axis += len(found)
    x = _sliced(xp, x, basic)
    return _gathered(xp, x, arrays, places) if arrays else x


def is_basic(key: Any) -> bool:
    """Whether the key takes a rectangular part of an array: by integers, slices, `...` and None."""
    for item in key if isinstance(key, tuple) else (key,):
        is_one = isinstance(item, slice) or item is None or item is Ellipsis or type(item) is int
        if not is_one:
            return False
    return True


def set_item(xp: Backend, x: Any, key: Any, value: Any) -> Any:
    """`x` with `value` at `x[key]`. The type of `x` stays: a value that it cannot hold raises."""
    if is_array(value):
        check_holds(xp, x, value)
    if len(x.shape) > 0:
        return xp.index_set(x, key, value)
    # Backends write along axes: one is added, in front of those that the key adds.
    parts = key if isinstance(key, tuple) else (key,)
    changed = xp.index_set(xp.reshape(x, (1,)), (slice(None), *parts), value)
    return xp.reshape(changed, ())


def _is_array(item: Any) -> bool:
    # torch.compile cannot ask a slice for attributes.
    return not isinstance(item, (slice, int, type(None), type(Ellipsis))) and is_array(item)


_KINDS = ("bool", "integral", "real floating", "complex floating")
_BOTH_INTEGERS = [1, 1]


def check_holds(xp: Backend, x: Any, value: Any) -> None:
    """Raise if the values of an array would lose their fractions or imaginary parts in `x`, or be
    integers out of its range. Floats are rounded."""
    if value.dtype == x.dtype:
        return
    kinds = [[xp.isdtype(y.dtype, kind) for kind in _KINDS].index(True) for y in (x, value)]
    names = [xp.dtype_name(y.dtype) for y in (value, x)]
    is_wider = kinds == _BOTH_INTEGERS and PROMOTION.get((names[1], names[0])) != names[1]
    if kinds[1] > kinds[0] or is_wider:
        raise DtypeError(
            f"An array of {names[1]} cannot take values of {names[0]}. Write "
            "xp.astype(value, x.dtype) if that is meant."
        )


def _for_every_axis(xp: Backend, x: Any, items: tuple[Any, ...]) -> list[Any]:
    """The items without `...`, those of x's last axes included; integers, arrays, slices, None."""
    found: list[Any] = []
    taken = 0
    for item in items:
        if item is not None and item is not Ellipsis and not isinstance(item, slice):
            item = _integer_or_array(xp, x, item)
            is_mask = _is_array(item) and xp.isdtype(item.dtype, "bool")
            taken += len(item.shape) if is_mask else 1
        elif isinstance(item, slice):
            taken += 1
        found.append(item)
    ndim = len(x.shape)
    if taken > ndim:
        raise IndexError(f"{taken} indices are too many for an array with {ndim} axes.")
    dots = [i for i, item in enumerate(found) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("An index can hold only one Ellipsis.")
    place = dots[0] if dots else len(found)
    return [*found[:place], *[slice(None)] * (ndim - taken), *found[place + 1 :]]


def _integer_or_array(xp: Backend, x: Any, item: Any) -> Any:
    if isinstance(item, (bool, list, tuple, np.ndarray)) and not isinstance(item, xp.ARRAY_TYPES):
        item = xp.asarray(item, device=xp.device(x))
        if 0 in item.shape:
            item = xp.astype(item, xp.arange(1).dtype)
    if not _is_array(item) or isinstance(item, np.integer):
        return operator.index(item)
    if not xp.isdtype(item.dtype, ("bool", "integral")):
        raise IndexError(
            f"Arrays are indexed by integers and bools, got {xp.dtype_name(item.dtype)}."
        )
    return item


def _within(index: int, size: int | None) -> int:
    if size is not None and not -size <= index < size:
        raise IndexError(f"Index {index} is out of range for an axis of {size} elements.")
    return index


def _index_arrays(xp: Backend, x: Any, item: Any, axis: int) -> list[Any]:
    """One array of positions from 0 on for each axis that an integer, an array or a mask takes."""
    if not _is_array(item):
        item = xp.asarray(_within(item, x.shape[axis]), device=xp.device(x))
    elif xp.isdtype(item.dtype, "bool"):
        shape, expected = tuple(item.shape), tuple(x.shape)[axis : axis + len(item.shape)]
        for size, wanted in zip(shape, expected, strict=True):
            if size not in (wanted, 0, None) and wanted is not None:  # an empty one selects nothing
                raise IndexError(f"A mask of shape {shape} does not fit the axes {expected}.")
        return list(xp.nonzero(item if shape else xp.reshape(item, (1,))))
    size = x.shape[axis]
    index = xp.astype(item, xp.arange(1).dtype, copy=False)
    if size is None:
        return [index]
    if 0 not in index.shape and xp.is_concrete(index):
        _within(int(xp.min(index)), size)
        _within(int(xp.max(index)), size)
    return [xp.where(xp.less(index, 0), xp.add(index, size), index)]


def _sliced(xp: Backend, x: Any, items: list[Any]) -> Any:
    """Integers, slices and None. A slice with a negative step, which not every framework has, goes
    forwards and is reversed."""
    parts: list[Any] = []
    reversed_axes: list[int] = []
    axis = kept = 0
    for item in items:
        if isinstance(item, slice):
            size = x.shape[axis]
            if item.step is not None and operator.index(item.step) < 0:
                start, stop, step = item.indices(size)
                count = len(range(start, stop, step))
                first = start + (count - 1) * step
                item = slice(first, start + 1, -step) if count else slice(0, 0)
                reversed_axes.append(kept)
            axis += 1
            kept += 1
        elif item is None:
            kept += 1
        else:
            axis += 1
        parts.append(item)
    if all([isinstance(part, slice) and part == slice(None) for part in parts]):
        return x
    x = x[tuple(parts)] if len(parts) <= _MOST_AXES else _sliced_in_turn(xp, x, parts)
    return xp.flip(x, axis=tuple(reversed_axes)) if reversed_axes else x


_MOST_AXES = 8  # TensorFlow slices no more at once


def _sliced_in_turn(xp: Backend, x: Any, parts: list[Any]) -> Any:
    """One axis after the other, each between all before and all after it."""
    done: list[int] = []
    rest = list(x.shape)
    for part in parts:
        if part is None:
            done.append(1)
            continue
        x = xp.reshape(x, (math.prod(done), rest[0], math.prod(rest[1:])))[:, part, :]
        done += [x.shape[1]] if isinstance(part, slice) else []
        rest = rest[1:]
    return xp.reshape(x, tuple(done))


def _gathered(xp: Backend, x: Any, arrays: list[Any], places: list[int]) -> Any:
    """The elements at positions along several axes: those axes become one, from which is taken."""
    if len(arrays) == 1:
        return xp.take(x, arrays[0], axis=places[0])
    arrays = list(xp.broadcast_arrays(*arrays))
    sizes = [x.shape[i] for i in places]
    rest = [i for i in range(len(x.shape)) if i not in places]
    flat = arrays[0]
    for index, size in zip(arrays[1:], sizes[1:], strict=True):
        flat = xp.add(xp.multiply(flat, size), index)
    x = xp.permute_dims(x, (*places, *rest))
    x = xp.reshape(x, (math.prod(sizes), *x.shape[len(places) :]))
    found = xp.take(x, flat, axis=0)
    is_together = places[-1] - places[0] == len(places) - 1
    if not is_together or places[0] == 0:
        return found
    # The axes of adjacent index arrays stand where the first of them was.
    count = len(flat.shape)
    front = range(count, count + places[0])
    back = range(count + places[0], len(found.shape))
    return xp.permute_dims(found, (*front, *range(count), *back))
