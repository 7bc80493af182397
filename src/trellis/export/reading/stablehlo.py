"""What is in a file of jax.export. The numbers are positions of fields in its schema."""

from pathlib import Path

from ..description import Description, from_text, metadata_of, ports_of
from ..signature import Port, Size
from ..trailer import trailer_of
from .damage import Damaged
from .flatbuffer import Table
from .weights import read_weights

# jax.export counts its types by itself; these are the common ones.
_TYPES = {
    0: "bool", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "uint8", 6: "uint16", 7: "uint32",
    8: "uint64", 9: "float16", 10: "float32", 11: "float64", 12: "complex64", 13: "complex128",
    14: "bfloat16",
}  # fmt: skip
_NAME, _INPUTS, _OUTPUTS, _PLATFORMS, _MODULE, _CONVENTION = 1, 3, 5, 9, 13, 14
_UNIQUE, _WHICH_INPUTS, _WHICH_OUTPUTS = 19, 22, 23


def read_stablehlo(path: Path) -> Description:
    """Its inputs and outputs; the weights in the second file, if they are arguments."""
    content = path.read_bytes()
    text = trailer_of(content)
    found = from_text(text)
    program = Table.root(content)
    module = program.bytes(_MODULE)[:4]
    if module[:2] != b"ML":  # bytecode of MLIR: "MLïR"
        raise Damaged("there is no program of StableHLO in it.")
    size = len(content)
    weights: tuple[Port, ...] = ()
    beside = path.with_name(f"{path.name}.safetensors")
    if found.get("variables") == "parameters" and beside.is_file():
        described = read_weights(beside)
        size, weights = size + described.size, described.weights
    return Description(
        str(path),
        "StableHLO",
        size,
        ports_of(found, "inputs") or _ports(program, "input", _INPUTS, _WHICH_INPUTS),
        ports_of(found, "outputs") or _ports(program, "output", _OUTPUTS, _WHICH_OUTPUTS),
        weights,
        {
            **metadata_of(found),
            "function": program.text(_NAME),
            "platforms": ", ".join(program.texts(_PLATFORMS)),
            "calling convention": str(program.number(_CONVENTION, "<H")),
        },
    )


def _ports(program: Table, name: str, field: int, which: int) -> tuple[Port, ...]:
    found = program.tables(field)
    if not found:  # newer versions keep equal ones once
        unique = program.tables(_UNIQUE)
        found = [unique[i] for i in program.numbers(which, "<H") if i < len(unique)]
    ports = []
    for i, aval in enumerate(found):
        sizes: list[Size] = [int(n) if n.isdigit() else n for n in aval.texts(1)]
        number = aval.number(2, "<b")
        ports.append(Port(f"{name}_{i}", tuple(sizes), _TYPES.get(number, f"type {number}")))
    return tuple(ports)
