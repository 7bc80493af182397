"""What is in an archive of torch: of torch.export (.pt2), or of torch.save (.pt)."""

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

from ..description import RECORD, Description, from_text, metadata_of, ports_of
from ..signature import Port, Size
from .damage import Damaged
from .pickled import tensors_in

# torch.export counts types by itself.
_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16",
    28: "uint16", 29: "uint32", 30: "uint64",
}  # fmt: skip
_LONGEST = 1 << 30  # bytes of one part that is read whole


def read_torch_archive(path: Path) -> Description:
    """Inputs, outputs and weights of a program; names and shapes of what torch.save has written."""
    with zipfile.ZipFile(path) as archive:
        # Everything lies in one folder, called after the file as it was once written.
        parts = {name.partition("/")[2]: name for name in archive.namelist()}
        if "models/model.json" in parts:
            return _program(path, archive, parts)
        if "data.pkl" in parts:
            content = _content(archive, parts["data.pkl"])
            weights = tensors_in(content)
            return Description(str(path), "torch.save", path.stat().st_size, weights=tuple(weights))
    raise Damaged("this archive was not written by torch.export or torch.save.")


def _program(path: Path, archive: zipfile.ZipFile, parts: dict[str, str]) -> Description:
    model = _json(archive, parts, "models/model.json")
    graph = model["graph_module"]["graph"]
    signature = model["graph_module"]["signature"]
    record = parts.get(f"extra/{RECORD}.json")
    found = from_text(_content(archive, record) if record else None)
    values = graph["tensor_values"]
    weights = []
    for kind in ("weights", "constants"):
        config = _json(archive, parts, f"data/{kind}/model_{kind}_config.json").get("config", {})
        for name, entry in config.items():
            if isinstance(entry.get("tensor_meta"), dict):
                weights.append(_port(name, entry["tensor_meta"]))
    names = _named(signature["input_specs"], "user_input")
    outs = _named(signature["output_specs"], "user_output")
    return Description(
        str(path),
        "torch.export",
        path.stat().st_size,
        ports_of(found, "inputs") or tuple([_port(n, values[n]) for n in names if n in values]),
        ports_of(found, "outputs") or tuple([_port(n, values[n]) for n in outs if n in values]),
        tuple(weights),
        {
            **metadata_of(found),
            "torch": str(model.get("torch_version", "")),
            "nodes": str(len(graph["nodes"])),
        },
    )


def _named(specs: list[Any], kind: str) -> list[str]:
    found = []
    for spec in specs:
        argument = spec.get(kind, {}).get("arg", {}).get("as_tensor", {})
        if "name" in argument:
            found.append(str(argument["name"]))
    return found


def _port(name: str, meta: Any) -> Port:
    sizes: list[Size] = [size.get("as_int") for size in meta["sizes"]]
    return Port(name, tuple(sizes), _TYPES.get(meta["dtype"], f"type {meta['dtype']}"))


def _json(archive: zipfile.ZipFile, parts: dict[str, str], name: str) -> Any:
    if name not in parts:
        return {}
    try:
        return json.loads(_content(archive, parts[name]))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{name} in it is not JSON.") from error


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LONGEST:
        raise Damaged(f"{name} in it has more than {_LONGEST} bytes.")
    try:
        return archive.read(name)
    except (OSError, ValueError, NotImplementedError, EOFError, zlib.error) as error:
        raise Damaged(f"{name} in it cannot be read: {error}.") from error
