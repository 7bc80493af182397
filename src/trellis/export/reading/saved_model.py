"""What is in a SavedModel. The numbers are those of the fields in TensorFlow's .proto files."""

from pathlib import Path
from typing import Any

from ..description import RECORD, Description, from_text, metadata_of, ports_of
from ..signature import Port, Size
from .damage import Damaged
from .protobuf import all_of, first, integers, text, varint

_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
}  # fmt: skip
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def read_saved_model(path: Path) -> Description:
    """The signature that is served, and the variables of its checkpoint."""
    file = path / "saved_model.pb"
    if not file.is_file():
        raise Damaged("a directory is described if it is a SavedModel, with a saved_model.pb.")
    graphs = all_of(file.read_bytes(), 2)
    if not graphs:
        raise Damaged("there is no graph of TensorFlow in its saved_model.pb.")
    signatures = {text(first(each, 1)): first(each, 2) for each in all_of(graphs[0], 5)}
    served = signatures.get("serving_default", next(iter(signatures.values()), b""))
    extra = path / "assets.extra" / f"{RECORD}.json"
    found = from_text(extra.read_text(errors="replace") if extra.is_file() else None)
    about = first(graphs[0], 1)
    return Description(
        str(path),
        "SavedModel",
        sum([part.stat().st_size for part in path.rglob("*") if part.is_file()]),
        ports_of(found, "inputs") or _ports(served, 1),
        ports_of(found, "outputs") or _ports(served, 2),
        tuple(_variables(path / "variables" / "variables.index")),
        {
            **metadata_of(found),
            "TensorFlow": text(first(about, 5)),
            "tags": ", ".join([text(tag) for tag in all_of(about, 4)]),
            "signatures": ", ".join([name for name in signatures if not name.startswith("__")]),
        },
    )


def _ports(signature: Any, field: int) -> tuple[Port, ...]:
    found = []
    for entry in all_of(signature, field):
        info = first(entry, 2)
        found.append(Port(text(first(entry, 1)), _shape(first(info, 3)), _type(first(info, 2, 0))))
    return tuple(sorted(found, key=lambda port: port.name))


def _shape(message: Any) -> tuple[Size, ...]:
    sizes = [integers([first(axis, 1, 0)])[0] for axis in all_of(message, 2)]
    return tuple([None if size == -1 else size for size in sizes])


def _type(number: int) -> str:
    return _TYPES.get(number, f"type {number}")


# The index of a checkpoint is a table of sorted strings: blocks of entries, then a block that says
# where the blocks are, then a footer that says where that one is.


def _variables(path: Path) -> list[Port]:
    if not path.is_file():
        return []
    found = []
    content = memoryview(path.read_bytes())
    if len(content) < 48 or bytes(content[-8:]) != b"\x57\xfb\x80\x8b\x24\x75\x47\xdb":
        raise Damaged("the index of its variables has no end.")
    footer = content[-48:]
    at = 0
    for _ in range(2):  # the place of a block that is not used here
        _, at = varint(footer, at)
    start, at = varint(footer, at)
    size, at = varint(footer, at)
    for _, handle in _entries(content, start, size):
        offset, at = varint(handle, 0)
        length, at = varint(handle, at)
        for key, entry in _entries(content, offset, length):
            name = key.decode(errors="replace")
            if name.endswith(_VALUE):
                name = name.removesuffix(_VALUE).removeprefix("weights/").replace(".S", "/")
                found.append(Port(name, _shape(first(entry, 2)), _type(first(entry, 1, 0))))
    return found


def _entries(content: Any, start: int, size: int) -> list[tuple[bytes, Any]]:
    if start + size + 1 > len(content) or content[start + size] != 0:
        raise Damaged("the index of its variables is compressed, or points outside itself.")
    block = content[start : start + size]
    restarts = int.from_bytes(block[-4:], "little")
    end, at, key = size - 4 - 4 * restarts, 0, b""
    found = []
    while at < end:
        shared, at = varint(block, at)
        fresh, at = varint(block, at)
        length, at = varint(block, at)
        if at + fresh + length > end or shared > len(key):
            raise Damaged("an entry in the index of its variables points outside itself.")
        key = key[:shared] + bytes(block[at : at + fresh])
        found.append((key, block[at + fresh : at + fresh + length]))
        at += fresh + length
    return found
