"""Files of named NumPy arrays: safetensors, put in place in one step, with a checksum.

Any program that knows the format can read them. Text goes into the metadata of the header, so one file holds
everything and one rename makes it valid: whenever the process dies, the path names the old file or the
new one.
"""

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .errors import ArgumentError

_CODES = {"bool": "BOOL", "bfloat16": "BF16", "complex64": "C64"} | {
    f"{name}{bits}": f"{code}{bits}"
    for code, name in (("I", "int"), ("U", "uint"), ("F", "float"))
    for bits in (8, 16, 32, 64)
    if (name, bits) != ("float", 8)
}
_NAMES = {code: name for name, code in _CODES.items()}
# The format has no complex128: such an array is kept as pairs of float64 and named here.
_PAIRS = "complex128"


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write NumPy arrays to a file; missing directories are made."""
    pairs = sorted([name for name, x in arrays.items() if x.dtype == np.complex128])
    stored = {
        name: _pairs(x) if name in pairs else np.asarray(x, order="C") for name, x in arrays.items()
    }
    # Wide types first keeps every array aligned, as the format asks.
    order = sorted(stored, key=lambda name: (-stored[name].dtype.itemsize, name))
    views = {name: _raw(stored[name]) for name in order}
    text = {**(metadata or {}), "crc32": str(_checksum(views))}
    if pairs:
        text[_PAIRS] = json.dumps(pairs)
    header: dict[str, Any] = {"__metadata__": text}
    begin = 0
    for name in order:
        end = begin + views[name].nbytes
        header[name] = {
            "dtype": _code(name, stored[name].dtype),
            "shape": list(stored[name].shape),
            "data_offsets": [begin, end],
        }
        begin = end
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    replace_file(path, [len(head).to_bytes(8, "little"), head, *[views[name] for name in order]])


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a safetensors file and its metadata; a damaged file raises."""
    import safetensors

    deserialize: Any = safetensors.deserialize
    content = Path(path).read_bytes()
    try:
        entries = deserialize(content)
        length = int.from_bytes(content[:8], "little")
        metadata: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
        arrays = {name: _from_raw(entry) for name, entry in entries}
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise ArgumentError(
            f"{os.fspath(path)} is damaged or not a safetensors file: {error}."
        ) from None
    if "crc32" in metadata:
        order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
        if metadata["crc32"] != str(_checksum({name: _raw(arrays[name]) for name in order})):
            raise ArgumentError(
                f"{os.fspath(path)} is damaged: its data have changed since they were written."
            )
    for name in json.loads(metadata.get(_PAIRS, "[]")):
        arrays[name] = arrays[name].view(np.complex128)[..., 0]
    return arrays, metadata


def replace_file(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write beside the target, flush to the disk, then rename: readers see the old file or the new one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    temporary = target.with_name(
        f".{target.name}.{_place()}-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    )
    try:
        with temporary.open("xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_directory(target.parent)


def _flush_directory(directory: Path) -> None:
    """A rename is on the disk only when its directory is; Windows cannot open one, and needs it not."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _place() -> str:
    """The machine, for directories that several of them share."""
    name = os.uname().nodename if hasattr(os, "uname") else ""
    return "".join([c if c.isalnum() else "_" for c in name]) or "here"


def _remove_abandoned(target: Path) -> None:
    """Remove what processes of this machine left here when they were killed in the middle of a file."""
    if os.name != "posix":
        return
    prefix = f".{target.name}.{_place()}-"
    for entry in os.listdir(target.parent):
        if not (entry.startswith(prefix) and entry.endswith(".tmp")):
            continue
        owner = entry[len(prefix) :].partition("-")[0]
        if owner.isdigit() and not _is_running(int(owner)):
            (target.parent / entry).unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _code(name: str, dtype: Any) -> str:
    try:
        return _CODES[dtype.name]
    except KeyError:
        raise ArgumentError(
            f"{name!r} is {dtype.name}, which safetensors cannot hold; it knows {', '.join(_CODES)} and complex128."
        ) from None


def _raw(x: Any) -> Any:
    """The bytes of an array, without copying them."""
    return x.reshape(-1).view(np.uint8)


def _from_raw(entry: Mapping[str, Any]) -> Any:
    name: Any = _NAMES[entry["dtype"]]
    if name == "bfloat16":
        import ml_dtypes

        name = ml_dtypes.bfloat16
    return np.frombuffer(entry["data"], name).reshape(entry["shape"])


def _pairs(x: Any) -> Any:
    return np.asarray(x, order="C").reshape(*x.shape, 1).view(np.float64)


def _checksum(views: Mapping[str, Any]) -> int:
    """The format itself would not notice a changed byte in the data. Names count too."""
    value = 0
    for name, view in views.items():
        value = zlib.crc32(view, zlib.crc32(name.encode(), value))
    return value
