"""Whether a cell tells the truth: defects that were found on suites of other projects, as small
suites."""

from __future__ import annotations

import re

import pytest

from trellis_board.broken import broken_modules
from trellis_board.commands import main
from trellis_board.front_page import front_page, project_lines
from trellis_board.page_data import overview
from trellis_board.queries import find_project
from trellis_board.store import Store

from .helpers import latest_cells, outcomes
from .test_torture import run, torture  # noqa: F401

HOLLOW = {
    "test_only_the_library_checks",
    "test_answer_dropped_beside_the_librarys_check",
    "test_data_of_conftest_is_no_check",
    "test_a_function_that_would_wait_is_not_called",
    "test_unreached_end_of_a_function_that_nobody_calls",
}
GREEN_ON_NUMPY = {
    "test_its_own_check_counts",
    "test_a_check_that_was_handed_over",
    "test_a_check_that_was_prepared",
    "test_a_check_in_a_lambda",
}
GREEN = {
    "test_a_check_of_conftest",
    "test_a_check_that_a_fixture_returns",
    "test_an_installed_helper",
    "test_unreached_sentinel",
    "test_unreached_end_of_a_function",
    "test_in_time",
    "test_a_limit_that_a_task_enters",
    "test_awaited_in_time",
}
VAIN = {
    "test_a_constant": "the assert in line 17 cannot fail",
    "test_a_constant_and_a_message_that_was_meant_to_be_compared": (
        "the assert in line 22 cannot fail"
    ),
    "test_an_array_beside_itself": (
        "assert_allclose in line 28 compares gradient with itself: that cannot fail"
    ),
    "test_all_of_nothing": "all(...) in line 37 had nothing to go through, or was not reached",
    "test_all_of_no_list": "all(...) in line 42 had nothing to go through, or was not reached",
    "test_all_in_a_branch_that_is_not_taken": (
        "all(...) in line 48 had nothing to go through, or was not reached"
    ),
}
NOT_IN_VAIN = {
    "test_no_number_differs_from_itself",
    "test_a_class_that_says_what_is_equal",
    "test_reached_or_not",
    "test_told_by_an_exception_of_another_kind",
}
NOT_IN_VAIN_ON_NUMPY = {
    "test_all_of_something",
    "test_all_of_a_list_with_a_name",
    "test_not_a_number_is_not_equal",
    "test_the_same_twice",
    "test_the_same_object_by_two_names",
}
EXPECTED = {
    **{(test, backend): "hollow" for test in HOLLOW for backend in ("numpy", "torch")},
    **{(test, backend): "success" for test in GREEN for backend in ("numpy", "torch")},
    **{(test, "numpy"): "success" for test in GREEN_ON_NUMPY},
    # Numbers are counted within a backend, and by what else is in the id.
    ("test_numbered_values[sum-args0]", "numpy"): "success",
    ("test_numbered_values[sum-args1]", "numpy"): "success",
    ("test_numbered_values[prod-args0]", "numpy"): "success",
    ("test_numbered_values[max-args0]", "numpy"): "success",
    ("test_numbered_values[sum-args0]", "torch"): "success",
    ("test_numbered_values[sum-args1]", "torch"): "success",
    ("test_numbered_values[max-args0]", "torch"): "success",
    # Two backends are no third one.
    ("test_pairs_of_backends[backend0]", "any"): "success",
    ("test_pairs_of_backends[backend1]", "any"): "success",
    ("test_backends_with_options", "numpy"): "success",
    ("test_backends_with_options", "torch"): "success",
    ("test_what_was_compared", "numpy"): "success",
    ("test_what_was_compared", "torch"): "hollow",
    ("test_a_name_that_is_an_alias", "pytorch"): "hollow",
    ("test_a_name_that_is_declared", "mine"): "hollow",
}


@pytest.fixture
def project(torture, tmp_path):  # noqa: F811
    """The project, with a helper that is installed somewhere else and named by its module."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "installed_checks.py").write_text("def sane(value):\n    assert value\n")
    ini = torture / "pytest.ini"
    ini.write_text(
        f"{ini.read_text()}    asyncio\nboard_arrays = mine=torch\n".replace(
            "checking/checks.py", "checking/checks.py installed_checks"
        ).replace("pythonpath = checking", f"pythonpath = checking {site}")
    )
    return torture


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_cell_by_cell(project, workers):
    done = run(project, "--board", "b.sqlite", *workers, "checking/test_truth.py")
    found = outcomes(project / "b.sqlite")
    wrong = {c: (found.get(c), EXPECTED.get(c)) for c in {*found, *EXPECTED}}
    assert {c: pair for c, pair in wrong.items() if pair[0] != pair[1]} == {}, done.stdout
    assert "board: no torch array was seen in 1 test of pytorch" in done.stdout
    assert "board: no torch array was seen in 1 test of mine" in done.stdout
    assert "no numpy array was seen" not in done.stdout
    cells = latest_cells(project / "b.sqlite")
    told = cells["test_only_the_library_checks", "numpy"].message
    assert "assert_almost_equal in library (2 times): those are checks of the library's" in told
    told = cells["test_answer_dropped_beside_the_librarys_check", "numpy"].message
    assert re.search(r"np\.allclose in line \d+ is computed, and its answer dropped", told)
    told = cells["test_what_was_compared", "torch"].message
    assert "Compared were: 1 assert, assert_allclose of numpy.ndarray (2 times)" in told


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_checks_that_cannot_fail(project, workers):
    done = run(project, "--board", "b.sqlite", *workers, "checking/test_vain.py")
    found = latest_cells(project / "b.sqlite")
    expected = {
        **{(test, backend): "hollow" for test in VAIN for backend in ("numpy", "torch")},
        **{(test, backend): "success" for test in NOT_IN_VAIN for backend in ("numpy", "torch")},
        **{(test, "numpy"): "success" for test in NOT_IN_VAIN_ON_NUMPY},
    }
    assert {cell: result.outcome for cell, result in found.items()} == expected, done.stdout
    for test, told in VAIN.items():
        assert told in found[test, "torch"].message.splitlines()
    assert found["test_all_of_something", "numpy"].comparisons == 2


def test_a_part_of_a_list_has_the_same_rows(project):
    one = "checking/test_truth.py::test_numbered_values[torch-sum-args5]"
    run(project, "--board", "b.sqlite", one)
    assert outcomes(project / "b.sqlite") == {
        ("test_numbered_values[sum-args1]", "torch"): "success"
    }


def test_backends_whose_arrays_nobody_knows_are_named(project):
    (project / "checking" / "test_dies.py").write_text(
        "import numpy as np, pytest\n"
        "@pytest.mark.parametrize('backend', ['sqlite', 'other'])\n"
        "def test_it(backend):\n"
        "    np.testing.assert_allclose(np.ones(2), 1) if backend == 'other' else None\n"
        "    assert backend\n"
    )
    done = run(project, "--board", "b.sqlite", "checking/test_dies.py")
    assert "which arrays are those of 'other' is not known" in done.stdout
    assert "'sqlite'" not in done.stdout
    (project / "pytest.ini").write_text("[pytest]\nboard_arrays = other\n")
    done = run(project, "--board", "b.sqlite", "checking/test_dies.py")
    assert "expected BACKEND=PACKAGE" in done.stderr
    assert done.returncode == 4


def test_a_module_that_was_never_seen_is_shown_and_counted(project, capsys):
    run(project, "--board", "b.sqlite", "checking/test_dies.py", BOARD_RUN_ID="1")
    broken = project / "checking" / "test_new.py"
    broken.write_text("import no_such_module\n")
    arguments = ("--board", "b.sqlite", "checking/test_dies.py", "checking/test_new.py")
    done = run(project, *arguments, BOARD_RUN_ID="2")
    assert "run 2 recorded: 1 module could not be imported\n" in done.stdout
    done = run(project, *arguments, "--continue-on-collection-errors", BOARD_RUN_ID="2")
    said = r"run 2 recorded: \d+ success.*, 1 module could not be imported\n"
    assert re.search(said, done.stdout)
    store = str(project / "b.sqlite")
    assert main(["score", "--store", store]) == 0
    said = "1 module could not be imported: checking/test_new"
    assert said in capsys.readouterr().out.splitlines()
    assert main(["score", "--strict", "--store", store]) == 1
    with Store.open(store).reading() as connection:
        id = find_project(connection, None)
        assert said in front_page(project_lines(connection))
        assert overview(connection, id, "p")["broken"] == said
    capsys.readouterr()
    cell = latest_cells(store)["(collection)", "any"]
    assert cell.outcome == "error"
    assert "no_such_module" in cell.message
    assert main(["diff", "--store", store, "--base", "1", "--head", "2"]) == 1
    assert "checking/test_new::(collection) [any]" in capsys.readouterr().out
    broken.write_text("def test_new():\n    assert 1 == 1\n")
    run(project, *arguments, BOARD_RUN_ID="3")
    found = outcomes(store)
    assert (found["(collection)", "any"], found["test_new", "any"]) == ("success", "success")
    assert main(["score", "--strict", "--store", store]) == 0
    assert "imported" not in capsys.readouterr().out


def test_such_a_module_of_one_backend(project):
    (project / "checking" / "test_new.py").write_text("import no_such_module\n")
    run(project, "--board", "b.sqlite", "--board-backend", "torch", "checking/test_new.py")
    store = project / "b.sqlite"
    assert outcomes(store) == {("(collection)", "torch"): "error"}
    # Another backend can import it: that does not mend it for this one.
    (project / "checking" / "test_new.py").write_text("def test_new():\n    assert 1 == 1\n")
    run(project, "--board", "b.sqlite", "--board-backend", "numpy", "checking/test_new.py")
    assert broken_in(store) == ["checking/test_new"]
    assert outcomes(store)["(collection)", "torch"] == "error"
    run(project, "--board", "b.sqlite", "--board-backend", "torch", "checking/test_new.py")
    assert broken_in(store) == []


def test_a_module_that_had_tests_and_is_broken(project):
    """Its cells are errors, one of them without a backend in no share at all."""
    new = project / "checking" / "test_new.py"
    arguments = ("--board", "b.sqlite", "checking/test_new.py")
    store = project / "b.sqlite"
    for text, expected in (
        ("def test_one():\n    assert 1 == 1\ndef test_two():\n    assert 1 == 1\n", []),
        ("import no_such_module\n", ["checking/test_new"]),
        ("import no_such_module\n", ["checking/test_new"]),
        ("def test_one():\n    assert 1 == 1\n", []),  # the other test is gone, its cell stays
    ):
        new.write_text(text)
        run(project, *arguments)
        assert broken_in(store) == expected
    assert outcomes(store)["test_two", "any"] == "error"


def broken_in(store):
    with Store.open(store).reading() as connection:
        return broken_modules(connection, find_project(connection, None))


def test_plain_asserts_let_all_checks_count(project):
    run(project, "--board", "b.sqlite", "--assert=plain", "checking/test_truth.py", "-k", "own_che")
    assert set(outcomes(project / "b.sqlite").values()) == {"success"}


def test_a_run_that_died_keeps_what_was_known(project, capsys):
    store = str(project / "b.sqlite")
    run(project, "--board", "b.sqlite", "checking/test_dies.py", BOARD_RUN_ID="1")
    run(project, "--board", "b.sqlite", "checking/test_dies.py", BOARD_RUN_ID="2", HOW="kill")
    assert main(["diff", "--store", store, "--base", "1", "--head", "2"]) == 1
    told = capsys.readouterr().out
    assert "run 2 died at 66 %" in told
    assert main(["score", "--store", store]) == 0
    told = capsys.readouterr().out
    assert "the newest run died at 66 %: cells that it did not reach show older runs" in told
    assert outcomes(store)["test_after", "torch"] == "success"
    assert outcomes(store)["test_dies", "torch"] == "error"
