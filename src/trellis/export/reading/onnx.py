"""What is in an ONNX file. The numbers are those of the fields in onnx.proto."""

from pathlib import Path
from typing import Any

from ..description import RECORD, Description, from_text, metadata_of
from ..signature import Port, Size
from .damage import Damaged
from .mapping import mapped
from .protobuf import all_of, fields, first, integers, text

_TYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8_e4m3fn",
    18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4_e2m1",
}  # fmt: skip


def read_onnx(path: Path) -> Description:
    """The graph's inputs, outputs and initializers; what the producer says of itself."""
    view = memoryview(mapped(path))
    model: dict[int, list[Any]] = {}
    for number, value in fields(view):
        model.setdefault(number, []).append(value)
    if 7 not in model:
        raise Damaged("there is no graph of ONNX in it.")
    graph = model[7][-1]
    weights = [_weight(tensor) for tensor in all_of(graph, 5)]
    names = {port.name for port in weights}
    props = {text(first(each, 1)): text(first(each, 2)) for each in model.get(14, [])}
    found = from_text(props.pop(RECORD, None))
    operators = [
        f"{text(first(each, 1)) or 'ai.onnx'} {first(each, 2, 0)}" for each in model.get(8, [])
    ]
    producer = [text(value) for number in (2, 3) for value in model.get(number, [])]
    size = path.stat().st_size
    for beside in _files_beside(graph):
        if Path(beside).name == beside and (path.parent / beside).is_file():
            size += (path.parent / beside).stat().st_size
    return Description(
        str(path),
        "ONNX",
        size,
        tuple([port for port in map(_port, all_of(graph, 11)) if port.name not in names]),
        tuple(map(_port, all_of(graph, 12))),
        tuple(weights),
        {
            **metadata_of(found),
            "producer": " ".join(producer).strip(),
            "operators": ", ".join(operators),
            "nodes": str(len(all_of(graph, 1))),
            **props,
        },
    )


def _port(info: Any) -> Port:
    tensor = first(first(info, 2), 1)
    shape: list[Size] = []
    for axis in all_of(first(tensor, 2), 1):
        named = text(first(axis, 2))
        size = first(axis, 1, None)
        shape.append(named or size)
    return Port(text(first(info, 1)), tuple(shape), _type(first(tensor, 1, 0)))


def _weight(tensor: Any) -> Port:
    shape = tuple(integers(all_of(tensor, 1)))
    return Port(text(first(tensor, 8)), shape, _type(first(tensor, 2, 0)))


def _type(number: int) -> str:
    return _TYPES.get(number, f"type {number}")


def _files_beside(graph: Any) -> set[str]:
    """Where weights are that are not in the file itself."""
    found = set()
    for tensor in all_of(graph, 5):
        for entry in all_of(tensor, 13):
            if text(first(entry, 1)) == "location":
                found.add(text(first(entry, 2)))
    return found
