"""``pytest --board`` on the sample project: every kind of cell, workers, shards, reruns."""

from __future__ import annotations

import pytest

from trellis_board import queries
from trellis_board.store import Store

from .helpers import count, latest_cells, outcomes

EXPECTED = {
    "test_success_by_assert": "success",
    "test_success_by_numpy_testing": "success",
    "test_success_after_conversion": "success",
    "test_success_by_raises": "success",
    "test_success_by_warns": "success",
    "test_success_although_xfail": "success",
    "test_failure": "failure",
    "test_failure_because_xfail_passed": "failure",
    "test_skipped": "skipped",
    "test_xfailed": "xfailed",
    "test_hollow_early_return": "hollow",
    "test_hollow_result_thrown_away": "hollow",
    "test_parametrised[1]": "success",
    "test_parametrised[3]": "success",
    "test_error_in_setup": "error",
    "test_error_in_teardown": "error",
    "test_needs_rerun": "failure",
}
DIFFERENT = {
    ("test_foreign_arrays", "numpy"): "success",
    ("test_foreign_arrays", "torch"): "hollow",
    ("test_row_of_two", "numpy"): "success",
    ("test_row_of_two", "torch"): "failure",
    ("test_without_backend", "any"): "success",
    ("TestInClass::test_by_unittest", "any"): "success",
    ("TestInClass::test_hollow_by_unittest", "any"): "hollow",
}
ALL_CELLS = {(t, b): o for t, o in EXPECTED.items() for b in ("numpy", "torch")} | DIFFERENT


@pytest.mark.parametrize("workers", [(), ("-n2", "--dist=loadgroup")], ids=["alone", "xdist"])
def test_every_kind_of_cell(run_pytest, sample, workers):
    done = run_pytest("--board=b.sqlite", *workers, "test_cells.py")
    assert outcomes(sample / "b.sqlite") == ALL_CELLS, done.stdout + done.stderr
    assert "board: run " in done.stdout


def test_reasons_texts_and_counts(run_pytest, sample):
    run_pytest("--board=b.sqlite", "test_cells.py")
    cells = latest_cells(sample / "b.sqlite")
    assert cells["test_skipped", "numpy"].message == "this machine has no such device"
    assert cells["test_xfailed", "numpy"].message == "known bug 12"
    assert "flaky driver" in cells["test_success_although_xfail", "numpy"].message
    assert "<b>bold</b> claim" in cells["test_failure", "numpy"].message
    assert "OSError: cannot close" in cells["test_error_in_teardown", "numpy"].message
    assert "no array of torch" in cells["test_foreign_arrays", "torch"].message
    assert cells["test_success_by_assert", "numpy"].comparisons == 1
    assert cells["test_hollow_early_return", "numpy"].comparisons == 0
    assert cells["test_row_of_two", "numpy"].comparisons == 2
    assert all(c.duration is not None and c.duration >= 0 for c in cells.values())


def test_messages_name_files_from_the_root(run_pytest, sample):
    lines = "def test_it():", "    raise OSError(__file__)"
    (sample / "test_paths.py").write_text("\n".join(lines))
    run_pytest("--board=b.sqlite", "test_paths.py")
    (cell,) = latest_cells(sample / "b.sqlite").values()
    assert "OSError: test_paths.py" in cell.message
    assert str(sample) not in cell.message


def test_the_last_attempt_counts(run_pytest, sample):
    run_pytest("--board=b.sqlite", "--reruns=2", "test_cells.py", "-k", "rerun or test_failure")
    cells = latest_cells(sample / "b.sqlite")
    assert cells["test_needs_rerun", "torch"].outcome == "success"
    assert cells["test_needs_rerun", "torch"].attempts == 2
    assert cells["test_failure", "torch"].outcome == "failure"
    assert cells["test_failure", "torch"].attempts == 3


def test_a_crashed_worker_leaves_an_error(run_pytest, sample):
    done = run_pytest("--board=b.sqlite", "-n2", "test_crash.py")
    cells = latest_cells(sample / "b.sqlite")
    assert {cell: result.outcome for cell, result in cells.items()} == {
        ("test_crash", "numpy"): "success",
        ("test_crash", "torch"): "error",
        ("test_crash_in_setup", "torch"): "error",
        ("test_neighbour", "numpy"): "success",
        ("test_neighbour", "torch"): "success",
    }, done.stdout + done.stderr
    assert "crashed while running" in cells["test_crash", "torch"].message


def test_shards_are_parts_of_one_run(run_pytest, sample):
    for shard, expression in (("1", "numpy"), ("2", "not numpy")):
        run_pytest("--board=b.sqlite", "-k", expression, "test_cells.py",
                   BOARD_RUN_ID="77", BOARD_SHARD=shard)  # fmt: skip
    assert outcomes(sample / "b.sqlite").keys() == ALL_CELLS.keys()
    counted = count(Store.open(sample / "b.sqlite"))
    assert (counted.runs, counted.parts, counted.cells) == (1, 2, len(ALL_CELLS))


def test_where_it_ran_is_recorded(run_pytest, sample):
    run_pytest(
        "--board=b.sqlite",
        "--board-project=mine",
        *("test_cells.py", "-k", "by_assert"),
        GITHUB_RUN_ID="4003487411",
        GITHUB_REPOSITORY="some/project",
        GITHUB_SERVER_URL="https://github.com",
        GITHUB_SHA="0123456789abcdef",
        GITHUB_REF_NAME="main",
    )
    with Store.open(sample / "b.sqlite").reading() as connection:
        project = queries.find_project(connection, "mine")
        (run,) = queries.runs(connection, project)
        (part,) = queries.parts(connection, project).values()
    assert (run.name, run.commit, run.branch) == ("4003487411.1", "0123456789abcdef", "main")
    assert part.link == "https://github.com/some/project/actions/runs/4003487411"
    assert part.python is not None
    assert part.python.startswith("CPython 3.")
    assert "numpy" in part.versions


def test_modules_cached_by_a_plain_run_still_count(run_pytest, sample):
    """pytest's cache of rewritten modules does not know whether passing assertions are reported."""
    run_pytest("test_cells.py", "-k", "by_assert")
    assert list(sample.glob("__pycache__/test_cells*.pyc")), "nothing was cached: the test is void"
    run_pytest("--board=b.sqlite", "test_cells.py", "-k", "by_assert")
    assert set(outcomes(sample / "b.sqlite").values()) == {"success"}


def test_a_module_that_cannot_be_collected_turns_red(run_pytest, sample):
    run_pytest("--board=b.sqlite", "test_crash.py", "-k", "neighbour")
    (sample / "test_crash.py").write_text("import no_such_module\n")
    done = run_pytest("--board=b.sqlite", "test_crash.py")
    cells = latest_cells(sample / "b.sqlite")
    assert {result.outcome for result in cells.values()} == {"error"}
    assert "no_such_module" in cells["test_neighbour", "numpy"].message
    assert done.returncode == 2


def test_an_interrupted_run_records_nothing(run_pytest, sample):
    (sample / "test_crash.py").write_text("def test_it():\n    raise KeyboardInterrupt\n")
    done = run_pytest("--board=b.sqlite", "test_crash.py")
    assert "interrupted, so nothing was recorded" in done.stdout
    assert count(Store.open(sample / "b.sqlite")).runs == 0


def test_another_argument_may_name_the_backend(run_pytest, sample):
    (sample / "test_crash.py").write_text(
        "import enum, pytest\n"
        "class Lib(enum.Enum):\n    numpy = 1\n    torch_cpu = 2\n"
        "@pytest.mark.parametrize('n', [5])\n"
        "@pytest.mark.parametrize('lib', Lib, ids=lambda lib: lib.name)\n"
        "def test_it(lib, n):\n    assert n\n"
    )
    run_pytest("--board=b.sqlite", "--board-backend-arg=lib", "test_crash.py")
    assert outcomes(sample / "b.sqlite") == {
        ("test_it[5]", "numpy"): "success",
        ("test_it[5]", "torch_cpu"): "success",
    }


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_a_suite_of_one_column_is_told_of_another_argument(run_pytest, sample, workers):
    (sample / "test_engines.py").write_text(
        "import pytest\n"
        "@pytest.fixture(params=['sqlite', ('duckdb', {})], ids=['sqlite', 'duckdb'])\n"
        "def engine(request):\n    return request.param\n"
        "@pytest.mark.parametrize('size', [1, 2])\n"
        "@pytest.mark.parametrize('name', ['x', 'y'])\n"
        "class TestAll:\n"
        + "".join(
            f"    def test_{n}(self, {'engine, ' * (n < 5)}name, size):\n        assert size\n"
            for n in range(5)
        )
        + "def test_four(engine):\n    assert engine\n"
    )
    done = run_pytest("--board=b.sqlite", "test_engines.py", *workers)
    hint = "42 tests have 'engine' (sqlite, duckdb): --board-backend-arg=engine"
    assert f"board: all tests are in one column; {hint}" in done.stdout
    done = run_pytest("--board=b.sqlite", "test_engines.py", *workers, "--board-backend-arg=engine")
    assert "--board-backend-arg" not in done.stdout
    done = run_pytest("--board=b.sqlite", "test_engines.py", *workers, "--board-backend=torch")
    assert "--board-backend-arg" not in done.stdout


def test_a_doctest_compares_its_outputs(run_pytest, sample):
    (sample / "documented.py").write_text(
        'def one():\n    """\n    >>> one()\n    1\n    """\n    return 1\n\n\n'
        'def two():\n    """\n    >>> x = two()\n    """\n    return 2\n'
    )
    run_pytest("--board=b.sqlite", "--doctest-modules", "documented.py")
    assert outcomes(sample / "b.sqlite") == {
        ("documented.one", "any"): "success",
        ("documented.two", "any"): "hollow",
    }


def test_assertions_of_a_plugins_library_are_not_the_tests(run_pytest, sample):
    """pytest rewrites all modules of a distribution that brings a plugin: their asserts too."""
    (sample / "test_crash.py").write_text(
        "import pytest\npytest.register_assert_rewrite('helper')\n"
        "import inside, helper\n"
        "def test_library():\n    inside.check()\n"
        "def test_helper():\n    helper.check()\n"
    )
    for name in ("helper", "inside"):
        (sample / f"{name}.py").write_text("def check():\n    assert True is not False\n")
    (sample / "inside-1.dist-info").mkdir()
    for name, text in {
        "METADATA": "Metadata-Version: 2.1\nName: inside\nVersion: 1\n",
        "RECORD": "inside.py,,\ninside-1.dist-info/RECORD,,\n",
        "entry_points.txt": "[pytest11]\ninside = inside\n",
    }.items():
        (sample / "inside-1.dist-info" / name).write_text(text)
    # All plugins are found by themselves here; two of them are loaded by another name already.
    by_name = ("-pno:trellis-board", "-pno:rerunfailures")
    run_pytest("--board=b.sqlite", *by_name, "test_crash.py", PYTEST_DISABLE_PLUGIN_AUTOLOAD="")
    assert outcomes(sample / "b.sqlite") == {
        ("test_library", "any"): "hollow",
        ("test_helper", "any"): "success",
    }


def test_nothing_happens_without_the_option(run_pytest, sample):
    done = run_pytest("test_cells.py", "-k", "by_assert")
    assert "board:" not in done.stdout
    assert not list(sample.glob("*.sqlite*"))


def test_a_store_that_cannot_be_opened_is_a_usage_error(run_pytest):
    done = run_pytest("--board=mysql://somewhere/board", "test_cells.py")
    assert done.returncode == 4
    assert "postgresql://" in done.stderr


def test_a_server_wants_a_token(run_pytest):
    done = run_pytest("--board=http://127.0.0.1:9/", "test_cells.py")
    assert done.returncode == 4
    assert "BOARD_TOKEN" in done.stderr


def test_a_run_that_cannot_be_recorded_fails(run_pytest, sample):
    arguments = ("test_cells.py", "-k", "by_assert", "--board-run=9")
    assert run_pytest("--board=b.sqlite", *arguments, BOARD_COMMIT="aaaa").returncode == 0
    done = run_pytest("--board=b.sqlite", *arguments, BOARD_COMMIT="bbbb")
    assert done.returncode == 1
    assert "NOTHING WAS RECORDED: run '9' belongs to commit aaaa" in done.stdout
