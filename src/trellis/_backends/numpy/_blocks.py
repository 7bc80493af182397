"""Optimizer steps leaf by leaf and block by block, so that the data of one block stay in the
cache."""

from collections.abc import Callable
from typing import Any

import numpy as np

_BYTES = 1 << 17
_FLOATS = (np.dtype("float32"), np.dtype("float64"))


def stepped(
    update: Callable[[Any, Any], None],
    numbers: tuple[float, ...],
    ws: list[Any],
    gs: list[Any],
    slots: tuple[list[Any], ...],
    reuse: bool,
) -> tuple[list[Any], tuple[list[Any], ...]]:
    """The new variables and the new state, by `update(arrays, numbers)` for each leaf.

    The arrays are the variable, the gradient and the state, then the memory for the new variable
    and the new state, in blocks if they are large. An update keeps its intermediate results in the
    memory of its final ones, so no other memory is used. The numbers are arrays in the leaf's
    dtype.
    """
    new_ws, new_slots = places(ws), tuple([places(column, reuse) for column in slots])
    operands: dict[Any, list[Any]] = {}
    for arrays in zip(ws, gs, *slots, new_ws, *new_slots, strict=True):
        first = arrays[0]
        dtype, size = first.dtype, first.size
        if dtype not in operands:
            # With Python numbers, each call would have to look up their type.
            operands[dtype] = [np.array(number, dtype) for number in numbers]
        block = _BYTES // dtype.itemsize
        if size <= block:
            update(arrays, operands[dtype])
            continue
        flat = [x.reshape(-1) for x in arrays]
        for i in range(0, size, block):
            update([x[i : i + block] for x in flat], operands[dtype])
    return new_ws, new_slots


def places(xs: list[Any], reuse: bool = False) -> list[Any]:
    """Memory for each result: with `reuse` the array itself, if it is contiguous."""
    return [x if reuse and x.flags.c_contiguous else np.empty(x.shape, x.dtype) for x in xs]


def are_alike(ws: list[Any], *columns: list[Any]) -> bool:
    """Whether all are plain arrays of float32 or float64, and the columns have the shapes and
    dtypes of `ws`.

    Lists are compared as wholes, which takes a tenth of the time of a loop.
    """
    types = set(map(type, ws)).union(*[map(type, column) for column in columns])
    if types != {np.ndarray}:
        return False
    dtypes, shapes = [w.dtype for w in ws], [w.shape for w in ws]
    if not set(dtypes).issubset(_FLOATS):
        return False
    for column in columns:
        if [x.dtype for x in column] != dtypes or [x.shape for x in column] != shapes:
            return False
    return True


def as_number(x: Any) -> float | None:
    """A float, or None where it is traced or has axes."""
    if isinstance(x, (int, float, np.generic)) or (type(x) is np.ndarray and x.ndim == 0):
        return float(x)
    return None
