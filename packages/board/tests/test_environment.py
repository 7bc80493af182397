"""Where a run says it happened, under each CI, and which cell a test is in."""

from __future__ import annotations

import subprocess

import pytest

from trellis_board import environment
from trellis_board.cells import backend_name, cell_from_node_id, without_word

GITHUB = {
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_REPOSITORY": "o/r",
    "GITHUB_SHA": "abc",
}
GITLAB = {
    "CI_PIPELINE_ID": "8",
    "CI_JOB_NAME": "test 1/2",
    "CI_JOB_URL": "https://gitlab.example/o/r/-/jobs/9",
    "CI_COMMIT_SHA": "def",
}


@pytest.mark.parametrize(
    ("env", "run", "link", "commit"),
    [
        (GITHUB, "7.2", "https://github.com/o/r/actions/runs/7", "abc"),
        (GITLAB, "8", "https://gitlab.example/o/r/-/jobs/9", "def"),
        (
            {**GITHUB, "BOARD_RUN_ID": "x", "BOARD_RUN_URL": "https://y", "BOARD_COMMIT": "z"},
            *("x", "https://y", "z"),
        ),
    ],
)
def test_each_ci_is_understood(env, run, link, commit, tmp_path):
    assert environment.run_id(env) == run
    assert environment.run_link(env) == link
    assert environment.commit(env, tmp_path) == commit


def test_without_any_ci(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert environment.run_id({}) != environment.run_id({})
    assert environment.shard({}) != environment.shard({})
    assert environment.run_link({}) is None
    assert environment.commit({}, tmp_path) is None
    assert environment.branch({}, tmp_path) is None


def test_git_tells_commit_and_branch(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "trunk")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    commit = environment.commit({}, tmp_path)
    assert commit is not None
    assert len(commit) == 40
    assert environment.branch({}, tmp_path) == "trunk"
    (tmp_path / "file").write_text("2")
    assert environment.commit({}, tmp_path) == f"{commit}-dirty"


def test_versions_of_what_is_installed():
    found = environment.versions(["numpy", "no_such_backend", "any"])
    assert "numpy" in found
    assert "no_such_backend" not in found


@pytest.mark.parametrize(
    ("ids", "backend", "expected"),
    [
        ("numpy", "numpy", ""),
        ("x-numpy-y", "numpy", "x-y"),
        ("numpy-x", "numpy", "x"),
        ("torchvision-x", "torch", "torchvision-x"),
        ("torch-cpu-x", "torch-cpu", "x"),
        ("numpy-numpy", "numpy", "numpy"),
        ("pandas[pyarrow]-x", "pandas[pyarrow]", "x"),
    ],
)
def test_the_backend_is_no_part_of_the_row(ids, backend, expected):
    assert without_word(ids, backend) == expected


def test_a_cell_from_nothing_but_a_node_id():
    known = ["numpy", "torch"]
    node = "tests/a.py::TestX::test_a[3-torch]@group"
    assert cell_from_node_id(node, known) == ("tests/a", "TestX::test_a[3]", "torch")
    assert cell_from_node_id("a.py::test_a[3]", known) == ("a", "test_a[3]", "any")


def test_a_backend_may_be_any_object_with_a_name():
    assert backend_name("jax") == "jax"
    assert backend_name(subprocess) == "subprocess"
    assert backend_name(3) == "3"
    assert backend_name(object()) == ""
