"""Markdown tables in and out of a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Connection, update

from . import schema
from .clean import name_of
from .queries import UnknownNameError, backend_names, latest, modules, parts
from .recording import ensure_tests, project_id, record_part
from .records import Part, Result
from .store import Store
from .tables import Cell, Table, read_table, write_table

__all__ = ["export_tables", "file_names", "import_table", "write_tables"]

_LONGEST_FILE = 150


def import_table(store: Store, project: str, module: str, text: str, at: float) -> int:
    """Record a Markdown table as a run of its own; returns how many cells it had.

    The order of its rows and columns is kept. Importing the same table again changes nothing.
    """
    table, module = read_table(text, module), name_of(module)
    results = [
        Result(module, test, backend, cell.outcome, link=cell.link)
        for test, cells in table.rows.items()
        for backend, cell in cells.items()
    ]
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    part = Part(run=f"import-{digest}", shard=module, started=at, results=results)
    with store.writing() as connection:
        owner = project_id(connection, project)
        rows = [(module, name_of(test)) for test in table.rows]
        tests = ensure_tests(connection, owner, rows)
        record_part(connection, owner, part)
        connection.execute(
            update(schema.module)
            .where(schema.module.c.project_id == owner, schema.module.c.name == module)
            .values(columns=json.dumps(table.columns))
        )
        for position, row in enumerate(rows):
            connection.execute(
                update(schema.test).where(schema.test.c.id == tests[row]).values(position=position)
            )
    return len(results)


def export_tables(
    connection: Connection, project: int, module: str | None = None, branch: str | None = None
) -> dict[str, Table]:
    """The latest cells of one module, or of all, as tables; of the default or another branch."""
    every = modules(connection, project)
    chosen = [m for m in every if module in (None, m.name)]
    if not chosen and module is not None:
        have = ", ".join(m.name for m in every) or "none yet"
        raise UnknownNameError(f"no module {module!r} in this store; it has {have}")
    backends = backend_names(connection, project)
    links = {id: part.link for id, part in parts(connection, project).items()}
    cells: dict[int, dict[str, Cell]] = {}
    for result in latest(connection, project, branch):
        link = result.link if result.link is not None else links[result.part_id]
        cell = Cell(result.outcome, link)
        cells.setdefault(result.test_id, {})[backends[result.backend_id]] = cell
    tables = {}
    for names in chosen:
        rows = {name: cells.get(test, {}) for test, name in names.tests.items()}
        used = {backend for row in rows.values() for backend in row}
        columns = [*(names.columns or []), *(b for b in backends.values() if b in used)]
        tables[names.name] = Table(list(dict.fromkeys(columns)), rows)
    return tables


def write_tables(tables: dict[str, Table], folder: Path) -> list[Path]:
    """Write each table to a file of its own in `folder`; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    names = file_names(tables)
    for module, table in tables.items():
        path = folder / f"{names[module]}.md"
        path.write_text(write_table(table), encoding="utf-8")
        written.append(path)
    return written


def file_names(names: Iterable[str]) -> dict[str, str]:
    """For each name of a module or backend one of a file: it can lead nowhere else.

    Long ones are cut, and where two would be the same, the later one gets a digest of its name.

    >>> file_names(["tests/core/test_ops", "../../etc/passwd", "etc.passwd"])
    {'tests/core/test_ops': 'tests.core.test_ops', '../../etc/passwd': 'etc.passwd', \
'etc.passwd': 'etc.passwd.3d7f14ed'}
    """
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        kept = "".join(c if c.isalnum() or c in "._-" else "." for c in name).strip(".")
        # File systems count bytes: 255 of them, of which a prefix and an ending take some.
        cut = kept.encode()[:_LONGEST_FILE].decode(errors="ignore") or "unnamed"
        # Some of them take two names for one that differ in their case.
        if cut != (kept or cut) or cut.lower() in taken:
            digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
            cut = f"{cut}.{digest}"
        taken.add(cut.lower())
        given[name] = cut
    return given
