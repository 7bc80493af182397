"""What is in a file of safetensors: ours, and those of others."""

import json
import math
from pathlib import Path
from typing import Any

from ..description import Description
from ..signature import Port
from .damage import Damaged

# The format's types: our name, and how many bits an element takes.
_TYPES = {
    "BOOL": ("bool", 8), "BF16": ("bfloat16", 16), "F16": ("float16", 16), "F32": ("float32", 32),
    "F64": ("float64", 64), "C64": ("complex64", 64), "I8": ("int8", 8), "I16": ("int16", 16),
    "I32": ("int32", 32), "I64": ("int64", 64), "U8": ("uint8", 8), "U16": ("uint16", 16),
    "U32": ("uint32", 32), "U64": ("uint64", 64), "F8_E5M2": ("float8_e5m2", 8),
    "F8_E4M3": ("float8_e4m3fn", 8), "F8_E8M0": ("float8_e8m0fnu", 8), "F4": ("float4_e2m1fn", 4),
    "F6_E2M3": ("float6_e2m3fn", 6), "F6_E3M2": ("float6_e3m2fn", 6),
}  # fmt: skip
_LONGEST_HEADER = 100_000_000  # bytes: the limit of the format


def read_weights(path: Path) -> Description:
    """The arrays by name, and the metadata."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LONGEST_HEADER:
            raise Damaged("its header is longer than safetensors allows.")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise Damaged("its header is not JSON.") from error
    if not isinstance(header, dict):
        raise Damaged("its header has no names.")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        raise Damaged("its metadata are not text by name.")
    size, ports = path.stat().st_size, []
    places: list[tuple[int, int, str]] = []
    for name, entry in sorted(header.items()):
        ports.append(_port(name, entry))
        places.append((*_place(name, entry), name))
    _check_places(sorted(places), size - 8 - length)
    return Description(
        str(path),
        "safetensors",
        size,
        weights=tuple(ports),
        metadata={str(key): str(value) for key, value in metadata.items()},
    )


def _port(name: str, entry: Any) -> Port:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    if not isinstance(shape, list) or not all([type(n) is int and n >= 0 for n in shape]):
        raise Damaged(f"its header does not say the shape of {name!r}.")
    kind = str(entry.get("dtype"))
    return Port(name, tuple(shape), _TYPES[kind][0] if kind in _TYPES else kind)


def _place(name: str, entry: Any) -> tuple[int, int]:
    """Where the bytes of an array are; they must be as many as its shape needs."""
    offsets = entry.get("data_offsets")
    if not isinstance(offsets, list) or [type(each) for each in offsets] != [int, int]:
        raise Damaged(f"its header does not say where {name!r} is.")
    begin, end = offsets
    kind = str(entry.get("dtype"))
    if kind in _TYPES:
        needed = (math.prod(entry["shape"]) * _TYPES[kind][1] + 7) // 8
        if end - begin != needed:
            raise Damaged(f"its header gives {name!r} {end - begin} bytes, and it needs {needed}.")
    return begin, end


def _check_places(places: list[tuple[int, int, str]], count: int) -> None:
    """The arrays follow each other without gaps, as the format asks, up to the end of the file."""
    last = 0
    for begin, end, name in places:
        if end > count:
            raise Damaged(f"it ends before {name!r} does: it is cut off.")
        if begin != last or end < begin:
            raise Damaged(f"its header says that {name!r} overlaps another array, or leaves a gap.")
        last = end
    if last != count:
        raise Damaged(f"it has {count - last} bytes after the last array.")
