"""What changed between two runs, how it is told, and how runs are named."""

from __future__ import annotations

import pytest

from trellis_board import refs
from trellis_board.branches import default_branch
from trellis_board.diff import compare, kind_of_change
from trellis_board.diff_text import as_markdown, as_text
from trellis_board.queries import UnknownNameError, find_project
from trellis_board.records import Part, Result
from trellis_board.refs import NothingBeforeError, resolve, resolve_base

from .helpers import DAY, make_part


@pytest.fixture
def two_runs(store):
    project = store.for_project("p")
    project.record(
        make_part(
            "1",
            started=1000,
            same__x="success",
            breaks__x="success",
            hollows__x="success",
            heals__x="failure",
            skips__x="success",
            goes__x="success",
            stays__x="failure",
            fills__x="hollow",
        )
    )
    project.record(
        make_part(
            "2",
            started=2000,
            same__x="success",
            breaks__x="error",
            hollows__x="hollow",
            heals__x="success",
            skips__x="skipped",
            stays__x="error",
            new__x="failure",
            fills__x="success",
            fresh__x="success",
        )
    )
    return store


def changes(store, base="1", head="2"):
    with store.reading() as connection:
        id = find_project(connection, None)
        return compare(connection, id, resolve(connection, id, base), resolve(connection, id, head))


def test_every_kind_of_change(two_runs):
    found = changes(two_runs)
    assert {(c.test.removeprefix("test_"), c.kind) for c in found.changes} == {
        ("breaks", "new failure"),
        ("new", "new failure"),
        ("stays", "already red"),
        ("hollows", "newly hollow"),
        ("heals", "fixed"),
        ("fills", "newly passing"),
        ("fresh", "newly passing"),
        ("skips", "newly skipped"),
        ("goes", "not run"),
    }
    regressions = {c.test.removeprefix("test_") for c in found.regressions}
    assert regressions == {"breaks", "new"}


def test_less_bad_is_no_regression():
    assert kind_of_change("failure", "hollow") == "newly hollow"
    assert kind_of_change("failure", "error") == "already red"
    assert kind_of_change(None, "skipped") is None


def test_clearly_slower_cells_are_told(store):
    for run, seconds in (("1", 0.1), ("2", 0.5)):
        results = [
            Result("m", "slow", "x", "success", duration=seconds),
            Result("m", "tiny", "x", "success", duration=seconds / 100),
        ]
        store.for_project("p").record(Part(run, "a", float(run), results=results))
    found = changes(store)
    assert [(c.test, c.kind) for c in found.changes] == [("slow", "slower")]
    assert "0.100 s → 0.500 s" in as_text(found)
    assert not found.regressions


def test_told_as_text(two_runs):
    told = as_text(changes(two_runs))
    assert "new failure (2)" in told
    assert "not run (1): ops 1" in told
    assert "ops::test_breaks [x]  success → error" in told
    assert told.endswith("2 regressions")


def test_told_as_a_comment(two_runs):
    told = as_markdown(changes(two_runs))
    assert told.startswith("### Board: 2 regressions\n")
    assert "<details open><summary>🔴 new failure: 2</summary>" in told
    assert "| <code>ops&#58;&#58;test_breaks</code> | `x` | success → error |" in told


def test_a_comment_carries_no_foreign_markup(store):
    results = [Result("m", "t[<img src=x>|b]", "x", "failure")]
    store.for_project("p").record(Part("1", "a", 1.0))
    store.for_project("p").record(Part("2", "a", 2.0, results=results))
    told = as_markdown(changes(store))
    assert "<img" not in told
    assert "t&#91;&#60;img src&#61;x&#62;&#124;b&#93;" in told


def test_runs_have_many_names(store):
    project = store.for_project("p")
    for number, commit, branch in (
        ("1", "aaaa1111", "main"),
        ("2", "bbbb2222", "main"),
        ("3", "bbbb2222", None),
        ("4", "cccc3333", "feature"),
    ):
        project.record(Part(number, "a", float(number), commit=commit, branch=branch))

    def named(ref):
        with store.reading() as connection:
            id = find_project(connection, None)
            return [run.name for run in resolve(connection, id, ref, ask_git=False)]

    assert named("latest") == ["3"]
    assert named("previous") == ["2"]
    assert named("1") == ["1"]
    assert named("bbbb22") == ["3", "2"]
    assert named("newest") == named("feature") == ["4"]
    assert named("main") == ["2"]
    with pytest.raises(UnknownNameError, match=r"no run, commit or branch 'x'.*4 \(cccc3333\)"):
        named("x")


def test_of_one_commit_the_newest_result_counts(store):
    project = store.for_project("p")
    project.record(
        Part("1", "a", 1.0, commit="aaaa1111", results=[Result("m", "t", "x", "success")])
    )
    project.record(
        Part("2", "a", 2.0, commit="bbbb2222", results=[Result("m", "t", "x", "failure")])
    )
    project.record(
        Part("3", "a", 3.0, commit="bbbb2222", results=[Result("m", "t", "x", "success")])
    )
    assert changes(store, "aaaa1111", "bbbb2222").changes == []
    # Green and red on one commit: that is no fault of the commit.
    assert [c.kind for c in changes(store, "1", "2").changes] == ["flaky"]


def test_a_base_is_older_than_its_head(store):
    project = store.for_project("p")
    for name, branch in (("1", "main"), ("2", "main"), ("3", "pull/7/main"), ("4", "main")):
        project.record(Part(name, "a", float(name), commit=f"c{name}" * 8, branch=branch))

    def base_of(head, ref):
        with store.reading() as connection:
            id = find_project(connection, None)
            found = resolve(connection, id, head, ask_git=False)
            return [run.name for run in resolve_base(connection, id, ref, found, ask_git=False)]

    assert base_of("3", "main") == base_of("3", "previous") == ["2"]
    assert base_of("4", "main") == base_of("4", "previous") == ["2"], "never the run itself"
    assert base_of("4", "pull/7/main") == ["3"]
    assert base_of("4", "1") == ["1"]
    with pytest.raises(NothingBeforeError, match="branch main has no run before '1'"):
        base_of("1", "main")
    with pytest.raises(UnknownNameError, match="no run, commit or branch 'typo'"):
        base_of("4", "typo")


def record_sessions(store, times=(10, 20), commits=("aaaa1111", "bbbb2222")):
    """A suite that is run once for each backend, at two commits, as the README says."""
    project = store.for_project("p")
    for time, commit in zip(times, commits, strict=True):
        for later, backend in enumerate(("numpy", "torch")):
            part = make_part(f"{time}{backend}", started=float(time + later))
            part.commit, part.branch = commit, "main"
            red = backend == "torch" and commit == commits[1]
            part.results = [
                Result("m", "tanh", backend, "failure" if red else "success"),
                Result("m", "sin", backend, "success"),
            ]
            project.record(part)


def base_and_head(store, base, head="newest"):
    with store.reading() as connection:
        id = find_project(connection, None)
        found = resolve(connection, id, head, ask_git=False)
        before = resolve_base(connection, id, base, found, ask_git=False)
        return [run.name for run in before], [run.name for run in found]


@pytest.mark.parametrize("commits", [("aaaa1111", "bbbb2222"), ("dirty", "dirty")])
def test_sessions_of_a_suite_are_compared_as_one(store, commits):
    record_sessions(store, commits=commits)
    expected = ["10torch", "10numpy"], ["20torch", "20numpy"]
    assert base_and_head(store, "previous") == expected
    assert base_and_head(store, "main", "main") == expected
    assert base_and_head(store, "main", "latest") == expected
    # A session that is named is that one, and the others of its suite are no base for it.
    assert base_and_head(store, "previous", "20torch") == (expected[0], ["20torch"])
    with store.reading() as connection:
        id = find_project(connection, None)
        assert [run.name for run in resolve(connection, id, "previous")] == expected[0]
        head = resolve(connection, id, "newest")
        found = compare(connection, id, resolve_base(connection, id, "previous", head), head)
    if commits[0] != commits[1]:
        assert [(c.kind, c.test, c.backend) for c in found.changes] == [
            ("new failure", "tanh", "torch")
        ]


def test_runs_that_only_look_like_sessions_stay_apart(store):
    """A day later, of another commit, or with a backend in common: each is a run of its own."""
    day = int(DAY)
    record_sessions(store, times=(day, 3 * day), commits=("aaaa1111", "aaaa1111"))
    assert base_and_head(store, "previous")[0] == [f"{day}torch", f"{day}numpy"]
    part = make_part("alone", started=3 * DAY + 50, sin__torch="success")
    part.commit, part.branch = "aaaa1111", "main"
    store.for_project("p").record(part)
    assert base_and_head(store, "previous")[1] == ["alone"], "a part of the suite, run again"
    part = make_part("other", started=3 * DAY + 60, sin__numpy="success")
    part.commit, part.branch = "bbbb2222", "main"
    store.for_project("p").record(part)
    assert base_and_head(store, "previous") == (["alone"], ["other"])


def test_a_pull_request_never_becomes_the_default_branch(store):
    project = store.for_project("p")
    project.record(Part("1", "a", 1.0, branch="pull/7/main"))
    with store.reading() as connection:
        assert default_branch(connection, find_project(connection, None)) == "main"
    project.record(Part("2", "a", 2.0, branch="trunk"))
    project.record(Part("3", "a", 3.0, branch="merge/8/x"))
    with store.reading() as connection:
        assert default_branch(connection, find_project(connection, None)) == "trunk"


def test_an_age_or_a_release_as_base(store, monkeypatch):
    project = store.for_project("p")
    now = 100 * DAY
    for name, days, branch in (("old", 30, "main"), ("week", 8, "main"), ("v1.2", 5, "v1.2")):
        project.record(Part(name, "a", now - days * DAY, commit=name * 8, branch=branch))
    project.record(Part("head", "a", now, commit="c" * 40, branch="main"))

    def base_of(ref):
        with store.reading() as connection:
            id = find_project(connection, None)
            head = resolve(connection, id, "head")
            return [run.name for run in resolve_base(connection, id, ref, head, ask_git=False)]

    assert base_of("7d") == base_of("1w") == ["week"]
    assert base_of("200h") == ["old"], "the newest run that is at least as old"
    assert base_of("release:1.2") == ["v1.2"]
    with pytest.raises(NothingBeforeError, match="no run 31d before 'head'"):
        base_of("31d")
    with pytest.raises(UnknownNameError, match=r"no tag '1\.3' or 'v1\.3'"):
        base_of("release:1.3")


def test_a_release_without_a_run_is_told(store, monkeypatch):
    store.for_project("p").record(Part("1", "a", 1.0, commit="c" * 40, branch="main"))
    monkeypatch.setattr(refs, "_ask_git", {"refs/tags/v1.2": "d" * 40}.get)
    with store.reading() as connection:
        id = find_project(connection, None)
        with pytest.raises(UnknownNameError, match="commit dddddddddd, and this store has no run"):
            resolve(connection, id, "release:1.2")
        monkeypatch.setattr(refs, "_ask_git", {"refs/tags/v1.2": "c" * 40}.get)
        assert [run.name for run in resolve(connection, id, "release:1.2")] == ["1"]
