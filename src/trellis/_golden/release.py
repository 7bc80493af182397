"""The stored releases, and reading one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core.errors import ArgumentError
from .._core.files import read_arrays

FORMAT = "trellis-golden-1"
FOLDER = Path(__file__).parent / "releases"


@dataclass(frozen=True)
class Release:
    """What one version computed.

    Attributes:
        folder: Where its files are.
        version: The version, as in its CHANGELOG.
        date: When it was recorded.
        source: The commit, and what of it was recorded.
        entries: One dict for each recorded thing; `replay.KINDS` has what the kinds mean.
        unrecorded: From public names that have no entry to the reason.
        arrays: The NumPy arrays that the entries name by their number.
    """

    folder: Path
    version: str
    date: str
    source: str
    entries: list[dict[str, Any]]
    unrecorded: dict[str, str]
    arrays: dict[str, Any]


def releases() -> list[str]:
    """The versions that are stored here, oldest first."""
    found = [path.parent.name for path in FOLDER.glob("*/vectors.json")]
    return sorted(found, key=_numbers)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple([int(part) for part in version.split(".")])


def read_release(version: str) -> Release:
    """The vectors of a version."""
    folder = FOLDER / version
    if version not in releases():
        raise ArgumentError(
            f"No golden vectors of version {version!r} are stored; there are those of "
            f"{', '.join(releases())}."
        )
    head = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
    if head["format"] != FORMAT:
        raise ArgumentError(f"{folder} has the format {head['format']!r}, expected {FORMAT!r}.")
    arrays, _ = read_arrays(folder / "arrays.safetensors")
    return Release(
        folder,
        head["version"],
        head["date"],
        head["source"],
        head["entries"],
        head["unrecorded"],
        arrays,
    )
