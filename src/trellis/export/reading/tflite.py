"""What is in a TFLite file. The numbers are positions of fields in TFLite's schema."""

from pathlib import Path
from typing import Any

from ..description import RECORD, Description, from_text, metadata_of, ports_of
from ..signature import Port, Size
from .damage import Damaged
from .flatbuffer import Table
from .mapping import mapped

_TYPES = (
    "float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64 "
    "resource variant uint32 uint16 int4 bfloat16"
).split()
# Of the model.
_SUBGRAPHS, _DESCRIPTION, _BUFFERS, _METADATA, _SIGNATURES = 2, 3, 4, 6, 7


def read_tflite(path: Path) -> Description:
    """The inputs and outputs of its signature, and the constants that it holds."""
    content = mapped(path)
    model = Table.root(content)
    subgraphs = model.tables(_SUBGRAPHS)
    if not subgraphs:
        raise Damaged("there is no graph of TFLite in it.")
    graph = subgraphs[0]
    tensors = graph.tables(0)
    buffers = model.tables(_BUFFERS)
    notes = {
        entry.text(0): buffers[entry.number(1)]
        for entry in model.tables(_METADATA)
        if entry.number(1) < len(buffers)
    }
    found = from_text(notes.pop(RECORD).bytes(0) if RECORD in notes else None)
    signature = next(iter(model.tables(_SIGNATURES)), None)
    ins, outs = [
        _of_signature(signature, field, tensors)
        or [_port(tensors[i], "") for i in graph.numbers(field + 1)]
        for field in (0, 1)
    ]
    weights = [
        _port(tensor, "")
        for tensor in tensors
        if tensor.number(2) < len(buffers) and _has_data(buffers[tensor.number(2)])
    ]
    metadata = {**metadata_of(found), "operations": str(graph.count(3))}
    for name, buffer in notes.items():
        note = buffer.bytes(0).split(b"\0")[0].decode(errors="replace")
        if note and note.isprintable():
            metadata[name] = note
    return Description(
        str(path),
        "TFLite",
        path.stat().st_size,
        ports_of(found, "inputs") or tuple(ins),
        ports_of(found, "outputs") or tuple(outs),
        tuple(weights),
        metadata,
    )


def _of_signature(signature: Any, field: int, tensors: list[Table]) -> list[Port]:
    if signature is None:
        return []
    return [
        _port(tensors[entry.number(1)], entry.text(0))
        for entry in signature.tables(field)
        if entry.number(1) < len(tensors)
    ]


def _port(tensor: Table, name: str) -> Port:
    shape: list[Size] = [*(tensor.numbers(7) or tensor.numbers(0))]
    number = tensor.number(1, "<b")
    known = _TYPES[number] if 0 <= number < len(_TYPES) else f"type {number}"
    return Port(name or tensor.text(3), tuple([None if n == -1 else n for n in shape]), known)


def _has_data(buffer: Table) -> bool:
    return buffer.count(0) > 0 or buffer.number(2, "<Q") > 0
