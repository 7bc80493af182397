"""The tables of a store, as the newest schema version has them; `migrations` builds them.

::

    project --< run --< part --< result >-- test >-- module >-- project
                        part --< broken >-- backend >-- project
    project --< token

Two more tables hold no facts of their own: `cell` is the newest result of every cell on every
branch, `tally` counts the outcomes of every run. `summaries` keeps them in step with the results,
so that readers need not go through the history. Two others are a diary, which `standing` writes:
what the board said after a run, by backend (`standing`) and of all backends (`joint`).
"""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text, text
from sqlalchemy import UniqueConstraint as Unique

__all__ = [
    "backend",
    "broken",
    "cell",
    "joint",
    "metadata",
    "module",
    "part",
    "project",
    "result",
    "run",
    "standing",
    "tally",
    "test",
    "token",
]

metadata = MetaData()


def _table(name: str, *rest: Column[object] | Unique | Index) -> Table:
    return Table(name, metadata, Column("id", Integer, primary_key=True), *rest)


def _text(name: str, nullable: bool = False) -> Column[object]:
    return Column(name, Text, nullable=nullable)


def _number(name: str, nullable: bool = False) -> Column[object]:
    return Column(name, Integer, nullable=nullable)


def _real(name: str, nullable: bool = False) -> Column[object]:
    return Column(name, Double, nullable=nullable)


def _of(table: str) -> Column[object]:
    return Column(f"{table}_id", Integer, ForeignKey(f"{table}.id"), nullable=False)


def _key(name: str) -> Column[object]:
    return Column(name, Text if name in ("branch", "outcome") else Integer, primary_key=True)


project = _table(
    "project",
    _text("name"),
    _number("revision"),  # goes up with every change, so that a copy can be known to be old
    _text("settings", nullable=True),  # JSON: what its board.toml says
    Unique("name"),
)

run = _table(
    "run",
    _of("project"),
    _text("name"),
    _text("commit", nullable=True),
    _text("branch", nullable=True),
    _real("started"),
    Unique("project_id", "name"),
)

part = _table(
    "part",
    _of("run"),
    _text("shard"),
    _real("started"),
    _text("link", nullable=True),
    _text("python", nullable=True),
    _text("platform", nullable=True),
    _text("versions"),  # JSON
    Unique("run_id", "shard"),
)

module = _table(
    "module",
    _of("project"),
    _text("name"),
    _text("columns", nullable=True),  # JSON: the order of backends an imported table had
    Unique("project_id", "name"),
)

test = _table(
    "test",
    _of("module"),
    _text("name"),
    _number("position"),
    Unique("module_id", "name"),
)

backend = _table("backend", _of("project"), _text("name"), Unique("project_id", "name"))

result = _table(
    "result",
    _of("run"),
    _of("part"),
    _of("test"),
    _of("backend"),
    _text("outcome"),
    _real("duration", nullable=True),
    _number("comparisons", nullable=True),
    _number("attempts"),
    _text("message"),
    _real("at"),
    _text("link", nullable=True),
    Index("result_by_cell", "test_id", "backend_id"),
    Index("result_by_part", "part_id"),
    Index(
        "result_in_trouble",
        "part_id",
        sqlite_where=text("outcome IN ('hollow', 'failure', 'error') OR attempts > 1"),
        postgresql_where=text("outcome IN ('hollow', 'failure', 'error') OR attempts > 1"),
    ),
)

broken = _table(
    "broken",
    _of("part"),
    _text("module"),
    _text("message"),
    _text("backends"),  # JSON
    Index("broken_by_part", "part_id"),
)

cell = Table(
    "cell",
    metadata,
    *(_key(name) for name in ("project_id", "branch", "test_id", "backend_id")),
    _number("run_id"),
    _number("part_id"),
    _number("result_id"),
    _real("started"),  # of the run
    _text("outcome"),
    _real("duration", nullable=True),
    _real("at"),
)

tally = Table(
    "tally",
    metadata,
    *(_key(name) for name in ("run_id", "backend_id", "outcome")),
    _number("cells"),
)

standing = Table(
    "standing",
    metadata,
    *(_key(name) for name in ("run_id", "backend_id", "outcome")),
    _number("cells"),
)

joint = Table("joint", metadata, _key("run_id"), _number("green"), _number("of"))

token = _table(
    "token",
    _of("project"),
    _text("scope"),
    _text("label"),
    _text("hash"),
    _real("created"),
    _real("revoked", nullable=True),
    Unique("hash"),
)
