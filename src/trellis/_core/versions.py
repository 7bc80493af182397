"""Which versions of the frameworks Trellis works with.

The lowest ones are those of the extras in pyproject.toml, read from the installed metadata. The
newest ones are those that the tests have run with (docs/stability.md).
"""

import importlib
import importlib.metadata
import re
from functools import cache

from .errors import BackendNotInstalledError

NEWEST_TESTED = {"numpy": "2.5", "torch": "2.15", "jax": "0.12", "tensorflow": "2.21"}


@cache
def lowest(package: str) -> str | None:
    """The lowest version of a package that Trellis asks for; None if it is not known here."""
    try:
        lines = importlib.metadata.requires("trellis-ml") or []
    except importlib.metadata.PackageNotFoundError:  # a source tree that was never installed
        return None
    for line in lines:
        found = re.match(rf"{package}>=([\d.]+)(?![\w.])", line)
        if found is not None:
            return found[1]
    return None


def numbers(version: str) -> tuple[int, ...]:
    """What versions are compared by.

    >>> numbers("2.13.0+cpu") > numbers("2.9")
    True
    """
    release = re.match(r"\d+(\.\d+)*", version)
    return tuple([int(part) for part in release[0].split(".")]) if release else ()


def require(package: str) -> None:
    """Raise if the installed version of a framework is too old."""
    version = str(importlib.import_module(package).__version__)
    floor = lowest(package)
    if floor is not None and numbers(version) < numbers(floor):
        raise BackendNotInstalledError(
            f"The backend {package!r} needs {package} {floor} or newer, and {version} is "
            f"installed. Run: pip install --upgrade '{package}>={floor}'"
        )
