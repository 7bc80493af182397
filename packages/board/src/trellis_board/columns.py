"""What the columns of a board are called.

A column is a backend. Where one run has several versions of it, or several machines, those can be
columns of their own, grouped under the backend: `group_of` tells which.

>>> group_of("torch 2.13 linux-x86_64"), group_of("pandas[pyarrow]")
('torch', 'pandas[pyarrow]')
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Collection

from . import environment

__all__ = ["ADDITIONS", "PLAIN", "Labels", "group_of"]

PLAIN = "any"
"""The column of tests that have no backend."""

ADDITIONS = ("version", "platform", "python")
"""What can be told apart in the names of columns, in this order."""


def group_of(column: str) -> str:
    """The backend that a column belongs to: its name up to the first space."""
    return column.partition(" ")[0]


class Labels:
    """Turns backends into the names of their columns, as ``board_columns`` asks for.

    >>> Labels(()).column("torch")
    'torch'
    >>> Labels(["python"]).column("any").startswith("any py3.")
    True
    """

    def __init__(self, additions: Collection[str]) -> None:
        unknown = sorted(set(additions) - set(ADDITIONS))
        if unknown:
            raise ValueError(f"{', '.join(unknown)}; expected some of {', '.join(ADDITIONS)}")
        self._additions = [name for name in ADDITIONS if name in additions]
        self._columns: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._additions)

    def column(self, backend: str) -> str:
        """The name of the column of `backend`, in this process."""
        if not self._additions:
            return backend
        if backend not in self._columns:
            words = [_word(addition, backend) for addition in self._additions]
            self._columns[backend] = " ".join([backend, *filter(None, words)])
        return self._columns[backend]


def _word(addition: str, backend: str) -> str:
    if addition == "python":
        return f"py{sys.version_info.major}.{sys.version_info.minor}"
    if addition == "platform":
        return f"{platform.system().lower()}-{platform.machine()}"
    # "torch-cpu" and "pandas[pyarrow]" have the versions of torch and pandas.
    name = re.split(r"[^A-Za-z0-9_]", backend, maxsplit=1)[0]
    found = environment.versions([name])
    version = found.get(name) or next(iter(found.values()), "")
    return ".".join(re.split(r"[^0-9]", version)[:2])
