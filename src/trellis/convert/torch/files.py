"""Programs of torch from their files."""

import io
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from pathlib import Path

import torch

from ..._core.errors import ArgumentError
from ..apart import rehearse
from ..trust import errors_of, untrusted
from .control import CONTROL
from .suspicion import reason_in_payloads, reason_in_program
from .table import rule

_PROGRAMS = ("models/model.json", "serialized_exported_program.json")  # the latter up to torch 2.7
_LISTS = ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json")
_PICKLES = (
    "data/sample_inputs/model.pt",
    "data/weights/model.pt",
    "data/constants/model.pt",
    "serialized_state_dict.pt",
    "serialized_constants.pt",
    "serialized_example_inputs.pt",
)
# The rest of what torch needs for one program. Compiled libraries (data/aotinductor) are left out.
_PLAIN = re.compile(
    r"data/(weights/weight|constants/tensor)_\d+|archive_(format|version)|byteorder|version"
    r"|\.data/(version|serialization_id)",
    re.ASCII,
)
# What zipfile raises about archives that are none.
_BROKEN = (
    *(zipfile.BadZipFile, NotImplementedError, EOFError, RecursionError, OSError, zlib.error),
    UnicodeError,
)
_TOUCH_FILES = ("from_file", "_print")
_TARGET = re.compile(r"torch\.ops\.(\w+)\.([A-Za-z_]\w*)(\.\w+)?", re.ASCII)


def exported_program(
    path: Path, trust: bool = False, verify: bool = True
) -> torch.export.ExportedProgram:
    """The ExportedProgram of an archive of torch.export.

    torch runs code that it finds in an archive. So the archive is read as data first; torch gets a
    copy with the parts that were read and found harmless; if it is run later to `verify` it, a
    child process tries that first. With `trust` torch reads the file itself.
    """
    if trust:
        return torch.export.load(path)
    if not path.is_file():
        raise ArgumentError(f"There is no file {str(path)!r}.")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "model.pt2"
        try:
            with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as clean:
                _copy(path, archive, clean)
        except _BROKEN as error:
            raise ArgumentError(f"{str(path)!r} is not an archive of torch.export.") from error
        if verify:
            rehearse("torch", "torch", copy)
        with errors_of(path, "torch.export.load()"):
            return torch.export.load(copy)


def _copy(path: Path, archive: zipfile.ZipFile, clean: zipfile.ZipFile) -> None:
    """Copy what is harmless and needed; anything in doubt raises."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    tops = {name.partition("/")[0] if "/" in name else "" for name in names}
    if len(set(names)) < len(names) or len(tops) != 1:
        raise untrusted(path, "its parts can be read in two ways")
    if any([entry.compress_type or entry.flag_bits & 1 for entry in entries]):
        raise untrusted(path, "it is compressed, which archives of torch.export never are")
    if sum([entry.file_size for entry in entries]) > path.stat().st_size:
        raise untrusted(path, "its parts overlap")
    start = len(tops.pop())
    programs = 0
    for entry in entries:
        part = entry.filename[start + 1 if start else 0 :]
        if part in (*_PROGRAMS, *_LISTS, *_PICKLES):
            content = archive.read(entry)
            programs += part in _PROGRAMS
            clean.writestr(entry.filename, _harmless(path, part, content))
        elif _PLAIN.fullmatch(part):
            fresh = zipfile.ZipInfo(entry.filename)
            fresh.file_size = entry.file_size
            with archive.open(entry) as source, clean.open(fresh, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    if not programs:
        raise ArgumentError(f"{str(path)!r} has no program of torch.export.")


def _harmless(path: Path, part: str, content: bytes) -> bytes:
    """The content of a part as torch may see it."""
    if part in _PICKLES:
        try:
            # What passes here never reaches torch's second attempt, with weights_only=False.
            torch.load(io.BytesIO(content), weights_only=True) if content else None
        except Exception as error:  # as above
            found = re.search(r"GLOBAL [\w.]+", str(error))
            raise untrusted(
                path,
                f"{part} in it is a pickle with more than arrays"
                + (f" ({found[0].removeprefix('GLOBAL ')})" if found else ""),
            ) from error
        return content
    try:
        read = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{part} in {str(path)!r} is not JSON.") from error
    if part in _LISTS:
        why_not = reason_in_payloads(read)
    else:
        if isinstance(read, dict):
            read["guards_code"] = []  # Python source with which torch checks arguments again
        why_not = reason_in_program(read, _is_known)
    if why_not is not None:
        raise untrusted(path, why_not)
    return json.dumps(read).encode()  # without a key twice, which could be read in two ways


def _is_known(target: str) -> bool:
    """Whether an operation computes only: those of torch's own that touch no file, and those that
    there is a rule for."""
    found = _TARGET.fullmatch(target)
    if found is not None:
        space, name, overload = found[1], found[2], found[3] or ""
        if space == "higher_order":
            return name in CONTROL
        if space in ("aten", "prims") and not name.startswith("__"):
            return name not in _TOUCH_FILES
        full = f"{space}.{name}{overload}"
        names = (full, f"{space}::{name}{overload}", f"{space}.{name}", f"{space}::{name}")
        return rule.find(*names) is not None
    home, _, name = target.partition(".")
    if home == "_operator":
        return name == "getitem" or rule.find(f"operator.{name}") is not None
    return home in ("math", "torch") and rule.find(target) is not None
