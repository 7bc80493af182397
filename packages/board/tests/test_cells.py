"""Which cell each collected test belongs to, and what its reports and its past come to."""

from __future__ import annotations

import re
from enum import Enum, StrEnum
from pathlib import Path

import pytest

from trellis_board.cells import (
    backend_name,
    cell_from_node_id,
    cell_of_item,
    module_of,
    remember_parametrizations,
    without_word,
)
from trellis_board.outcomes import OUTCOMES, SEVERITY, is_red, severity, worst
from trellis_board.recorder import Attempt, Recorder
from trellis_board.records import BrokenModule, Part, Result, merge
from trellis_board.verdicts import Past, past_of

pytest_plugins = ["pytester"]


# Cells --------------------------------------------------------------------------------------------


@pytest.fixture
def cells(pytester, monkeypatch):
    """From the source of a module of tests to the rows and columns of its tests, in order."""
    monkeypatch.setattr(pytest.Metafunc, "parametrize", pytest.Metafunc.parametrize)

    def found(source, arguments=("backend",), backend=None):
        remember_parametrizations()
        name = f"test_collected_{len(list(pytester.path.glob('test_collected_*.py')))}"
        path = pytester.makepyfile(
            **{name: f"import pytest\nmark = pytest.mark.parametrize\n{source}"}
        )
        root = f"--rootdir={pytester.path}"
        items, _ = pytester.inline_genitems(path, root, "-p", "no:cacheprovider")
        told = [cell_of_item(item, arguments, backend) for item in items]
        own = [item.get_closest_marker("board") for item in items]
        modules = [name if mark is None else mark.kwargs.get("module", name) for mark in own]
        assert [module for module, _, _ in told] == modules
        return [(row, column) for _, row, column in told]

    return found


ROWS = {
    "no parameters": ("def test_a(): ...", [("test_a", "any")]),
    "a backend alone": (
        "@mark('backend', ['numpy', 'torch'])\ndef test_a(backend): ...",
        [("test_a", "numpy"), ("test_a", "torch")],
    ),
    "no backend": (
        "@mark('x', [1, 2])\ndef test_a(x): ...",
        [("test_a[1]", "any"), ("test_a[2]", "any")],
    ),
    "a backend and more": (
        "@mark('x', [1, 2])\n@mark('backend', ['numpy', 'torch'])\ndef test_a(backend, x): ...",
        [
            *(("test_a[1]", "numpy"), ("test_a[2]", "numpy")),
            *(("test_a[1]", "torch"), ("test_a[2]", "torch")),
        ],
    ),
    "a backend in a tuple of arguments": (
        "@mark('backend, x', [('numpy', 1), ('torch', 1)])\ndef test_a(backend, x): ...",
        [("test_a[1]", "numpy"), ("test_a[1]", "torch")],
    ),
    "arguments as a list of names": (
        "@mark(['backend', 'x'], [('numpy', 1), ('torch', 1)])\ndef test_a(backend, x): ...",
        [("test_a[1]", "numpy"), ("test_a[1]", "torch")],
    ),
    "values without names are counted within one backend": (
        "@mark('backend, x', [('numpy', {}), ('numpy', []), ('torch', {}), ('torch', [])])\n"
        "def test_a(backend, x): ...",
        [
            *(("test_a[x0]", "numpy"), ("test_a[x1]", "numpy")),
            *(("test_a[x0]", "torch"), ("test_a[x1]", "torch")),
        ],
    ),
    "and by what else is in the id": (
        "@mark('backend, name, x', [('numpy', 'sum', {}), ('numpy', 'max', {}),\n"
        "  ('torch', 'max', {}), ('torch', 'max', [])])\ndef test_a(backend, name, x): ...",
        [
            *(("test_a[sum-x0]", "numpy"), ("test_a[max-x0]", "numpy")),
            *(("test_a[max-x0]", "torch"), ("test_a[max-x1]", "torch")),
        ],
    ),
    "nameless backends have numbers": (
        "@mark('backend', [object(), object()])\ndef test_a(backend): ...",
        [("test_a", "backend0"), ("test_a", "backend1")],
    ),
    "the value names the column where the id does not": (
        "@mark('backend, x', [pytest.param('numpy', 1, id='np'), ('torch', 1)])\n"
        "def test_a(backend, x): ...",
        [("test_a[np]", "numpy"), ("test_a[1]", "torch")],
    ),
    "the id of a backend alone is its column": (
        "@mark('backend', ['numpy'], ids=['np-gpu'])\ndef test_a(backend): ...",
        [("test_a", "np-gpu")],
    ),
    "modules are backends": (
        "import math\n@mark('backend', [math])\ndef test_a(backend): ...",
        [("test_a", "math")],
    ),
    "several backends at once are none": (
        "@mark('backend', [('numpy', 'torch')])\ndef test_a(backend): ...",
        [("test_a[backend0]", "any")],
    ),
    "one backend with options is one": (
        "@mark('backend', [('numpy', {'a': 1}), [['torch'], 2]])\ndef test_a(backend): ...",
        [("test_a", "numpy"), ("test_a", "torch")],
    ),
    "no value at all": (
        "@mark('backend', [])\ndef test_a(backend): ...",
        [("test_a", "any")],
    ),
    "no value of another argument": (
        "@mark('x', [])\n@mark('backend', ['numpy'])\ndef test_a(backend, x): ...",
        [("test_a", "numpy")],
    ),
    "a value called NOTSET": (
        "@mark('x', ['NOTSET'])\n@mark('backend', ['numpy'])\ndef test_a(backend, x): ...",
        [("test_a[NOTSET]", "numpy")],
    ),
    "a fixture with parameters": (
        "@pytest.fixture(params=['numpy', 'torch'])\ndef backend(request): ...\n"
        "@mark('x', [1])\ndef test_a(backend, x): ...",
        [("test_a[1]", "numpy"), ("test_a[1]", "torch")],
    ),
    "empty ids are left out": (
        "@mark('x', ['', 'y'])\n@mark('backend', ['numpy'])\ndef test_a(backend, x): ...",
        [("test_a", "numpy"), ("test_a[y]", "numpy")],
    ),
    "brackets in an id": (
        "@mark('x', ['[0]'])\n@mark('backend', ['pandas[pyarrow]'])\ndef test_a(backend, x): ...",
        [("test_a[[0]]", "pandas[pyarrow]")],
    ),
    "methods of a class": (
        "class TestB:\n  @mark('backend', ['numpy'])\n  def test_a(self, backend): ...",
        [("TestB::test_a", "numpy")],
    ),
    "names of its own": (
        "@pytest.mark.board(module='elsewhere', row='own')\ndef test_a(): ...\n"
        "@pytest.mark.board(row='own')\ndef test_b(): ...",
        [("own", "any"), ("own", "any")],
    ),
}


@pytest.mark.parametrize("source, expected", ROWS.values(), ids=ROWS)
def test_rows_and_columns(cells, source, expected):
    assert cells(source) == expected


def test_the_backend_of_the_session_is_for_tests_without_one(cells):
    source = (
        "@mark('backend', ['numpy'])\ndef test_a(backend): ...\n"
        "@mark('x', [1])\ndef test_b(x): ...\ndef test_c(): ..."
    )
    expected = [("test_a", "numpy"), ("test_b[1]", "torch"), ("test_c", "torch")]
    assert cells(source, backend="torch") == expected


def test_the_first_argument_that_a_test_has_counts(cells):
    source = "@mark('xp', ['numpy'])\n@mark('device', ['cpu'])\ndef test_a(device, xp): ..."
    assert cells(source, ("backend", "device", "xp")) == [("test_a[numpy]", "cpu")]
    assert cells(source, ("xp", "device")) == [("test_a[cpu]", "numpy")]
    assert cells(source, ()) == [("test_a[cpu-numpy]", "any")]


def test_noting_parametrizations_twice_is_noting_them_once(monkeypatch):
    monkeypatch.setattr(pytest.Metafunc, "parametrize", pytest.Metafunc.parametrize)
    remember_parametrizations()
    once = pytest.Metafunc.parametrize
    remember_parametrizations()
    assert pytest.Metafunc.parametrize is once


KNOWN = ["numpy", "torch", "torch-gpu"]


@pytest.mark.parametrize(
    "node_id, cell",
    [
        ("a/test_b.py::test_c", ("a/test_b", "test_c", "any")),
        ("a/test_b.py::test_c[numpy]", ("a/test_b", "test_c", "numpy")),
        ("a/test_b.py::test_c[1-numpy-2]", ("a/test_b", "test_c[1-2]", "numpy")),
        ("a/test_b.py::test_c[torch-gpu-1]", ("a/test_b", "test_c[1]", "torch-gpu")),
        ("a/test_b.py::test_c[torch-1]", ("a/test_b", "test_c[1]", "torch")),
        ("a/test_b.py::test_c[jax]", ("a/test_b", "test_c[jax]", "any")),
        ("a/test_b.py::test_c[NOTSET]", ("a/test_b", "test_c", "any")),
        ("a/test_b.py::test_c[numpy]@gpu", ("a/test_b", "test_c", "numpy")),
        ("a/test_b.py::test_c[a@b-numpy]", ("a/test_b", "test_c[a@b]", "numpy")),
        ("a/test_b.py::test_numpy", ("a/test_b", "test_numpy", "any")),
        ("a/test_b.py", ("a/test_b", "", "any")),
    ],
)
def test_cells_of_node_ids(node_id, cell):
    assert cell_from_node_id(node_id, KNOWN) == cell
    assert module_of(node_id) == "a/test_b"


def test_words_between_dashes():
    assert without_word("torch-torch", "torch") == "torch"
    assert without_word("a-torch", "torch") == "a" and without_word("torch-a", "torch") == "a"
    assert without_word("torchvision", "torch") == "torchvision"
    assert without_word("a-x.y-b", "x.y") == "a-b" and without_word("xzy", "x.y") == "xzy"


def test_names_of_backends():
    class Named:
        framework_name = "mine"

    class Nameless:
        name = 3

    class Colour(StrEnum):
        RED = "red"

    class Level(Enum):
        LOW = 1

    assert [backend_name(x) for x in ("jax", 3, 1.5, True)] == ["jax", "3", "1.5", "True"]
    assert backend_name(Colour.RED) == "red" and backend_name(Level.LOW) == "Level.LOW"
    assert backend_name(Named()) == "mine" and backend_name(Named) == "Named"
    assert backend_name(Nameless()) == "" and backend_name(None) == ""


# Outcomes and results -----------------------------------------------------------------------------


def test_outcomes_from_good_to_bad():
    order = ["success", "skipped", "xfailed", "hollow", "died", "failure", "error"]
    assert list(OUTCOMES) == order and [severity(name) for name in order] == list(range(7))
    assert [name for name in order if is_red(name)] == ["failure", "error"]
    assert all(re.fullmatch("[a-z]+", each.shield) for each in OUTCOMES.values())
    assert all(re.fullmatch("#[0-9a-f]{6}", each.colour) for each in OUTCOMES.values())
    assert len({each.shield for each in OUTCOMES.values()}) == len(OUTCOMES)
    assert worst(["hollow", "error", "success"]) == "error" and worst(["success"]) == "success"
    with pytest.raises(ValueError, match="damaged: it has the outcome 'odd'; expected one of succ"):
        SEVERITY["odd"]
    with pytest.raises(ValueError, match="outcome 'odd' of m::t; expected one of"):
        Result("m", "t", "b", "odd")


def test_two_results_of_one_cell():
    good = Result("m", "t", "b", "success", 1.0, 2, 1, "fine", 10.0, "here")
    bad = Result("m", "t", "b", "failure", 2.0, 3, 2, "wrong", 5.0, "there")
    expected = Result("m", "t", "b", "failure", 3.0, 5, 2, "wrong", 10.0, "there")
    assert merge(good, bad) == merge(bad, good) == expected
    bare = Result("m", "t", "b", "success")
    assert merge(bare, good) == Result("m", "t", "b", "success", 1.0, 2, 1, "", 10.0, None)
    assert merge(good, bare) == good and merge(bare, bare) == bare
    other = Result("m", "t", "b", "success", message="later")
    assert merge(good, other).message == "fine"  # of two equally bad ones, the first speaks


def test_parts_as_json():
    part = Part(
        "1",
        "a",
        2.0,
        results=[Result("m", "t", "b", "died")],
        broken=[BrokenModule("m", "x", ["b"])],
    )
    assert Part.from_json(part.to_json()) == part
    bare = Part.from_json({"run": "1", "shard": "a", "started": 2.0})
    assert bare == Part("1", "a", 2.0, None, None, None, None, None, {}, [], [])


# Reports ------------------------------------------------------------------------------------------


def report(when="call", outcome="passed", text=None, node="test_a.py::test_b[numpy]", **more):
    """The report of one phase of a test, which took half a second and ended at 7."""
    longrepr = ("file", 1, text) if outcome == "skipped" and text else text
    return pytest.TestReport(
        *(node, ("test_a.py", 1, "test_b"), {}, outcome, longrepr, when),
        **{"duration": 0.5, "stop": 7.0, **more},
    )


class Subtest(pytest.TestReport):
    """As those of pytest-subtests, which have a context."""

    context = None


def subtest(outcome, text=None):
    made = Subtest(
        "test_a.py::test_b[numpy]", ("f", 1, "t"), {}, outcome, text, "call", duration=0.1
    )
    made.context = object()
    return made


FINE, HOLLOW = (3, None), (0, "nothing was compared")


def outcome_of(*reports, verdict=FINE, root=Path("/home/me")):
    recorder = Recorder(root, {})
    for each in reports:
        recorder.reported(each, verdict)
    (result,) = recorder.results(["numpy"])
    assert result.cell == ("test_a", "test_b", "numpy")
    return result


SETUP, TEARDOWN = report("setup"), report("teardown")


def test_a_plain_pass():
    found = outcome_of(SETUP, report(), TEARDOWN)
    assert found == Result("test_a", "test_b", "numpy", "success", 0.5, 3, 1, "", 7.0)


def test_reports_of_each_phase():
    failed = report(outcome="failed", text="/home/me/a.py:1: no")
    assert outcome_of(SETUP, failed, TEARDOWN).outcome == "failure"
    found = outcome_of(SETUP, failed, TEARDOWN)
    assert (found.message, found.duration, found.at, found.comparisons) == (
        "a.py:1: no",
        0.5,
        7.0,
        3,
    )
    found = outcome_of(report("setup", "failed", text="down"), TEARDOWN)
    assert (found.outcome, found.message, found.comparisons) == ("error", "down", None)
    assert (found.duration, found.at) == (0.5, 7.0)
    found = outcome_of(SETUP, report(), report("teardown", "failed", text="late", stop=9.0))
    assert (found.outcome, found.message, found.at) == ("error", "late", 9.0)
    assert (found.duration, found.comparisons) == (0.5, 3)  # those of the call
    found = outcome_of(report("???", "failed", text="worker crashed"))
    assert (found.outcome, found.message) == ("error", "worker crashed")


def test_skips_and_expected_failures():
    found = outcome_of(report("setup", "skipped", text="Skipped: no device"), TEARDOWN)
    assert (found.outcome, found.message) == ("skipped", "no device")
    found = outcome_of(SETUP, report(outcome="skipped", text="Skipped: later"), TEARDOWN)
    assert (found.outcome, found.message) == ("skipped", "later")
    as_text = report("setup", "skipped")
    as_text.longrepr = "in words"  # what plugins may put there
    assert outcome_of(as_text, TEARDOWN).message == "in words"
    found = outcome_of(SETUP, report(outcome="skipped", wasxfail="reason: known"), TEARDOWN)
    assert (found.outcome, found.message) == ("xfailed", "known")
    found = outcome_of(SETUP, report(wasxfail="known"), TEARDOWN)
    assert (found.outcome, found.message) == ("success", "passed although marked xfail: known")


def test_hollow_passes():
    found = outcome_of(SETUP, report(), TEARDOWN, verdict=HOLLOW)
    assert (found.outcome, found.message, found.comparisons) == ("hollow", HOLLOW[1], 0)
    found = outcome_of(SETUP, report(wasxfail="known"), TEARDOWN, verdict=HOLLOW)
    assert (found.outcome, found.message) == ("hollow", HOLLOW[1])


def test_tests_that_never_report_an_end():
    found = outcome_of(SETUP)
    assert (found.outcome, found.duration, found.comparisons) == ("error", None, None)
    assert found.at is None
    assert found.message == "the test started and never reported an end"


def test_attempts_are_counted_and_the_last_one_counts():
    failed = report(outcome="failed", text="no")
    found = outcome_of(SETUP, failed, TEARDOWN, SETUP, report(), TEARDOWN)
    assert (found.outcome, found.attempts, found.message) == ("success", 2, "")
    found = outcome_of(*[SETUP, failed, TEARDOWN] * 3)
    assert (found.outcome, found.attempts) == ("failure", 3)
    found = outcome_of(SETUP, report(), TEARDOWN, SETUP, failed, TEARDOWN)
    assert (found.outcome, found.attempts) == ("failure", 2)


def test_subtests():
    failed = report(outcome="failed", text="one failed")
    found = outcome_of(SETUP, subtest("failed", "first"), subtest("failed", "second"), failed)
    assert found.outcome == "failure"
    assert [found.message.index(x) for x in ("first", "second", "one failed")] == sorted(
        found.message.index(x) for x in ("first", "second", "one failed")
    )
    found = outcome_of(SETUP, subtest("failed", "first"), report())
    assert found.outcome == "failure" and "first" in found.message
    found = outcome_of(SETUP, subtest("skipped"), subtest("skipped"), report())
    assert (found.outcome, found.message) == ("success", "2 subtests were skipped")
    found = outcome_of(SETUP, subtest("passed"), report())
    assert (found.outcome, found.message, found.comparisons) == ("success", "", 3)
    found = outcome_of(
        SETUP, subtest("failed", "first"), report(outcome="skipped", wasxfail="known")
    )
    assert (found.outcome, found.message) == ("xfailed", "known")


def test_long_messages_keep_both_ends():
    text = "a" * 10_000 + "b" * 10_001
    found = outcome_of(SETUP, report(outcome="failed", text=text)).message
    half = 9980
    assert found == f"{'a' * half}\n[... 41 characters ...]\n{'b' * half}"
    text = "a" * 19_999 + "\x00"
    assert outcome_of(SETUP, report(outcome="failed", text=text[1:])).message[-5:] == "a\\x00"


def test_results_have_the_cells_that_are_known():
    own = ("m", "t", "torch")
    recorder = Recorder(Path("/home"), {"x.py::test_1[torch]": own})
    recorder.reported(report(node="x.py::test_1[torch]"), FINE)
    recorder.reported(report(node="x.py::test_2[torch]"), FINE)
    assert recorder.has_lost_tests()
    assert [r.cell for r in recorder.results()] == [own, ("x", "test_2", "torch")]
    recorder = Recorder(Path("/home"), {"x.py::test_1": ("m", "t", "any"), "x.py::test_2": own})
    recorder.reported(report("setup", node="x.py::test_1"), FINE)
    assert not recorder.has_lost_tests()
    recorder.reported(report("setup", node="x.py::test_any[any]"), FINE)
    assert recorder.has_lost_tests()
    assert [r.cell for r in recorder.results()] == [
        ("m", "t", "any"),
        ("x", "test_any[any]", "any"),
    ]


def test_tests_that_share_a_cell():
    cell = ("m", "t", "any")
    recorder = Recorder(Path("/home"), {"x.py::test_1": cell, "x.py::test_2": cell})
    recorder.reported(report(node="x.py::test_1"), FINE)
    recorder.reported(report(outcome="failed", text="no", node="x.py::test_2"), FINE)
    assert recorder.results() == [Result(*cell, "failure", 1.0, 6, 1, "no", 7.0)]


def test_modules_that_cannot_be_collected():
    recorder = Recorder(Path("/home/me"), {})
    recorder.collected(pytest.CollectReport("a/test_b.py", "failed", "/home/me/a: no", []))
    recorder.collected(pytest.CollectReport("a/test_c.py", "passed", None, []))
    found = recorder.broken_modules(["torch", "numpy"])
    assert found == [BrokenModule("a/test_b", "a: no", ["numpy", "torch"])]
    assert recorder.broken_modules() == [BrokenModule("a/test_b", "a: no", [])]


def test_a_fresh_attempt_is_an_error_until_it_ends():
    assert Attempt().outcome == "error" and Attempt().number == 1


# The past of a cell -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told, reruns, is_flaky",
    [
        ("", 0, False),
        ("0", 0, False),
        ("000", 1, True),
        ("0110", 0, False),  # one fault that was fixed
        ("010100", 0, True),
        ("1010", 0, True),
        ("0101", 0, False),
        ("1111", 0, False),
    ],
)
def test_flaky_by_turning_again_and_again(told, reruns, is_flaky):
    past = Past(told=tuple((str(n), c == "1") for n, c in enumerate(told)), reruns=reruns)
    assert past.is_flaky is is_flaky


def test_flaky_on_one_commit():
    assert Past(told=(("a", True), ("a", False))).is_flaky
    assert not Past(told=(("a", True), ("a", True), ("b", False))).is_flaky
    assert not Past(told=((None, True), (None, False))).is_flaky


class Board:
    """A project whose runs are told cell by cell: `numpy` in one module of four tests."""

    def __init__(self, store):
        self.store, self.count = store, 0

    def run(self, a, rest="success", branch="main", commit=None, attempts=1, started=None):
        from trellis_board.recording import project_id, record_part

        self.count += 1
        name = str(self.count)
        results = [Result("m", "a", "numpy", a, attempts=attempts)]
        results += [Result("m", f"b{n}", "numpy", rest) for n in range(3)]
        started = float(self.count) if started is None else started
        part = Part(name, "", started, commit or f"c{name}", branch, results=results)
        with self.store.writing() as connection:
            record_part(connection, project_id(connection, "p"), part)

    def past(self, head="success", cells=None, **more):
        """The past of `a` before a run of a pull request."""
        from trellis_board.queries import find_project, modules, runs

        self.run(head, branch="pull/1", **more)
        with self.store.reading() as connection:
            project = find_project(connection, "p")
            every = runs(connection, project)
            (own,) = [run for run in every if run.name == str(self.count)]
            base = [run for run in every if run.branch == "main"][:1]
            (test,) = [
                t for m in modules(connection, project) for t, n in m.tests.items() if n == "a"
            ]
            wanted = [(test, 1)] if cells is None else cells
            return past_of(connection, project, wanted, base, [own]).get((test, 1))


@pytest.fixture
def history(store):
    return Board(store)


def test_what_a_cell_was_before(history):
    history.run("failure")
    history.run("skipped")
    history.run("died")
    past = history.past("error")
    assert past.known == "skipped" and past.reruns == 0
    assert past.told == (("c1", True), ("c4", True))  # the head's own result is told, not known


def test_no_cells_have_no_past(history):
    history.run("success")
    assert history.past(cells=[]) is None


def test_second_attempts_count_if_they_passed(history):
    history.run("success", attempts=2)
    history.run("failure", attempts=3)
    history.run("success")
    assert history.past().reruns == 1


def test_runs_after_the_head_are_not_its_past(history):
    history.run("success")
    history.run("failure", started=50.0)
    assert history.past("success", started=10.0).told == (("c1", False), ("c3", False))


def test_other_runs_of_the_heads_commit_are(history):
    history.run("success")
    history.run("failure", branch="other", commit="same")
    history.run("failure", branch="other", commit="different")
    past = history.past("success", commit="same")
    assert past.told == (("c1", False), ("same", True), ("same", False)) and past.is_flaky


def test_only_so_many_runs_are_looked_at(history, monkeypatch):
    from trellis_board import verdicts

    monkeypatch.setattr(verdicts, "DEPTH", 2)
    for outcome in ("failure", "success", "success"):
        history.run(outcome)
    assert [red for _, red in history.past("failure").told] == [False, False, True]


@pytest.mark.parametrize(
    "a, rest, is_outage",
    [("failure", "failure", True), ("failure", "error", True), ("failure", "success", False)],
)
def test_outages_are_nobodys_fault(history, a, rest, is_outage):
    history.run("success")
    history.run(a, rest)
    history.run("success")
    reds = [red for _, red in history.past().told]
    assert reds == ([False, False, False] if is_outage else [False, True, False, False])
    assert history.past().known == "success"


def test_skipped_tests_do_not_make_an_outage(history):
    """One red cell beside three that were skipped is one: an outage takes three at least."""
    history.run("failure", "skipped")
    assert [red for _, red in history.past().told] == [True, False]
