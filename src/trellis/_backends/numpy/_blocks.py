"""Steps of optimizers leaf by leaf and block by block: what one block needs stays in the cache."""

from collections.abc import Callable
from typing import Any

import numpy as np

_BYTES = 1 << 17
_FLOATS = (np.dtype("float32"), np.dtype("float64"))


class Blocks:
    """Runs a step over leaf after leaf; its numbers are arrays in the dtype of the leaf."""

    def __init__(self, update: Callable[[Any, Any], None], numbers: tuple[float, ...]):
        self._update, self._numbers = update, numbers
        self._operands: dict[Any, list[Any]] = {}

    def run(self, arrays: tuple[Any, ...]) -> None:
        """`update(arrays, numbers)` over arrays of one shape, in blocks if they are large.

        Those that are written to must lie in memory in order, as those of `places` do. What an
        update has to put down in between goes where its result will be: no other memory is touched.
        """
        first = arrays[0]
        dtype, size = first.dtype, first.size
        if dtype not in self._operands:
            # Beside a Python number, each call would have to find its type anew.
            self._operands[dtype] = [np.array(number, dtype) for number in self._numbers]
        numbers, block = self._operands[dtype], _BYTES // dtype.itemsize
        if size <= block:
            self._update(arrays, numbers)
            return
        flat = [x.reshape(-1) for x in arrays]
        for i in range(0, size, block):
            self._update([x[i : i + block] for x in flat], numbers)


def places(xs: list[Any], reuse: bool = False) -> list[Any]:
    """Room for what becomes of each: with `reuse` itself, if it lies in memory in order."""
    return [x if reuse and x.flags.c_contiguous else np.empty(x.shape, x.dtype) for x in xs]


def are_alike(ws: list[Any], *columns: list[Any]) -> bool:
    """Whether all are plain arrays of float32 or float64, and the columns have the forms of `ws`.

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
