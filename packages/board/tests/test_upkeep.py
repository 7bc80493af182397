"""Deleting, pruning and backing up."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from sqlalchemy import select

from trellis_board import schema
from trellis_board.commands import main
from trellis_board.queries import UnknownNameError, find_project, runs
from trellis_board.records import BrokenModule
from trellis_board.settings import read_settings, save
from trellis_board.store import Store
from trellis_board.tokens import create_token, find_token
from trellis_board.upkeep import backup, compact, delete_runs, old_runs

from .helpers import count, make_part, outcomes


@pytest.fixture
def three_runs(any_store):
    project = any_store.for_project("p")
    project.record(make_part("1", started=1000, tanh__numpy="success", old__mlx="success"))
    project.record(make_part("2", started=2000, tanh__numpy="failure"))
    project.record(make_part("3", started=3000, sin__numpy="success"))
    return any_store


def delete(store, *names):
    with store.writing() as connection:
        return delete_runs(connection, find_project(connection, "p"), names)


def test_cells_fall_back_to_older_runs(three_runs):
    assert delete(three_runs, "2") == 1
    assert outcomes(three_runs)["test_tanh", "numpy"] == "success"
    assert count(three_runs).runs == 2


def test_what_nothing_is_left_of_is_forgotten(three_runs):
    delete(three_runs, "1")
    assert outcomes(three_runs) == {
        ("test_tanh", "numpy"): "failure",
        ("test_sin", "numpy"): "success",
    }
    with three_runs.reading() as connection:
        assert set(connection.execute(select(schema.test.c.name)).scalars()) == {
            "test_tanh",
            "test_sin",
        }
        assert set(connection.execute(select(schema.backend.c.name)).scalars()) == {"numpy"}
    delete(three_runs, "2", "3")
    with three_runs.reading() as connection:
        for table in schema.metadata.tables.values():
            left = connection.execute(select(table)).all()
            assert len(left) == (1 if table is schema.project else 0), table.name


def test_a_run_with_a_broken_module_can_be_deleted(three_runs):
    part = make_part("4", started=4000)
    part.broken = [BrokenModule("ops", "SyntaxError")]
    three_runs.for_project("p").record(part)
    assert set(outcomes(three_runs).values()) == {"error"}
    delete(three_runs, "4")
    assert outcomes(three_runs)["test_sin", "numpy"] == "success"


def test_an_unknown_run_deletes_nothing(three_runs):
    with pytest.raises(UnknownNameError, match=r"no run '9'; it has 3, 2, 1"):
        delete(three_runs, "1", "9")
    assert count(three_runs).runs == 3


def test_old_runs_but_never_the_newest(three_runs):
    def old(before, **options):
        with three_runs.reading() as connection:
            found = old_runs(connection, find_project(connection, "p"), before, **options)
            return [run.name for run in found]

    assert old(2500) == ["2", "1"]
    assert old(9999) == ["2", "1"]
    assert old(9999, keep_shown=True) == [], "each of the three is what some cell shows"
    three_runs.for_project("p").record(make_part("4", started=4000, tanh__numpy="success"))
    assert old(9999, keep_shown=True) == ["2"]


def test_a_backup_is_whole_while_others_write(store, tmp_path):
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            part = make_part(str(number), **{f"t{i}__numpy": "success" for i in range(50)})
            store.for_project("p").record(part)

    store.for_project("p").record(make_part("0", tanh__numpy="success"))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            backup(store, tmp_path / f"copy{number}.sqlite")
    finally:
        stop.set()
        writer.join()
    for number in range(5):
        copy = tmp_path / f"copy{number}.sqlite"
        assert sqlite3.connect(copy).execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = count(Store.open(copy, create=False))
        assert found.cells == 50 * (found.parts - 1) + 1, "no part is half there"


def test_a_backup_overwrites_nothing(store, tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(FileExistsError, match="never overwrites"):
        backup(store, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"


def test_a_backup_of_either_database_is_restored_whole(any_store, address, tmp_path):
    for run, outcome in (("1", "success"), ("2", "failure")):
        any_store.for_project("p").record(make_part(run, started=float(run), tanh__numpy=outcome))
    with any_store.writing() as connection:
        project = find_project(connection, "p")
        save(connection, project, 'title = "Mine"')
        token = create_token(connection, project, "write")
    copy, restored = tmp_path / "copy.sqlite", tmp_path / "restored.sqlite"
    assert main(["backup", str(copy), "--store", address]) == 0
    assert main(["restore", str(copy), "--store", str(restored)]) == 0
    for store in (Store.open(copy), Store.open(restored)):
        assert outcomes(store) == {("test_tanh", "numpy"): "failure"}
        with store.reading() as connection:
            assert read_settings(connection, find_project(connection, "p")).title == "Mine"
            assert find_token(connection, token).project == "p"
            assert len(list(connection.execute(select(schema.tally)))) == 2
        store.close()
    # Into the database it came from, which is empty again; and then it goes on counting.
    with any_store.writing() as connection:
        for table in reversed(schema.metadata.sorted_tables):
            connection.execute(table.delete())
    assert main(["restore", str(copy), "--store", address]) == 0
    any_store.for_project("p").record(make_part("3", started=3.0, tanh__numpy="success"))
    assert outcomes(any_store) == {("test_tanh", "numpy"): "success"}
    assert count(any_store).runs == 3


def test_a_backup_is_not_restored_over_results(store, tmp_path, capsys):
    store.for_project("p").record(make_part(tanh__numpy="success"))
    copy = tmp_path / "copy.sqlite"
    backup(store, copy)
    assert main(["restore", str(copy), "--store", store.engine.url.database]) == 2
    assert "the store is not empty" in capsys.readouterr().err


def test_room_is_given_back(store, tmp_path):
    for run in range(4):
        part = make_part(str(run), started=run, **{f"t{i}__numpy": "failure" for i in range(500)})
        for result in part.results:
            result.message = "E" * 500
        store.for_project("p").record(part)
    delete(store, "0", "1", "2")
    sqlite3.connect(tmp_path / "board.sqlite").execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = (tmp_path / "board.sqlite").stat().st_size
    compact(store)
    assert (tmp_path / "board.sqlite").stat().st_size < before / 2
    with store.reading() as connection:
        assert len(runs(connection, find_project(connection, "p"))) == 1
