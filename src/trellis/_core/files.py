"""Files of named NumPy arrays: safetensors, put in place in one step, with a checksum.

Any program that knows the format can read them. Text goes into the metadata of the header, so one
file holds everything and one rename makes it valid: whenever the process dies, the path names the
old file or the new one.
"""

import json
import os
import re
import stat
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
# The checksum of the whole file, with zeros in its own place.
_CHECKSUM = re.compile(rb'(?<!\\)"checksum":"([0-9a-f]{8})"')
_NO_CHECKSUM = b'"checksum":"00000000"'


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write NumPy arrays to a file; missing directories are made."""
    for name in arrays:
        if name in ("", "__metadata__"):
            raise ArgumentError(
                f"No array in a file can have the name {name!r}, which safetensors keeps for "
                "itself; rename it."
            )
    native = {name: _native(np.asarray(x)) for name, x in arrays.items()}
    pairs = sorted([name for name, x in native.items() if x.dtype == np.complex128])
    stored = {name: _pairs(x) if name in pairs else x for name, x in native.items()}
    # Wide types first keeps every array aligned, as the format asks.
    order = sorted(stored, key=lambda name: (-stored[name].dtype.itemsize, name))
    text = {**(metadata or {}), "checksum": "00000000", "written_by": "trellis"}
    if pairs:
        text[_PAIRS] = json.dumps(pairs)
    header: dict[str, Any] = {"__metadata__": text}
    begin = 0
    for name in order:
        end = begin + stored[name].nbytes
        header[name] = {
            "dtype": _code(name, stored[name].dtype),
            "shape": list(stored[name].shape),
            "data_offsets": [begin, end],
        }
        begin = end
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    parts = [len(head).to_bytes(8, "little"), head, *[_raw(stored[name]) for name in order]]
    checksum = b'"checksum":"%08x"' % _crc(parts)
    replace_file(path, [parts[0], _CHECKSUM.sub(checksum, head, count=1), *parts[2:]])


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise for a path that is no file: a pipe or a device may never end. One that does not exist
    is left to the reader."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except ValueError as error:  # a zero byte
        raise ArgumentError(f"{os.fspath(path)!r} is not the name of a file: {error}.") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, a socket or a device"
        raise ArgumentError(f"{os.fspath(path)} is {kind}, not a file.")


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a safetensors file and its metadata; a damaged file raises."""
    import safetensors

    deserialize: Any = safetensors.deserialize
    check_regular(path)
    content = Path(path).read_bytes()
    try:
        entries = deserialize(content)
        length = int.from_bytes(content[:8], "little")
        header = content[8 : 8 + length]
        metadata: dict[str, str] = json.loads(header).get("__metadata__") or {}
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{os.fspath(path)} is damaged or not a safetensors file: {error}."
        ) from None
    _refuse_unknown(path, [entry["dtype"] for _, entry in entries])
    arrays = {name: _from_raw(entry) for name, entry in entries}
    if not _is_whole(content, header, arrays, metadata):
        raise ArgumentError(f"{os.fspath(path)} is damaged: it has changed since it was written.")
    try:
        for name in json.loads(metadata.get(_PAIRS, "[]")):
            arrays[name] = _from_pairs(arrays[name])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ArgumentError(
            f"{os.fspath(path)} is damaged: its list of complex arrays is invalid."
        ) from None
    return arrays, metadata


def map_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of a safetensors file, mapped into memory: the disk is read where one is used.

    They may be written to, which changes the memory of this process and never the file.
    """
    import safetensors

    check_regular(path)
    try:
        with safetensors.safe_open(os.fspath(path), framework="np"):  # checks the whole header
            pass
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header: dict[str, Any] = json.loads(file.read(length))
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{os.fspath(path)} is damaged or not a safetensors file: {error}."
        ) from None
    header.pop("__metadata__", None)
    _refuse_unknown(path, [entry["dtype"] for entry in header.values()])
    if os.path.getsize(path) == 8 + length:  # no bytes, which cannot be mapped
        data = np.zeros(0, np.uint8)
    else:
        data = np.asarray(np.memmap(path, np.uint8, "c", offset=8 + length))
    return {name: _from_raw(_with_data(entry, data)) for name, entry in header.items()}


def _with_data(entry: Mapping[str, Any], data: Any) -> dict[str, Any]:
    begin, end = entry["data_offsets"]
    return {**entry, "data": data[begin:end]}


def _refuse_unknown(path: str | os.PathLike[str], codes: Iterable[str]) -> None:
    unknown = sorted(set(codes) - set(_NAMES))
    if unknown:
        raise ArgumentError(
            f"{os.fspath(path)} holds data of the type {unknown[0]}, which Trellis does not know; "
            f"it knows {', '.join(_NAMES)}."
        )


def _is_whole(
    content: bytes, header: bytes, arrays: Mapping[str, Any], metadata: Mapping[str, str]
) -> bool:
    """Whether the checksum is right; files of other programs have none."""
    if "checksum" in metadata:
        found = _CHECKSUM.search(header)
        if found is None:
            return False
        begin, end = 8 + found.start(), 8 + found.end()
        parts = [content[:begin], _NO_CHECKSUM, memoryview(content)[end:]]
        return _crc(parts) == int(found[1], 16)
    if "crc32" in metadata:  # of the data alone, up to version 0.1
        order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
        parts = [part for name in order for part in (name.encode(), _raw(arrays[name]))]
        return metadata["crc32"] == str(_crc(parts))
    # A file of ours says so in several places: damage will not make it look like another program's.
    return "trellis" not in " ".join([*metadata, *metadata.values()])


def replace_file(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write to a temporary file in the same folder, flush to disk, then rename: readers see the old
    or the new file.

    Where the path is a symbolic link, the file that it names is replaced and the link stays. A file
    that exists keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(target)
    temporary = target.with_name(
        f".{target.name}.{_place()}-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    )
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        # Nobody may read what will be private before its permissions are set.
        handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.chmod(temporary, mode)
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
    """A rename is on the disk only when its directory is; Windows neither can nor needs to."""
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
    """Remove what processes of this machine left when they were killed in the middle of a file."""
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
            f"{name!r} is {dtype.name}, which safetensors cannot hold; it knows "
            f"{', '.join(_CODES)} and complex128."
        ) from None


def _native(x: Any) -> Any:
    """One block of memory in the order of bytes that the format asks for."""
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    return np.asarray(x, order="C")


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
    return x.reshape(*x.shape, 1).view(np.float64)


def _from_pairs(x: Any) -> Any:
    if x.dtype != np.float64 or x.shape[-1:] != (2,):
        raise ValueError
    return x.view(np.complex128)[..., 0]


def _crc(parts: Iterable[Any]) -> int:
    """The format itself would not notice a changed byte."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value
