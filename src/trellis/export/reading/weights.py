"""What is in a file of safetensors: ours, and those of others."""

import json
from pathlib import Path

from ..description import Description
from ..signature import Port
from .damage import Damaged

_TYPES = {
    "BOOL": "bool", "BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
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
        except ValueError as error:
            raise Damaged("its header is not JSON.") from error
    if not isinstance(header, dict):
        raise Damaged("its header has no names.")
    metadata = header.pop("__metadata__", {})
    size, ports = path.stat().st_size, []
    for name, entry in sorted(header.items()):
        if not isinstance(entry, dict) or not isinstance(entry.get("shape"), list):
            raise Damaged(f"its header does not say the shape of {name!r}.")
        kind = str(entry.get("dtype"))
        offsets = entry.get("data_offsets")
        if not isinstance(offsets, list) or not all([isinstance(end, int) for end in offsets]):
            raise Damaged(f"its header does not say where {name!r} is.")
        if 8 + length + max(offsets, default=0) > size:
            raise Damaged(f"it ends before {name!r} does: it is cut off.")
        ports.append(Port(name, tuple(entry["shape"]), _TYPES.get(kind, kind)))
    return Description(
        str(path),
        "safetensors",
        size,
        weights=tuple(ports),
        metadata={str(key): str(value) for key, value in dict(metadata).items()},
    )
