"""What a project's ``board.toml`` says: its branch, columns, groups of rows and known issues.

>>> settings = parse_settings('''
... default_branch = "trunk"
... columns = ["numpy", { name = "torch", label = "PyTorch" }]
...
... [[group]]
... name = "Gradients"
... tests = ["tests/test_gradients::*", "tests/test_cases::*[{row}*]"]
...
... [[issue]]
... tests = "tests/test_random::*"
... backend = "torch"
... link = "https://example.org/issues/7"
... ''')
>>> settings.default_branch, [column.label for column in settings.columns]
('trunk', ['numpy', 'PyTorch'])
>>> settings.place("tests/test_cases", "test_value[tanh: large]")
(0, 1, 'tanh')
>>> settings.place("tests/test_tree", "test_get") is None
True

The settings of a project are kept in the store, with its results: ``trellis-board configure``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select, update

from . import schema
from .summaries import changed
from .texts import safe_link

__all__ = [
    "Column",
    "Group",
    "Issue",
    "Owner",
    "Settings",
    "parse_settings",
    "read_settings",
    "save",
]


@dataclass(frozen=True)
class Column:
    """A column of the matrix: a backend, and what it is called there."""

    name: str
    label: str


@dataclass(frozen=True)
class Pattern:
    """Which tests: ``*`` stands for any text, ``{row}`` for the word that names their row."""

    text: str
    row: str | None
    expression: re.Pattern[str] = field(repr=False)


@dataclass(frozen=True)
class Group:
    """Rows that are shown together under a name."""

    name: str
    patterns: tuple[Pattern, ...]
    folded: bool


@dataclass(frozen=True)
class Issue:
    """A link for the cells that are not green for a known reason."""

    title: str
    link: str
    tests: Pattern
    backend: Pattern
    message: str

    def explains(self, test: str, backend: str, message: str) -> bool:
        """Whether a cell that is not green is one of this issue's."""
        return (
            self.tests.expression.fullmatch(test) is not None
            and self.backend.expression.fullmatch(backend) is not None
            and self.message in message
        )


@dataclass(frozen=True)
class Owner:
    """Who looks after some tests."""

    name: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Settings:
    """All that a project may set."""

    default_branch: str | None = None
    title: str | None = None
    url: str | None = None
    source: str | None = None
    """The address of a file of tests, with ``{commit}``, ``{file}`` and ``{test}`` in it."""
    columns: tuple[Column, ...] = ()
    other_columns: bool = True
    """Whether backends that `columns` does not name are shown behind the others."""
    groups: tuple[Group, ...] = ()
    issues: tuple[Issue, ...] = ()
    owners: tuple[Owner, ...] = ()
    target: float | None = None
    """The joint score that the project wants, in percent."""

    def place(self, module: str, test: str) -> tuple[int, int, str | None] | None:
        """Group, pattern within it and shared row of a test; None if no group has it."""
        name = f"{module}::{test}"
        for index, group in enumerate(self.groups):
            for rank, pattern in enumerate(group.patterns):
                found = pattern.expression.fullmatch(name)
                if found:
                    return index, rank, pattern.row or found.groupdict().get("row")
        return None

    def owner(self, module: str, test: str) -> str | None:
        """Who looks after a test: the last entry that has it, as in a CODEOWNERS file."""
        name = f"{module}::{test}"
        for owner in reversed(self.owners):
            if any(pattern.expression.fullmatch(name) for pattern in owner.patterns):
                return owner.name
        return None

    def shown_columns(self, backends: list[str]) -> list[Column]:
        """The columns for the backends that a project has, in their order."""
        named = [column for column in self.columns if column.name in backends]
        known = {column.name for column in self.columns}
        if self.other_columns or not self.columns:
            named += [Column(name, name) for name in backends if name not in known]
        return named


def parse_settings(text: str) -> Settings:
    """Read the text of a ``board.toml``; a mistake in it is a `ValueError` that says where."""
    return _settings(tomllib.loads(text))


def read_settings(connection: Connection, project: int) -> Settings:
    """The settings of a project as its store has them."""
    query = select(schema.project.c.settings).where(schema.project.c.id == project)
    stored = connection.execute(query).scalar()
    return _settings(json.loads(stored)) if stored else Settings()


def save(connection: Connection, project: int, text: str) -> Settings:
    """Keep the text of a ``board.toml`` as the settings of a project, if it has no mistake."""
    settings = parse_settings(text)
    connection.execute(
        update(schema.project)
        .where(schema.project.c.id == project)
        .values(settings=json.dumps(tomllib.loads(text)))
    )
    changed(connection, project)
    return settings


def _settings(document: Mapping[str, Any]) -> Settings:
    readers: dict[str, Callable[[Any, str], Any]] = {
        "default_branch": _string,
        "title": _string,
        "url": _link,
        "source": _source,
        "columns": lambda value, where: tuple(_each(value, where, _column)),
        "other_columns": _flag,
        "target": _percent,
        "group": lambda value, where: tuple(_each(value, where, _group)),
        "issue": lambda value, where: tuple(_each(value, where, _issue)),
        "owner": lambda value, where: tuple(_each(value, where, _owner)),
    }
    values = _table(document, "board.toml", readers)
    for singular in ("group", "issue", "owner"):
        if singular in values:
            values[f"{singular}s"] = values.pop(singular)
    return Settings(**values)


def _table(
    value: Any, where: str, readers: Mapping[str, Callable[[Any, str], Any]]
) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is {value!r}; expected a table with {', '.join(readers)}")
    for key in value:
        if key not in readers:
            raise ValueError(f"{where}: unknown key {key!r}; expected {', '.join(readers)}")
    return {key: readers[key](found, f"{where}: {key}") for key, found in value.items()}


def _each(value: Any, where: str, read: Callable[[Any, str], Any]) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where} is {value!r}; expected a list")
    return [read(each, f"{where}, entry {number}") for number, each in enumerate(value, 1)]


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where} is {value!r}; expected a text")
    return value


def _link(value: Any, where: str) -> str:
    if not isinstance(value, str) or safe_link(value) is None:
        raise ValueError(f"{where} is {value!r}; expected an address with http:// or https://")
    return value


def _source(value: Any, where: str) -> str:
    link = _link(value, where)
    known = ("commit", "file", "test")
    for name in re.findall(r"\{(.*?)\}", link):
        if name not in known:
            raise ValueError(
                f"{where}: {{{name}}} is not known; expected {{commit}}, {{file}}, {{test}}"
            )
    if "{file}" not in link:
        raise ValueError(f"{where} is {value!r}; expected {{file}} in it, and perhaps {{commit}}")
    return link


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where} is {value!r}; expected true or false")
    return value


def _percent(value: Any, where: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 100:
        raise ValueError(f"{where} is {value!r}; expected a number of percent, up to 100")
    return float(value)


def _column(value: Any, where: str) -> Column:
    if isinstance(value, str):
        return Column(value, value)
    found = _table(value, where, {"name": _string, "label": _string})
    if "name" not in found:
        raise ValueError(f"{where} has no name; expected the name of a backend")
    return Column(found["name"], found.get("label", found["name"]))


def _group(value: Any, where: str) -> Group:
    found = _table(
        value,
        where,
        {
            "name": _string,
            "tests": lambda value, where: tuple(_each(value, where, _tests)),
            "folded": _flag,
        },
    )
    if "name" not in found or not found.get("tests"):
        raise ValueError(f"{where} needs a name and tests")
    return Group(found["name"], found["tests"], found.get("folded", False))


def _owner(value: Any, where: str) -> Owner:
    readers = {"name": _string, "tests": lambda value, where: tuple(_each(value, where, _tests))}
    found = _table(value, where, readers)
    if "name" not in found or not found.get("tests"):
        raise ValueError(f"{where} needs a name and tests")
    return Owner(found["name"], found["tests"])


def _tests(value: Any, where: str) -> Pattern:
    if isinstance(value, str):
        return _pattern(value)
    found = _table(value, where, {"match": _string, "row": _string})
    if "match" not in found:
        raise ValueError(f"{where} has no match; expected which tests share the row")
    return _pattern(found["match"], found.get("row"))


def _issue(value: Any, where: str) -> Issue:
    found = _table(
        value,
        where,
        dict.fromkeys(("tests", "backend", "message", "title"), _string) | {"link": _link},
    )
    if "link" not in found or "tests" not in found:
        raise ValueError(f"{where} needs tests and a link")
    return Issue(
        found.get("title", found["link"]),
        found["link"],
        _pattern(found["tests"]),
        _pattern(found.get("backend", "*")),
        found.get("message", ""),
    )


def _pattern(text: str, row: str | None = None) -> Pattern:
    """A pattern, compiled. Brackets mean themselves: ids of tests are full of them."""
    if text.count("{row}") > 1:
        raise ValueError(f"pattern {text!r}: a test has one row, so {{row}} may occur once")
    parts = {"*": ".*", "{row}": r"(?P<row>[\w.]+)"}
    pieces = [parts.get(p, re.escape(p)) for p in re.split(r"(\*|\{row\})", text)]
    return Pattern(text, row, re.compile("".join(pieces), re.DOTALL))
