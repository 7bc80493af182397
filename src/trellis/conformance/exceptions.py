"""What a backend cannot do: the table `[rows]` of its `conformance.toml`.

    [rows]
    "test_gradient[linalg.qr: wide]" = "the framework has no derivative of wide matrices"
    "fft.fft" = "there are no complex numbers"

A key is a test as pytest shows it, or what stands in its brackets, for all tests of that row. The
table is strict: a test in it that passes fails the run, and so does a name that no test has.
"""

import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FILE = "conformance.toml"


@dataclass(frozen=True)
class Exceptions:
    """From the names of tests and rows to the reasons why they fail."""

    path: Path | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def reason(self, test: str) -> str | None:
        """Why a test fails; None if it has to pass.

        >>> table = Exceptions(reasons={"fft.fft": "no complex", "test_value[abs]": "no sign"})
        >>> table.reason("test_compiled[fft.fft]"), table.reason("test_compiled[abs]")
        ('no complex', None)
        """
        names = names_of(test)
        found = [self.reasons[name] for name in names if name in self.reasons]
        return found[0] if found else None

    def unknown(self, tests: list[str]) -> list[str]:
        """The names that no test has."""
        known = {name for test in tests for name in names_of(test)}
        return [name for name in self.reasons if name not in known]


def names_of(test: str) -> list[str]:
    """How a test may be called: as a whole, and by its row."""
    row = test.partition("[")[2].removesuffix("]")
    return [test, row] if row else [test]


def find(given: str | None, module: Any) -> Exceptions:
    """The table in the file of that name; else in that of the backend's package, or in that of the
    current folder."""
    if given is not None:
        if not Path(given).is_file():
            raise pytest.UsageError(f"--conformance: there is no file {given}")
        return read(Path(given))
    package = sys.modules.get(str(module.__name__).partition(".")[0])
    origins = [getattr(each, "__file__", None) for each in (module, package)]
    folders = [Path(origin).parent for origin in origins if origin]
    for folder in [*folders, Path.cwd()]:
        if (folder / FILE).is_file():
            return read(folder / FILE)
    return Exceptions()


def read(path: Path) -> Exceptions:
    """The table of a file; an entry without a reason is refused."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise pytest.UsageError(f"{path} is no TOML file: {error}") from None
    rows = table.pop("rows", {})
    if table:
        raise pytest.UsageError(f"{path}: unknown {', '.join(table)}; it has one table, [rows]")
    for name, reason in rows.items():
        if not isinstance(reason, str) or not reason.strip():
            raise pytest.UsageError(f"{path}: {name!r} needs a reason, got {reason!r}")
    return Exceptions(path, rows)
