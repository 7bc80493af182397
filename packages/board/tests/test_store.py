"""The store on SQLite and PostgreSQL: whole or not at all, latest, worst, migrations."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from sqlalchemy import inspect, select, text

from trellis_board import migrations, schema
from trellis_board.migrations import MIGRATIONS, StoreTooNewError, migrate
from trellis_board.queries import UnknownNameError
from trellis_board.records import BrokenModule, Part, Result
from trellis_board.store import Store

from .conftest import SOURCE
from .helpers import count, latest_cells, make_part, outcomes


def test_the_newest_run_is_shown(any_store):
    project = any_store.for_project("p")
    project.record(make_part("2", started=2000, tanh__numpy="success", sin__numpy="success"))
    project.record(make_part("1", started=1000, tanh__numpy="failure", cos__numpy="hollow"))
    assert outcomes(any_store) == {
        ("test_tanh", "numpy"): "success",
        ("test_sin", "numpy"): "success",
        ("test_cos", "numpy"): "hollow",
    }


def test_within_a_run_the_worst_is_shown(any_store):
    project = any_store.for_project("p")
    project.record(make_part("1", shard="a", tanh__numpy="failure"))
    project.record(make_part("1", shard="b", tanh__numpy="success"))
    assert outcomes(any_store) == {("test_tanh", "numpy"): "failure"}


def test_a_shard_recorded_again_replaces_itself(any_store):
    project = any_store.for_project("p")
    project.record(make_part("1", shard="a", tanh__numpy="failure", sin__numpy="error"))
    project.record(make_part("1", shard="b", cos__numpy="success"))
    project.record(make_part("1", shard="a", tanh__numpy="success"))
    assert outcomes(any_store) == {
        ("test_tanh", "numpy"): "success",
        ("test_cos", "numpy"): "success",
    }
    assert count(any_store).parts == 2


def test_tests_that_share_a_cell_are_merged(any_store):
    results = [
        Result("m", "t", "numpy", "success", duration=1.0, comparisons=2, attempts=3),
        Result("m", "t", "numpy", "failure", duration=0.5, comparisons=1, message="broken"),
    ]
    any_store.for_project("p").record(Part("1", "a", 1.0, results=results))
    cell = latest_cells(any_store)["t", "numpy"]
    assert (cell.outcome, cell.message, cell.duration) == ("failure", "broken", 1.5)
    assert (cell.comparisons, cell.attempts) == (3, 3)


def test_a_broken_module_turns_its_cells_red(any_store):
    project = any_store.for_project("p")
    project.record(make_part("1", tanh__numpy="success", tanh__torch="success"))
    project.record(Part("2", "a", 2000.0, broken=[BrokenModule("ops", "SyntaxError")]))
    cells = latest_cells(any_store)
    assert {cell.outcome for cell in cells.values()} == {"error"}
    assert "SyntaxError" in cells["test_tanh", "torch"].message


def test_one_bad_row_and_nothing_is_recorded(any_store):
    part = make_part("1", tanh__numpy="success")
    part.results.append(Result("ops", "test_sin", "numpy", "success", message=None))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="message None"):
        any_store.for_project("p").record(part)
    assert (count(any_store).runs, count(any_store).cells) == (0, 0)


def test_a_run_has_one_commit(any_store):
    project = any_store.for_project("p")
    project.record(Part("1", "a", 1.0, commit="aaaa"))
    with pytest.raises(ValueError, match="belongs to commit aaaa, this part to bbbb"):
        project.record(Part("1", "b", 1.0, commit="bbbb"))
    assert count(any_store).parts == 1


def test_projects_do_not_see_each_other(any_store):
    any_store.for_project("one").record(make_part("1", tanh__numpy="success"))
    any_store.for_project("two").record(make_part("1", tanh__numpy="failure"))
    assert outcomes(any_store, "one") == {("test_tanh", "numpy"): "success"}
    assert outcomes(any_store, "two") == {("test_tanh", "numpy"): "failure"}
    with pytest.raises(UnknownNameError, match="has the projects one, two"):
        outcomes(any_store)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "x" * 101])
def test_a_project_has_a_name_that_fits_in_an_address(store, name):
    with pytest.raises(ValueError, match="letters, digits"):
        store.for_project(name).record(make_part())


def test_an_unknown_outcome_is_refused():
    with pytest.raises(ValueError, match=r"'green'.*expected one of success"):
        Result("m", "t", "numpy", "green")


def test_an_old_store_is_migrated_and_keeps_its_results(address):
    old = Store.open(address)
    with old.writing() as connection:
        for table in [*schema.metadata.tables, "board_schema"]:
            connection.execute(text(f"DROP TABLE {table}{_cascade(old)}"))
        assert migrate(connection, to_version=1) == 1
        for statement in OLD_STORE:
            connection.execute(text(statement))
    with old.reading() as connection:
        assert not inspect(connection).has_table("token")
    old.close()
    new = Store.open(address)
    assert outcomes(new) == {("test_tanh", "numpy"): "failure"}
    with new.reading() as connection:
        tallies = {tuple(row) for row in connection.execute(select(schema.tally))}
        assert tallies == {(1, 1, "success", 1), (2, 1, "failure", 1)}
        assert inspect(connection).has_table("token")
        assert migrations.version_of(connection) == len(MIGRATIONS)
    new.close()


def test_of_the_runs_of_an_older_library_only_whole_ones_are_points_over_time(address):
    """What the board said after a run was not kept then; a run of one test would be a dip."""
    old = Store.open(address)
    whole = {f"{t}__{b}": "success" for t in ("tanh", "sin") for b in ("numpy", "torch")}
    parts = [whole, {"tanh__numpy": "success", "tanh__torch": "failure"}, whole]
    for number, cells in enumerate(parts, start=1):
        part = make_part(str(number), started=float(number), **cells)
        old.for_project("p").record(part)
    with old.writing() as connection:
        connection.execute(text("DROP TABLE standing"))
        connection.execute(text("UPDATE board_schema SET version = 5"))
    old.close()
    new = Store.open(address)
    with new.reading() as connection:
        for table in (schema.standing, schema.joint):
            assert set(connection.execute(select(table.c.run_id)).scalars()) == {1, 3}
    new.close()


OLD_STORE = [
    "INSERT INTO project (id, name) VALUES (1, 'p')",
    "INSERT INTO backend (id, project_id, name) VALUES (1, 1, 'numpy')",
    "INSERT INTO module (id, project_id, name) VALUES (1, 1, 'ops')",
    "INSERT INTO test (id, module_id, name, position) VALUES (1, 1, 'test_tanh', 0)",
    *(
        statement
        for run, outcomes in ((1, ["success"]), (2, ["success", "failure"]))
        for statement in (
            f"INSERT INTO run (id, project_id, name, started) VALUES ({run}, 1, '{run}', {run})",
            *(
                f"INSERT INTO part (id, run_id, shard, started, versions)"
                f" VALUES ({10 * run + n}, {run}, '{n}', {run}, '{{}}')"
                for n, _ in enumerate(outcomes)
            ),
            *(
                f"INSERT INTO result"
                f" (run_id, part_id, test_id, backend_id, outcome, attempts, message, at)"
                f" VALUES ({run}, {10 * run + n}, 1, 1, '{outcome}', 1, '', {run})"
                for n, outcome in enumerate(outcomes)
            ),
        )
    ),
]


def _cascade(store: Store) -> str:
    return " CASCADE" if store.engine.dialect.name == "postgresql" else ""


def test_migrations_build_what_the_schema_describes(any_store):
    with any_store.reading() as connection:
        found = inspect(connection)
        for name, table in schema.metadata.tables.items():
            columns = {c["name"]: bool(c["nullable"]) for c in found.get_columns(name)}
            assert columns.keys() == set(table.columns.keys())
            nullable = {c.name: bool(c.nullable) for c in table.columns if not c.primary_key}
            keys = {column.name for column in table.primary_key}
            assert {k: v for k, v in columns.items() if k not in keys} == nullable
            described = {index.name for index in table.indexes}
            unique = {c["name"] for c in found.get_unique_constraints(name)}
            assert {i["name"] for i in found.get_indexes(name)} - unique == described


def test_a_store_of_a_newer_library_is_refused(store, tmp_path):
    with store.writing() as connection:
        connection.execute(text("UPDATE board_schema SET version = 99"))
    with pytest.raises(StoreTooNewError, match=r"version 99.*install a newer trellis-board"):
        Store.open(tmp_path / "board.sqlite")


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path):
    with pytest.raises(FileNotFoundError, match="pytest --board"):
        Store.open(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()


def test_an_error_never_shows_a_password():
    with pytest.raises(ValueError, match="postgresql://") as caught:
        Store.open("mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)


WRITER = """
import sys
from trellis_board.records import Part, Result
from trellis_board.store import Store
address, writer, parts, cells = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
project = Store.open(address).for_project("p")
print("ready", flush=True)
sys.stdin.readline()
for number in range(parts):
    results = [
        Result(f"m{i % 7}", f"test_{i}", "numpy", "success", message=writer) for i in range(cells)
    ]
    project.record(Part(f"run-{number}", f"shard-{writer}", 1.0, results=results))
    print(f"run-{number}", flush=True)
"""


def test_eight_writers_and_one_is_killed(address):
    """Nothing is half there, and nothing is lost that a writer was told is recorded."""
    writers, parts, cells = 8, 3, 120
    command = [sys.executable, "-c", WRITER, address]
    started = [
        subprocess.Popen(
            [*command, str(writer), str(parts), str(cells)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(SOURCE)},
        )
        for writer in range(writers)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    victim = random.randrange(writers)
    told: dict[int, list[str]] = {}
    if parts:  # the victim dies after a random number of its parts, in the middle of the next
        stream = started[victim].stdout
        told[victim] = [stream.readline().strip() for _ in range(random.randrange(parts))]
        started[victim].kill()
    for writer, process in enumerate(started):
        rest, _ = process.communicate()
        told[writer] = told.get(writer, []) + rest.split()
        assert process.returncode == 0 or writer == victim

    store = Store.open(address)
    with store.reading() as connection:
        rows = connection.execute(
            text(
                "SELECT run.name, part.shard, count(result.id) FROM part"
                " JOIN run ON run.id = part.run_id LEFT JOIN result ON result.part_id = part.id"
                " GROUP BY run.name, part.shard"
            )
        ).all()
    store.close()
    assert {number for _, _, number in rows} == {cells}, "a part is half recorded"
    recorded = {(run, shard) for run, shard, _ in rows}
    promised = {(run, f"shard-{w}") for w, names in told.items() for run in names}
    assert promised <= recorded
    others = {(run, shard) for run, shard in recorded if shard != f"shard-{victim}"}
    assert len(others) == (writers - 1) * parts


def test_what_was_acknowledged_is_on_the_disk(store):
    """FULL: the journal is synced before a transaction counts as committed."""
    with store.reading() as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar_one() == 2
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
