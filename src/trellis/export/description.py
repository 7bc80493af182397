"""What is in a file: names, shapes, types, and where it comes from."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .signature import Port

if TYPE_CHECKING:
    from .program import Program

# The key, or the name of the file, under which our record is kept inside a format.
RECORD = "trellis"
_SHOWN = 40  # weights that are listed one by one
_LONGEST_LINE = 1000


@dataclass(frozen=True)
class Description:
    """The contents of a file, as returned by `describe` and by every writer.

    `str(description)` is a table of it.
    """

    path: str
    format: str
    size: int  # bytes, of all its parts
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    weights: tuple[Port, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    verified: str = ""

    def __str__(self) -> str:
        from .._core.printable import printable

        lines = [f"{self.path}: {self.format}, {_written_size(self.size)}"]
        if self.verified:
            lines.append(f"  {self.verified}")
        for title, ports in (("inputs", self.inputs), ("outputs", self.outputs)):
            if ports:
                lines += [f"  {title}", *[f"    {port}" for port in ports]]
        if self.weights:
            lines.append(f"  weights: {len(self.weights)}")
            lines += [f"    {port}" for port in self.weights[:_SHOWN]]
            if len(self.weights) > _SHOWN:
                lines.append(f"    and {len(self.weights) - _SHOWN} more")
        if self.metadata:
            lines.append("  metadata")
            lines += [f"    {key}: {_shortened(text)}" for key, text in self.metadata.items()]
        # Names and texts are those of the file, and may be anything.
        return "\n".join([printable(line, _LONGEST_LINE) for line in lines])

    __repr__ = __str__


def describe(path: str | os.PathLike[str], /) -> Description:
    """What is in a model file of any of the formats, or in a file of weights.

    Names, shapes and types of inputs, outputs and weights, and the metadata; in files that `export`
    writes, the metadata name the model and the versions of all packages involved. Files are read as
    data: their code is not run, nothing is unpickled, and no framework is loaded.

    >>> import os, tempfile, trellis
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> trellis.nn.Linear(3, 2).save_weights(path)
    >>> [str(port) for port in trellis.export.describe(path).weights]
    ['b: float32 (2,)', 'w: float32 (2, 3)']
    """
    from .reading import read

    return read(Path(path))


def record(
    program: "Program", format: str, packages: Iterable[str], variables: str, runtime: str
) -> dict[str, Any]:
    """The metadata that a writer stores in a file."""
    from .. import __version__

    return {
        "format": format,
        "model": program.name,
        "from": program.source,
        "mode": "training" if program.training else "evaluation",
        "variables": variables,
        "verified by": runtime,
        "versions": {"trellis": __version__, **{name: version_of(name) for name in packages}},
        "inputs": [_as_json(port) for port in program.inputs],
        "outputs": [_as_json(port) for port in program.outputs],
    }


def to_text(found: Mapping[str, Any]) -> str:
    """The metadata as text, as stored in files."""
    return json.dumps(found)


def from_text(text: str | bytes | None) -> dict[str, Any]:
    """The metadata from a file; empty if there are none, or none of ours."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def ports_of(found: Mapping[str, Any], key: str) -> tuple[Port, ...]:
    """The inputs or outputs in the metadata."""
    listed = found.get(key, [])
    if not isinstance(listed, list):
        return ()
    return tuple(
        [
            Port(str(port.get("name")), tuple(port.get("shape", ())), str(port.get("dtype")))
            for port in listed
            if isinstance(port, dict)
        ]
    )


def metadata_of(found: Mapping[str, Any]) -> dict[str, str]:
    """The rest of the metadata, as text."""
    versions = found.get("versions")
    text = {
        key: str(value)
        for key, value in found.items()
        if key not in ("inputs", "outputs", "versions", "format")
    }
    if isinstance(versions, dict):
        text["versions"] = ", ".join([f"{name} {version}" for name, version in versions.items()])
    return text


def version_of(package: str) -> str:
    """The version of an installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        # A build for one kind of machine has another name: tensorflow-cpu.
        import importlib

        return str(getattr(importlib.import_module(package), "__version__", "unknown"))


def _as_json(port: Port) -> dict[str, Any]:
    return {"name": port.name, "shape": list(port.shape), "dtype": port.dtype}


def _written_size(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def _shortened(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= 200 else f"{one_line[:197]}..."
