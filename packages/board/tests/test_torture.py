"""Every outcome a test can have, cell by cell; and sessions that die."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HERE, SOURCE
from .helpers import latest_cells, outcomes

SAME = {
    "TestPlain::test_method": "success",
    "test_subtests_pass": "success",
    "test_a_subtest_is_skipped": "success",
    "test_subtests_compare_nothing": "hollow",
    "test_enum_with_ids[1]": "success",
    "test_enum_with_ids[2]": "success",
    "test_several_arguments_at_once[1-x-y]": "success",
    "test_no_value_at_all": "skipped",
    "test_xfail_not_run": "xfailed",
    "test_xfail_for_another_reason": "failure",
    "test_xfail_by_hand": "xfailed",
    "test_skip": "skipped",
    "test_second_attempt": "success",
    "test_by_guard": "success",
    "test_by_guard_in_a_helper": "success",
    "test_by_assert_in_a_helper": "success",
    "test_by_expression": "success",
    "test_by_exception_that_does_not_come": "success",
    "test_by_doctests": "success",
    "test_by_mock": "success",
    "test_by_warnings_of_numpy": "success",
    "test_by_no_warning": "success",
    "test_doctest_result_dropped": "hollow",
    "test_answer_dropped": "hollow",
    "test_unreached_assert": "hollow",
    "test_assert_in_teardown_only": "hollow",
    "test_sparse": "success",
    "test_wrapped": "success",
}
# name: (numpy, torch)
DIFFERENT = {
    "TestPlain::TestInner::test_inner": ("success", "failure"),
    "test_a_subtest_fails": ("success", "failure"),
    "test_functions_with_ids[a-b]": ("success", "failure"),
    "test_functions_with_ids[x[0]]": ("success", "failure"),
    "test_functions_with_ids[torch]": ("success", "failure"),
    "test_xfail": ("success", "xfailed"),
    "test_xfail_strict": ("failure", "xfailed"),
    "test_skip_on_one": ("success", "skipped"),
    "test_setup_error": ("success", "error"),
    "test_teardown_error": ("success", "error"),
    "test_failure_and_teardown_error": ("success", "error"),
    "test_skip_in_setup": ("success", "skipped"),
    "test_too_slow": ("success", "failure"),
    "test_never_on_the_backend": ("success", "hollow"),
}
ELSEWHERE = {
    ("TestUnit::test_own_method", "any"): "success",
    ("TestUnit::test_no_method", "any"): "hollow",
    ("TestUnit::test_all_subtests_pass", "any"): "success",
    ("TestUnit::test_one_subtest_fails", "any"): "failure",
    ("TestUnit::test_one_subtest_is_skipped", "any"): "success",
    ("TestUnit::test_expected_failure", "any"): "xfailed",
    ("TestUnit::test_skipped_by_unittest", "any"): "skipped",
    ("test_no_backend_at_all", "any"): "skipped",
    ("test_nameless_backends", "backend0"): "success",
    ("test_nameless_backends", "backend1"): "success",
    # The id says nothing of the backend: it stays, and the value names the column.
    ("test_ids_without_the_backend[np]", "numpy"): "success",
    ("test_ids_without_the_backend[pt]", "torch"): "success",
    **{
        (f"test_ids_with_dashes_and_brackets[{axis}]", backend): "success"
        for axis in ("0-1", "[]")
        for backend in ("torch-cpu", "pandas[pyarrow]", "numpy")
    },
}
EXPECTED = {
    **{
        (test, backend): outcome for test, outcome in SAME.items() for backend in ("numpy", "torch")
    },
    **{
        (test, backend): outcome
        for test, both in DIFFERENT.items()
        for backend, outcome in zip(("numpy", "torch"), both, strict=True)
    },
    **ELSEWHERE,
}


@pytest.fixture
def torture(tmp_path: Path) -> Path:
    """A copy of the project, with settings of its own in a folder above its tests."""
    project = tmp_path / "project"
    shutil.copytree(HERE / "torture", project / "checking")
    (project / "pytest.ini").write_text(
        "[pytest]\nboard_helpers = checking/checks.py\npythonpath = checking\n"
        "markers =\n    timeout\n    flaky\n"
    )
    return project


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest there, with the plugins that the tests need and no others."""
    plugins = ["trellis_board.plugin", "xdist", "pytest_rerunfailures", "pytest_timeout"]
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest"),
            *(word for plugin in plugins for word in ("-p", plugin)),
            *arguments,
        ],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(SOURCE),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_cell_by_cell(torture, workers):
    done = run(torture, "--board", "b.sqlite", *workers, "checking/test_outcomes.py")
    found = outcomes(torture / "b.sqlite")
    wrong = {c: (found.get(c), EXPECTED.get(c)) for c in {*found, *EXPECTED}}
    assert {c: pair for c, pair in wrong.items() if pair[0] != pair[1]} == {}, done.stdout
    cells = latest_cells(torture / "b.sqlite")
    failed = cells["TestUnit::test_one_subtest_fails", "any"].message
    assert re.search(r"test_one_subtest_fails \(i='?1'?\)", failed)
    assert "1 == 1" in failed
    assert re.search(r"\(i='?1'?\)", cells["test_a_subtest_fails", "torch"].message)
    assert cells["test_second_attempt", "numpy"].attempts == 2
    assert "Timeout" in cells["test_too_slow", "torch"].message
    assert "empty parameter set" in cells["test_no_backend_at_all", "any"].message
    assert "1 subtests were skipped" in cells["test_a_subtest_is_skipped", "numpy"].message
    assert not list(torture.glob("b.sqlite-run-*"))


def test_helpers_that_nobody_named_are_named_in_the_cell(torture):
    (torture / "pytest.ini").write_text("[pytest]\npythonpath = checking\n")
    run(torture, "--board", "b.sqlite", "checking/test_outcomes.py", "-k", "in_a_helper")
    cells = latest_cells(torture / "b.sqlite")
    assert cells["test_by_assert_in_a_helper", "numpy"].outcome == "hollow"
    assert "board_helpers" in cells["test_by_assert_in_a_helper", "numpy"].message


def test_plain_asserts_accuse_nobody(torture):
    run(torture, "--board", "b.sqlite", "--assert=plain", "checking/test_dies.py")
    cells = latest_cells(torture / "b.sqlite")
    assert {cell.outcome for cell in cells.values()} == {"success"}
    assert {cell.comparisons for cell in cells.values()} == {None}


COMPILED = """
import pytest
import torch


def double(x):
    assert x.ndim == 1
    if x.ndim > 3:
        pytest.fail("more axes than there can be")
    return x * 2


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("backend", ["torch"])
def test_compiled(backend, size):
    result = torch.compile(double, fullgraph=True, backend="eager")(torch.ones(size))
    assert result.tolist() == [2.0] * size
"""


def test_asserts_in_compiled_functions(torture):
    pytest.importorskip("torch", reason="torch.compile is what is tested")
    (torture / "checking" / "test_compiled.py").write_text(COMPILED)
    done = run(torture, "--board", "b.sqlite", "checking/test_compiled.py")
    assert done.returncode == 0, done.stdout
    cells = latest_cells(torture / "b.sqlite")
    # One of its own each: what is inside a compiled function is not counted.
    assert {cell: (it.outcome, it.comparisons) for cell, it in cells.items()} == {
        ("test_compiled[2]", "torch"): ("success", 1),
        ("test_compiled[3]", "torch"): ("success", 1),
    }


DIED = {
    ("test_before", "numpy"): "success",
    ("test_before", "torch"): "success",
    ("test_dies", "numpy"): "success",
    ("test_dies", "torch"): "error",
    ("test_after", "numpy"): "died",
    ("test_after", "torch"): "died",
}


@pytest.mark.parametrize("how", ["abort", "exit", "timeout", "kill"])
def test_a_session_that_dies_is_recorded_by_the_next(torture, how):
    def record(**environment):
        return run(torture, "--board", "../b.sqlite", "checking/test_dies.py", **environment)

    store = torture.parent / "b.sqlite"
    record()
    assert set(outcomes(store).values()) == {"success"}
    assert record(HOW=how).returncode != 0
    assert set(outcomes(store).values()) == {"success"}
    assert len(list(store.parent.glob("b.sqlite-run-*.jsonl"))) == 1
    arguments = ("--board", "../b.sqlite", "checking/test_outcomes.py", "-k", "by_guard")
    assert "had died: recorded 6 cells of it" in run(torture, *arguments).stdout
    assert not list(store.parent.glob("b.sqlite-run-*"))
    cells = latest_cells(store)
    # What was not run keeps the results of the run before.
    kept = {cell: "success" if found == "died" else found for cell, found in DIED.items()}
    assert {cell: cells[cell].outcome for cell in DIED} == kept
    assert "pytest died while this test ran" in cells["test_dies", "torch"].message


def test_a_command_records_a_dead_session_too(torture, capsys):
    from trellis_board.commands import main

    run(torture, "--board", "b.sqlite", "checking/test_dies.py", HOW="kill")
    assert main(["markdown", "--store", str(torture / "b.sqlite")]) == 0
    assert "had died" in capsys.readouterr().err
    assert outcomes(torture / "b.sqlite") == DIED
    cell = latest_cells(torture / "b.sqlite")["test_after", "torch"]
    assert cell.message.startswith(
        "not run: pytest died before in checking/test_dies.py::test_dies[torch]"
    )
    # They are part of what the share is a share of.
    assert main(["html", "--store", str(torture / "b.sqlite"), "--out", str(torture / "p")]) == 0
    assert "3 / 6" in (torture / "p" / "badges" / "all.svg").read_text()
    assert main(["runs", "--store", str(torture / "b.sqlite")]) == 0
    assert "died at 66 %" in capsys.readouterr().out


def test_a_controller_that_dies_is_recorded_too(torture):
    arguments = ("--board", "b.sqlite", "-n1", "checking/test_dies.py")
    (torture / "conftest.py").write_text(
        "import os\n"
        "def pytest_runtest_logreport(report):\n"
        "    if not os.environ.get('PYTEST_XDIST_WORKER') and '::test_dies' in report.nodeid:\n"
        "        os._exit(9)\n"
    )
    assert run(torture, *arguments).returncode == 9
    (torture / "conftest.py").unlink()
    run(torture, "--board", "b.sqlite", "checking/test_outcomes.py", "-k", "by_guard")
    found = outcomes(torture / "b.sqlite")
    assert found["test_before", "torch"] == "success"
    assert found["test_dies", "numpy"] == "error"
    assert found["test_after", "torch"] == "died"


def test_an_internal_error_is_a_death(torture):
    arguments = ("--board", "b.sqlite", "checking/test_dies.py")
    (torture / "conftest.py").write_text(
        "def pytest_runtest_logreport(report):\n"
        "    if 'test_dies[torch]' in report.nodeid:\n"
        "        raise RuntimeError('a plugin is broken')\n"
    )
    assert run(torture, *arguments).returncode == 3
    assert outcomes(torture / "b.sqlite") == DIED


def test_a_module_that_dies_while_it_is_imported(torture):
    arguments = ("--board", "b.sqlite", "checking/test_dies.py")
    run(torture, *arguments)
    module = torture / "checking" / "test_dies.py"
    text = module.read_text()
    module.write_text(f"import os\nos.abort()\n{text}")
    run(torture, *arguments)
    run(torture, "--board", "b.sqlite", "checking/test_outcomes.py", "-k", "by_guard")
    cells = latest_cells(torture / "b.sqlite")
    assert {cells[cell].outcome for cell in DIED} == {"error"}
    assert "died while it collected this module" in cells["test_after", "numpy"].message


def test_a_running_session_is_left_alone(torture):
    """A second session beside the first one does not take its journal for one left behind."""
    (torture / "checking" / "test_dies.py").write_text(
        "import subprocess, sys\n"
        "def test_outer():\n"
        "    command = [sys.executable, '-m', 'pytest', '-p', 'trellis_board.plugin',\n"
        "               '--board', 'b.sqlite', 'checking/test_outcomes.py', '-k', 'by_guard',\n"
        "               '-p', 'pytest_timeout', '-p', 'pytest_rerunfailures']\n"
        "    done = subprocess.run(command, capture_output=True, text=True)\n"
        "    assert 'had died' not in done.stdout\n"
        "    assert 'recorded: 4 success' in done.stdout\n"
    )
    run(torture, "--board", "b.sqlite", "checking/test_dies.py")
    assert outcomes(torture / "b.sqlite")["test_outer", "any"] == "success"


def test_a_store_outside_does_not_move_the_root(torture):
    arguments = ("--board", "../b.sqlite", "checking/test_outcomes.py", "-k", "by_guard")
    for _ in range(3):
        done = run(torture, *arguments)
        assert "configfile: pytest.ini" in done.stdout
    cells = outcomes(torture.parent / "b.sqlite")
    assert len(cells) == 4
    assert set(cells.values()) == {"success"}


def test_a_store_outside_keeps_the_projects_options(torture):
    ini = torture / "pytest.ini"
    ini.write_text(f"{ini.read_text()}addopts = -k by_guard\npython_files = test_outcomes.py\n")
    for _ in range(2):
        run(torture, "--board", "../b.sqlite", "--board-project", "checking")
    assert len(outcomes(torture.parent / "b.sqlite")) == 4


def test_a_folder_whose_conftest_fails_turns_red(torture):
    run(torture, "--board", "b.sqlite", "checking/test_dies.py")
    (torture / "checking" / "conftest.py").write_text("import no_such_module\n")
    run(torture, "--board", "b.sqlite", ".")
    assert set(outcomes(torture / "b.sqlite").values()) == {"error"}


def test_a_backend_for_a_whole_session(torture):
    (torture / "checking" / "test_dies.py").write_text("def test_it():\n    assert 1 == 1\n")
    for backend in ("numpy", "torch"):
        run(torture, "--board", "b.sqlite", "--board-backend", backend, "checking/test_dies.py")
    assert outcomes(torture / "b.sqlite") == {
        ("test_it", "numpy"): "success",
        ("test_it", "torch"): "success",
    }
    (torture / "checking" / "test_dies.py").write_text("import no_such_module\n")
    run(torture, "--board", "b.sqlite", "--board-backend", "torch", "checking/test_dies.py")
    assert outcomes(torture / "b.sqlite") == {
        ("test_it", "numpy"): "success",
        ("test_it", "torch"): "error",
    }


def test_several_backend_arguments(torture):
    (torture / "checking" / "test_dies.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('eager', ['a', 'b'])\n"
        "def test_eager(eager):\n    assert eager\n"
        "@pytest.mark.parametrize('lazy', ['c'])\n"
        "@pytest.mark.parametrize('eager', ['a'])\n"
        "def test_both(eager, lazy):\n    assert eager\n"
    )
    wanted = ("--board-backend-arg", "lazy,eager")
    run(torture, "--board", "b.sqlite", *wanted, "checking/test_dies.py")
    assert set(outcomes(torture / "b.sqlite")) == {
        ("test_eager", "a"),
        ("test_eager", "b"),
        ("test_both[a]", "c"),
    }


def test_the_projects_hook_names_the_backend(torture):
    (torture / "checking" / "conftest.py").write_text(
        "def pytest_board_backend(item):\n"
        "    return 'special' if item.name.startswith('test_after') else None\n"
    )
    run(torture, "--board", "b.sqlite", "checking/test_dies.py")
    columns = {test: set() for test in ("test_before", "test_after")}
    for test, column in outcomes(torture / "b.sqlite"):
        columns.setdefault(test, set()).add(column)
    assert columns["test_after"] == {"special"}
    assert columns["test_before"] == {"numpy", "torch"}


def test_versions_are_columns_of_their_own(torture):
    arguments = ("--board", "b.sqlite", "--board-columns", "version", "checking/test_dies.py")
    run(torture, *arguments)
    import numpy

    version = ".".join(numpy.__version__.split(".")[:2])
    columns = {column for _, column in outcomes(torture / "b.sqlite")}
    assert f"numpy {version}" in columns
    done = run(torture, "--board", "b.sqlite", "--board-columns", "colour", "checking")
    assert done.returncode == 4
    assert "expected some of version, platform, python" in done.stderr


def test_a_journal_is_readable_when_its_last_line_is_torn(tmp_path):
    from trellis_board import journal

    path = tmp_path / "b.sqlite-run-1.jsonl"
    cell = ["tests/test_a", "test_it", "numpy"]
    lines = [
        ["session", "p", {"run": "7", "shard": "s", "started": 1.0}],
        ["plan", [["a.py::test_it[numpy]", *cell]], {"numpy": "2.4"}],
        ["start", "a.py::test_it[numpy]"],
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + '\n["end", "a.py::te')
    recorded = []
    said = journal.recover(tmp_path / "b.sqlite-run-", lambda *what: recorded.append(what))
    assert said == ["run 7 had died: recorded 1 cells of it"]
    ((project, part),) = recorded
    assert (project, part.run, part.versions) == ("p", "7", {"numpy": "2.4"})
    assert [(r.cell, r.outcome) for r in part.results] == [(tuple(cell), "error")]
    assert not path.exists()
