"""The commit or the version that broke a cell is found, in few runs, and goes on where it was."""

from __future__ import annotations

import json
import math
import subprocess

import pytest

from trellis_board import bisect
from trellis_board.bisect import Cell, NothingToFindError, Search
from trellis_board.commands import main
from trellis_board.records import Part, Result
from trellis_board.store import Store


@pytest.mark.parametrize("number", [1, 2, 3, 7, 8, 9, 64, 100])
def test_any_culprit_is_found_in_few_runs(number):
    candidates = [f"c{place}" for place in range(number)]
    for culprit in range(number):
        tried = []

        def outcome_of(candidate):
            tried.append(candidate)
            return "failure" if candidates.index(candidate) >= culprit else "success"

        found = Search(candidates).run(outcome_of)
        assert found.first_bad == candidates[culprit]
        assert found.last_good == (candidates[culprit - 1] if culprit else None)
        assert found.runs == len(tried) <= math.ceil(math.log2(number)) + 1


def test_what_is_known_is_not_run_again():
    known = {"b": "success", "d": "failure"}
    found = Search(list("abcd"), known).run(lambda candidate: {"c": "error"}[candidate])
    assert (found.first_bad, found.last_good, found.runs) == ("c", "b", 1)


def test_a_green_end_and_a_cell_that_does_not_run_are_told():
    with pytest.raises(NothingToFindError, match="d is green: there is nothing to find"):
        Search(list("abcd")).run(lambda _: "success")
    with pytest.raises(NothingToFindError, match="b is skipped, which is neither"):
        Search(list("abcd")).run({"d": "failure", "b": "skipped"}.get)


def git(folder, *words):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A checkout of five commits; the fourth breaks a test on one backend."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_sums.py").write_text(
        "import pytest, sums\n"
        "@pytest.mark.parametrize('backend', ['one', 'two'])\n"
        "def test_sum(backend):\n"
        "    assert sums.add(backend) == 2\n"
    )
    for commit in range(5):
        bad = "3 if backend == 'two' else 2" if commit >= 3 else "2"
        text = f"# commit {commit}\ndef add(backend):\n    return {bad}\n"
        (root / "src" / "sums.py").write_text(text)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", f"commit {commit}")
    monkeypatch.chdir(root)
    return root


def test_commits_in_fresh_work_trees(project, capsys):
    commits = git(project, "rev-list", "--reverse", "HEAD").stdout.decode().split()
    words = ["bisect", "test_sums::test_sum @ two", "--commits", f"{commits[0]}..main"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"the first commit that is red: {commits[3]} ({commits[2]} is green; 3 runs)" in said
    assert not (project / ".board-bisect.json").exists(), "nothing is left to go on with"
    assert git(project, "worktree", "list").stdout.decode().count("\n") == 1


def test_commits_that_a_store_knows_are_not_run(project, capsys):
    commits = git(project, "rev-list", "--reverse", "HEAD").stdout.decode().split()
    store = Store.open("board.sqlite")
    for commit, outcome in ((4, "failure"), (2, "success")):
        result = Result("test_sums", "test_sum", "two", outcome)
        part = Part(run=str(commit), shard="", started=float(commit), results=[result])
        part.commit = commits[commit]
        store.for_project("p").record(part)
    words = ["bisect", "test_sums::test_sum @ two", "--commits", f"{commits[0]}..main"]
    assert main([*words, "--store", "board.sqlite"]) == 0
    assert f"red: {commits[3]} ({commits[2]} is green; 1 runs)" in capsys.readouterr().out


def test_a_search_goes_on_where_it_was(project, capsys, monkeypatch):
    commits = git(project, "rev-list", "--reverse", "HEAD").stdout.decode().split()
    words = ["bisect", "test_sums::test_sum @ two", "--commits", f"{commits[0]}..main"]
    question = {
        "cell": "test_sums::test_sum @ two",
        "kind": "commit",
        "span": f"{commits[0]}..main",
    }
    ran = []

    def dies_after_two(root, cell, command):
        def outcome_of(commit):
            if len(ran) == 2:
                raise KeyboardInterrupt
            ran.append(commit)
            return "failure" if commits.index(commit) >= 3 else "success"

        return outcome_of

    monkeypatch.setattr(bisect, "in_commit", dies_after_two)
    with pytest.raises(KeyboardInterrupt):
        main(words)
    kept = json.loads((project / ".board-bisect.json").read_text())
    assert kept == {"question": question, "outcomes": {ran[0]: "failure", ran[1]: "success"}}
    ran.clear()
    assert main(words) == 0
    assert len(ran) == 1, "the first two runs are known"
    assert f"the first commit that is red: {commits[3]}" in capsys.readouterr().out


def test_versions_of_a_package(monkeypatch):
    listed = "jax (0.10.2)\nAvailable versions: 0.10.2, 0.10.0, 0.9.1, 0.7.0, 0.6.2, 0.6.0, 0.5.3\n"

    def pip(words, root, environment=None):
        assert words[1:] == ["-m", "pip", "index", "versions", "jax"]
        return subprocess.CompletedProcess(words, 0, listed, "")

    monkeypatch.setattr(bisect, "_run", pip)
    assert bisect.versions_between("jax", "0.6.0..0.10") == [
        "0.6.2",
        "0.7.0",
        "0.9.1",
        "0.10.0",
        "0.10.2",
    ]
    # The good one is none of them: 0.6 is the oldest of its series. The newest, 0.6.2, may be red.
    assert bisect.versions_between("jax", "0.6..0.9.1") == ["0.6.2", "0.7.0", "0.9.1"]
    assert bisect.versions_between("jax", "0.6.1..0.9.1") == ["0.6.2", "0.7.0", "0.9.1"]
    assert bisect.versions_between("jax", "0..0.6") == ["0.6.0", "0.6.2"]
    assert bisect.versions_between("jax", "0.6.2.0..0.9") == ["0.7.0", "0.9.1"]
    span = bisect.versions_between("jax", "0.6..0.10")
    assert Search(span).most_runs == 4, "of five candidates"
    with pytest.raises(ValueError, match="expected a package and GOOD"):
        bisect.versions_between("jax", "0.6")


def test_a_version_is_installed_in_an_environment_of_its_own(tmp_path, monkeypatch):
    ran = []

    def fake(words, root, environment=None):
        ran.append(words)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(bisect, "_run", fake)
    cell = Cell.parse("tests/test_ops::test_tanh[float32] @ torch")
    assert cell == Cell("tests/test_ops", "test_tanh[float32]", "torch")
    outcome_of = bisect.in_version(tmp_path, cell, None, "jax", ["."])
    assert outcome_of("0.9.1") == "died", "this pytest recorded nothing"
    venv, pip, pytest_ = ran
    assert venv[1:3] == ["-m", "venv"]
    assert pip[1:] == ["-m", "pip", "install", "--quiet", "jax==0.9.1", "."]
    assert pip[0] == pytest_[0] != venv[0]
    assert pytest_[1:5] == ["-m", "pytest", "-q", "tests/test_ops.py"]


def test_mistakes_are_told(project, capsys):
    for words, said in (
        (["x"], "expected 'MODULE::TEST @ BACKEND'"),
        (["a::b @ c"], "--commits GOOD..BAD or --package"),
        (["a::b @ c", "--commits", "main"], "expected GOOD..BAD"),
        (["a::b @ c", "--commits", "main..main"], "git knows no commits"),
    ):
        assert main(["bisect", *words]) == 2
        assert said in capsys.readouterr().err
