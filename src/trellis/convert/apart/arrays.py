"""Nested lists of arrays in files, as data: the description in JSON, then all bytes."""

import json
import math
import struct
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

_LENGTH = struct.Struct("<q")


def write_arrays(file: BinaryIO, nest: Any) -> None:
    """Write arrays in lists and dicts; None stays None."""
    arrays: list[np.ndarray] = []

    def described(x: Any) -> Any:
        if x is None:
            return None
        if isinstance(x, dict):
            return {"dict": [[str(key), described(item)] for key, item in x.items()]}
        if isinstance(x, (list, tuple)):
            return {"list": [described(item) for item in x]}
        array = np.asarray(x)
        if array.dtype.kind in "OSUMm":
            raise TypeError("strings and objects are not compared")
        arrays.append(np.ascontiguousarray(array))
        return {"dtype": array.dtype.name, "shape": list(array.shape)}

    header = json.dumps(described(nest)).encode()
    file.write(_LENGTH.pack(len(header)) + header)
    for array in arrays:
        file.write(array.reshape(-1).view(np.uint8).data)


def read_arrays(file: BinaryIO) -> Any:
    """The nest that `write_arrays` wrote."""
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))

    def made(x: Any) -> Any:
        if x is None:
            return None
        if "dict" in x:
            return {key: made(item) for key, item in x["dict"]}
        if "list" in x:
            return [made(item) for item in x["list"]]
        kind = np.dtype(getattr(ml_dtypes, x["dtype"], x["dtype"]))
        count = math.prod(x["shape"]) * kind.itemsize
        return np.frombuffer(bytearray(file.read(count)), kind).reshape(x["shape"])

    return made(json.loads(file.read(length)))
