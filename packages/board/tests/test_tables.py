"""Markdown tables: the seeds come back byte for byte, and bad tables are refused with reasons."""

from __future__ import annotations

import pytest

from trellis_board.queries import find_project
from trellis_board.records import Part, Result
from trellis_board.table_files import export_tables, file_names, import_table, write_tables
from trellis_board.tables import Cell, Table, TableError, read_table, write_table

from .conftest import HERE
from .helpers import count, latest_cells

SEEDS = sorted((HERE / "seeds").glob("*.txt"))


def exported(store, module):
    with store.reading() as connection:
        return write_table(
            export_tables(connection, find_project(connection, None), module)[module]
        )


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem[:3])
def test_a_seed_comes_back_byte_for_byte(any_store, seed):
    import_table(any_store, "seeds", seed.stem, seed.read_bytes().decode(), at=1.0)
    assert exported(any_store, seed.stem).encode() == seed.read_bytes()


def test_all_seeds_in_one_store(store):
    cells = sum(import_table(store, "s", f.stem, f.read_bytes().decode(), at=1.0) for f in SEEDS)
    assert len(SEEDS) == 5
    assert cells == 194, "200 cells, of which 6 are empty"
    for seed in SEEDS:
        assert exported(store, seed.stem).encode() == seed.read_bytes()


def test_importing_twice_changes_nothing(store):
    text = SEEDS[1].read_bytes().decode()
    for _ in range(2):
        import_table(store, "s", "m", text, at=1.0)
    assert count(store).cells == 66
    assert exported(store, "m") == text


def test_the_order_of_the_table_wins_over_the_order_of_recording(store):
    results = [Result("m", t, b, "success") for t in ("test_b", "test_a") for b in ("x", "y")]
    store.for_project("s").record(Part("1", "a", 1.0, results=results))
    rows = {t: {b: Cell("failure", "null") for b in ("y", "x")} for t in ("test_a", "test_b")}
    table = write_table(Table(["y", "x"], rows))
    import_table(store, "s", "m", table, at=2.0)
    assert exported(store, "m") == table


def test_a_lost_link_stays_written_but_is_none_to_a_reader(store):
    import_table(store, "s", "m", SEEDS[1].read_bytes().decode(), at=1.0)
    assert latest_cells(store)["test_optimizer_update", "torch"].link == "null"


def test_a_result_without_link_is_a_plain_badge(store):
    store.for_project("s").record(
        Part("1", "a", 1.0, results=[Result("m", "t", "numpy", "hollow")])
    )
    assert "| t | <img src=https://img.shields.io/badge/-hollow-orange> |" in exported(store, "m")


def test_names_cannot_break_a_table(store):
    name = 'test[a|b<script>alert("1")</script>&amp;]'
    link = 'https://x/?a=1&b="><script>'
    results = [Result("m", name, "numpy", "success", link=link)]
    store.for_project("s").record(Part("1", "a", 1.0, results=results))
    text = exported(store, "m")
    assert "<script>" not in text
    assert list(read_table(text).rows) == [name]
    assert write_table(read_table(text)) == text


def test_a_reordered_table_with_gaps_can_be_read():
    table = read_table(
        "| | b | a |\n|--|--|--|\n"
        "| t1 | <img src=https://img.shields.io/badge/-success-success> | |\n| t2 |\n\n"
    )
    assert table.columns == ["b", "a"]
    assert table.rows == {"t1": {"b": Cell("success")}, "t2": {}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a Markdown table"),
        ("hello\nworld", "expected a Markdown table"),
        ("| | a | a |\n|--|--|--|", "must differ"),
        ("| | a |\n|--|--|\n| t | | |", "2 cells in a table of 1"),
        ("| | a |\n|--|--|\n| t | |\n| t | |", "second row 't'"),
        ("| | a |\n|--|--|\n| t | yes |", "line 3, column a: 'yes'; expected nothing, or a badge"),
        (
            "| | a |\n|--|--|\n| t | <img src=https://img.shields.io/badge/-great-green> |",
            "outcome 'great'",
        ),
    ],
)
def test_a_bad_table_is_refused(text, problem):
    with pytest.raises(TableError, match=problem):
        read_table(text)


def test_files_stay_in_their_folder(tmp_path):
    tables = {"../../up": Table(["a"]), "tests/core/test_x": Table(["a"])}
    written = write_tables(tables, tmp_path / "out")
    assert [path.name for path in written] == ["up.md", "tests.core.test_x.md"]
    assert all(path.parent == tmp_path / "out" for path in written)
    alike = {"a/b": Table(["a"]), "a.b": Table(["a"]), "A.b": Table(["a"])}
    written = write_tables(alike, tmp_path / "alike")
    assert len({path.name.lower() for path in written}) == 3
    assert written[0].name == "a.b.md"


@pytest.mark.parametrize(
    "name", ["", "..", "/", "\x00", "\ud800", "a" * 999, "é" * 150, "💥" * 999]
)
def test_any_name_gives_a_file_name(name, tmp_path):
    made = file_names([name])[name]
    assert 0 < len(made.encode()) <= 160
    (tmp_path / f"backend.{made}.svg").touch()
    assert not set(made) & set("/\\\x00")
    assert made not in (".", "..")
