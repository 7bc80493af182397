"""The steps that all writers share: write to a temporary name, verify, then rename."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._core.errors import ArgumentError, BackendNotInstalledError, ConversionError
from .description import Description, record, version_of
from .program import Program
from .verify import Runner
from .verify import verify as compare

VARIABLES = ("parameters", "constants")


class Format(NamedTuple):
    """A kind of file: its name, the packages that write it, and the one that runs it."""

    name: str
    packages: tuple[str, ...]
    runtime: str


def write(
    program: Program,
    path: str | os.PathLike[str],
    format: Format,
    variables: str,
    *,
    save: Callable[[Path, Mapping[str, Any]], None],
    load: Callable[[Path], Runner],
    verify: bool,
) -> Description:
    """Write a program with `save`, have `load` read it back and compare, and put it in place.

    Until it is verified the file has another place: the path names the old file or a good one.
    """
    if variables not in VARIABLES:
        raise ArgumentError(
            f"variables must be {' or '.join([repr(name) for name in VARIABLES])}, got "
            f"{variables!r}."
        )
    target = Path(path)
    _check_target(target)
    by = f"{format.runtime} {version_of(format.runtime)}" if verify else "nobody"
    about = record(program, format.name, format.packages, variables, by)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        written = Path(folder) / target.name
        save(written, about)
        verified = "not verified"
        if verify:
            verified = compare(program, _loaded(load, written, program.name, by), by)
        for part in sorted(Path(folder).iterdir(), key=lambda part: part.name == target.name):
            _put(part, target.parent / part.name)
    from .reading import read

    found = read(target)
    return Description(
        str(path),
        format.name,
        found.size,
        tuple(program.inputs),
        tuple(program.outputs),
        found.weights,
        found.metadata,
        verified,
    )


def _loaded(load: Callable[[Path], Runner], path: Path, name: str, runtime: str) -> Runner:
    try:
        return load(path)
    except Exception as error:
        raise ConversionError(
            f"{name} was written, but {runtime} cannot load it: {error}. With verify=False the "
            "file is kept, for a runtime that can."
        ) from error


def require(package: str, function: str) -> None:
    """Say what to install, where something is missing that only export needs."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise BackendNotInstalledError(
            f"{function}() needs the package {package}, which is not installed. "
            f"Run: pip install {package}"
        )


def _check_target(target: Path) -> None:
    if target.is_dir() and any(target.iterdir()) and not (target / "saved_model.pb").exists():
        raise ArgumentError(
            f"{str(target)!r} is a directory with other things in it, which would be lost. "
            "Name a new file or directory."
        )


def _put(part: Path, target: Path) -> None:
    if target.is_dir():
        # A directory cannot be replaced in one step: the old one moves aside.
        aside = part.with_name(f"{part.name}.old")
        os.rename(target, aside)
        os.rename(part, target)
        shutil.rmtree(aside)
    else:
        os.replace(part, target)
