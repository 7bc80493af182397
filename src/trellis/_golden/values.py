"""Arguments and results as JSON: numbers and text as they are, everything else as a dict with one
key that begins with "$".

    {"$array": "12"}                                    an array of the release
    {"$call": "optim.SGD", "args": [0.1], "kwargs": {}}    what a public name returns
    {"$name": "optim.matrices_only"}                    what a public name stands for
    {"$problem": "valley"}                              a function of problems.py
    {"$tuple": [...]}, {"$dict": {...}}, {"$pairs": [[3, 0.1], ...]} (a dict without names),
    {"$slice": [...]}, {"$ellipsis": true}, {"$float": "nan"}, {"$complex": [1.0, 2.0]}
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._core.dtypes import FloatLimits, IntLimits
from .._random.stream import is_key
from .names import resolve
from .problems import problem


class Reader:
    """From JSON to values of one backend."""

    def __init__(self, arrays: Mapping[str, Any], xp: Any):
        self._arrays, self._xp = arrays, xp

    def read(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = next(iter(value))
        if kind == "$call":
            args = [self.read(item) for item in value["args"]]
            kwargs = {name: self.read(item) for name, item in value["kwargs"].items()}
            return resolve(value["$call"])(*args, **kwargs)
        return _READ[kind](self, value[kind])

    def array(self, number: str) -> Any:
        return self._xp.from_numpy(narrowed(np.array(self._arrays[number]), self._xp))


def narrowed(x: Any, xp: Any) -> Any:
    """64-bit numbers stand for the widest of their kind that the backend has."""
    if xp.ABILITIES.is_always_64_bit or x.dtype.name not in _NARROW:
        return x
    return x.astype(_NARROW[x.dtype.name])


_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}

_READ: dict[str, Callable[[Reader, Any], Any]] = {
    "$array": Reader.array,
    "$name": lambda reader, path: resolve(path),
    "$problem": lambda reader, name: problem(name),
    "$tuple": lambda reader, items: tuple(reader.read(items)),
    "$dict": lambda reader, items: {name: reader.read(item) for name, item in items.items()},
    "$pairs": lambda reader, items: dict(reader.read(items)),
    "$slice": lambda reader, parts: slice(*reader.read(parts)),
    "$ellipsis": lambda reader, _: ...,
    "$float": lambda reader, text: float(text),
    "$complex": lambda reader, parts: complex(*parts),
}


def plain(result: Any, xp: Any) -> Any:
    """A result with lists for tuples, names for data types, and NumPy arrays for arrays."""
    if isinstance(result, Mapping):
        return {str(key): plain(item, xp) for key, item in result.items()}
    if isinstance(result, (list, tuple)):
        return [plain(item, xp) for item in result]
    if isinstance(result, str):
        return str(result)  # a data type is a string of its own kind
    if result is None or isinstance(result, (bool, int, float, complex)):
        return np.asarray(result) if isinstance(result, np.generic) else result
    if isinstance(result, (FloatLimits, IntLimits)):
        names = [name for name in vars(result) if name != "dtype"]
        return {name: plain(getattr(result, name), xp) for name in names}
    if isinstance(result, np.ndarray):
        return result
    if not hasattr(result, "shape"):
        return str(result)  # a data type of the framework
    return np.asarray(xp.to_numpy(xp.random.as_raw_key(result) if is_key(result) else result))
