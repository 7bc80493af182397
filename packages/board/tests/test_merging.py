"""Several stores become one: what a matrix of CI jobs left behind, merged without a server."""

from __future__ import annotations

from trellis_board.merging import merge_store, stored_parts
from trellis_board.queries import find_project
from trellis_board.records import BrokenModule, Part, Result
from trellis_board.settings import read_settings, save
from trellis_board.store import Store
from trellis_board.table_files import export_tables, import_table
from trellis_board.tables import write_table

from .conftest import HERE
from .helpers import count, latest_cells, make_part, outcomes


def job(tmp_path, name, *parts):
    store = Store.open(tmp_path / f"{name}.sqlite")
    for part in parts:
        store.for_project("p").record(part)
    return store


def test_the_jobs_of_a_matrix_become_one_run(any_store, tmp_path):
    for backend in ("numpy", "torch", "jax"):
        part = make_part("77", backend, **{f"tanh__{backend}": "success"})
        part.branch = "main"
        merge_store(job(tmp_path, backend, part), any_store)
    assert outcomes(any_store) == {
        ("test_tanh", backend): "success" for backend in ("numpy", "torch", "jax")
    }
    assert (count(any_store).runs, count(any_store).parts) == (1, 3)


def test_merging_twice_is_merging_once(any_store, tmp_path):
    source = job(
        tmp_path,
        "a",
        make_part("1", started=1, tanh__numpy="success"),
        make_part("2", started=2, tanh__numpy="failure"),
    )
    assert merge_store(source, any_store) == 2
    before = count(any_store)
    assert merge_store(source, any_store) == 2
    assert count(any_store) == before
    assert outcomes(any_store) == {("test_tanh", "numpy"): "failure"}


def test_nothing_of_a_part_is_lost(any_store, tmp_path):
    result = Result(
        *("m", "t", "numpy", "failure"),
        duration=0.5,
        comparisons=3,
        attempts=2,
        message="E",
        at=1500.0,
        link="https://ci.example/1",
    )
    part = Part(
        *("1", "shard", 1000.0, "c0ffee", "main", "https://ci.example", "CPython", "Linux"),
        versions={"torch": "2.13"},
        results=[result],
        broken=[BrokenModule("other", "SyntaxError", ["torch"])],
    )
    merge_store(job(tmp_path, "a", part), any_store)
    with any_store.reading() as connection:
        assert list(stored_parts(connection, find_project(connection, "p"))) == [part]


def test_a_module_that_broke_in_a_job_of_its_own(any_store, tmp_path):
    """The job knows no cells of the module; the store that it is merged into does."""
    any_store.for_project("p").record(make_part("1", tanh__numpy="success"))
    broken = Part("2", "a", 2000.0, broken=[BrokenModule("ops", "SyntaxError")])
    merge_store(job(tmp_path, "a", broken), any_store)
    assert outcomes(any_store) == {("test_tanh", "numpy"): "error"}
    assert "SyntaxError" in latest_cells(any_store)["test_tanh", "numpy"].message


def test_the_order_of_tables_and_the_settings_come_along(tmp_path):
    seed = sorted((HERE / "seeds").glob("*.txt"))[1]
    source = Store.open(tmp_path / "a.sqlite")
    import_table(source, "p", "m", seed.read_bytes().decode(), at=1.0)
    with source.writing() as connection:
        save(connection, find_project(connection, "p"), "default_branch = 'trunk'")
    target = Store.open(tmp_path / "b.sqlite")
    merge_store(source, target)
    with target.reading() as connection:
        project = find_project(connection, "p")
        table = write_table(export_tables(connection, project)["m"])
        assert table.encode() == seed.read_bytes()
        assert read_settings(connection, project).default_branch == "trunk"


def test_one_project_of_many(store, tmp_path):
    source = job(tmp_path, "a", make_part("1", tanh__numpy="success"))
    source.for_project("q").record(make_part("1", tanh__numpy="failure"))
    assert merge_store(source, store, project="q") == 1
    assert outcomes(store) == {("test_tanh", "numpy"): "failure"}
