"""The CI recipes, run here: their own shell lines, on a local repository and local files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time

import pytest
import yaml

from .conftest import HERE, SOURCE
from .helpers import count, make_part, outcomes

RECIPES = HERE.parent / "recipes"
BACKENDS = ("numpy", "torch")


class Checkout:
    """A clone of a local repository, as a CI job has one."""

    def __init__(self, folder, origin, tools):
        self.folder = folder
        subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True)
        for place in (".github", ".gitlab"):
            (folder / place).mkdir()
            shutil.copy(RECIPES / "history.sh", folder / place / "board-history.sh")
        self.environment = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(SOURCE),
            **{f"GIT_{who}_NAME": "board" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "board@example.org" for who in ("AUTHOR", "COMMITTER")},
        }

    def start(self, script, **environment):
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, script, **environment):
        started = self.start(script, **environment)
        told, _ = started.communicate(timeout=300)
        assert started.returncode == 0, told
        return told


@pytest.fixture
def checkout(tmp_path):
    """Makes clones of one empty repository."""
    origin = tmp_path / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    command = tools / "trellis-board"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m trellis_board "$@"\n')
    command.chmod(0o755)
    made = []

    def make():
        made.append(Checkout(tmp_path / f"clone{len(made)}", origin, tools))
        return made[-1]

    make.origin = origin
    return make


def leave_artifacts(folder, run, branch, days_ago=0.0, **outcome):
    """What the jobs of a matrix leave: a store each."""
    from trellis_board.store import Store

    for backend in BACKENDS:
        file = folder / f"board-{backend}.sqlite"
        file.unlink(missing_ok=True)
        cells = {f"tanh__{backend}": outcome.get(backend, "success")}
        part = make_part(run, backend, time.time() - 86400 * days_ago, **cells)
        part.branch = branch
        Store.open(file).for_project("project").record(part)


def commits(checkout):
    log = ["git", "-C", str(checkout.origin), "log", "--oneline", "board-history"]
    return subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_history_goes_on_from_run_to_run(checkout):
    for number in range(3):
        clone = checkout()
        clone.run("bash .github/board-history.sh fetch h.sqlite")
        assert (clone.folder / "h.sqlite").exists() == (number > 0)
        leave_artifacts(clone.folder, str(number), "main", days_ago=3 - number)
        clone.run("bash .github/board-history.sh save h.sqlite board-*.sqlite")
    last = checkout()
    last.run("bash .github/board-history.sh fetch h.sqlite")
    assert (count_in(last).runs, count_in(last).parts) == (3, 6)
    assert len(commits(checkout)) == 1, "the repository does not grow with every run"


def count_in(clone):
    from trellis_board.store import Store

    return count(Store.open(clone.folder / "h.sqlite", create=False))


def test_runs_that_end_together_do_not_lose_each_other(checkout):
    clones = [checkout() for _ in range(4)]
    for number, clone in enumerate(clones):
        leave_artifacts(clone.folder, str(number), "main", days_ago=number)
    script = "bash .github/board-history.sh save h.sqlite board-*.sqlite"
    running = [clone.start(script) for clone in clones]
    for process in running:
        told, _ = process.communicate(timeout=300)
        assert process.returncode == 0, told
    last = checkout()
    last.run("bash .github/board-history.sh fetch h.sqlite")
    assert count_in(last).runs == 4


def test_old_runs_are_forgotten(checkout):
    for number, days in enumerate((900, 400, 1)):
        clone = checkout()
        leave_artifacts(clone.folder, str(number), "main", days_ago=days)
        script = "bash .github/board-history.sh save h.sqlite board-*.sqlite"
        clone.run(script, BOARD_KEEP="365d")
    assert count_in(clone).runs == 1


def test_history_needs_a_command(checkout):
    process = checkout().start("bash .github/board-history.sh")
    assert "usage:" in process.communicate()[0]
    assert process.returncode == 2


def github_steps(job):
    """The shell lines of a job, without what needs a registry; and the variables they get."""
    workflow = yaml.safe_load((RECIPES / "github-actions.yml").read_text())
    for step in workflow["jobs"][job]["steps"]:
        if "run" in step and not step["run"].startswith("pip install"):
            yield step["run"], step.get("env", {})


def test_the_github_workflow(checkout):
    main = checkout()
    leave_artifacts(main.folder, "100", "main", days_ago=1)
    ((script, variables),) = github_steps("publish")
    main.run(script, **{key: str(value) for key, value in variables.items()})
    assert (main.folder / "site" / "index.html").exists()

    pull = checkout()
    leave_artifacts(pull.folder, "101", "pull/7/feature", torch="failure")
    ((script, variables),) = github_steps("changes")
    assert set(variables) == {"BASE", "NUMBER"}
    summary = pull.folder / "summary"
    given = {"BASE": "main", "NUMBER": "7", "GITHUB_RUN_ID": "101"}
    pull.run(script, GITHUB_STEP_SUMMARY=str(summary), **given)
    comment = (pull.folder / "comment.md").read_text()
    assert comment.startswith("### Board: 1 regression\n")
    assert "<code>torch</code> | success → failure" in comment
    assert summary.read_text() == comment
    assert (pull.folder / "number").read_text() == "7\n"

    after = checkout()
    after.run("bash .github/board-history.sh fetch h.sqlite")
    assert count_in(after).runs == 1, "a pull request never changes the board"
    assert set(outcomes(after.folder / "h.sqlite").values()) == {"success"}


def gitlab_script(job):
    lines = yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text())[job]["script"]
    return "\n".join(line for line in lines if not line.startswith("pip install"))


def test_the_gitlab_pipeline(checkout):
    main = checkout()
    leave_artifacts(main.folder, "100", "main", days_ago=1)
    variables = {
        "CI_SERVER_HOST": "gitlab.invalid",
        "CI_PROJECT_PATH": "group/project",
        "BOARD_PUSH_TOKEN": "secret",
        "BOARD_KEEP": "365d",
    }
    # The address that the script pushes to leads to the local repository.
    address = "https://board:secret@gitlab.invalid/group/project.git"
    main.run(f"git config --global url.{checkout.origin}.insteadOf {address}")
    main.run(gitlab_script("pages"), **variables)
    assert (main.folder / "public" / "index.html").exists()

    merge = checkout()
    leave_artifacts(merge.folder, "101", "merge/7/feature", numpy="hollow")
    merge.run(
        gitlab_script("board:changes"),
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
        CI_PIPELINE_ID="101",
        BOARD_COMMENT_TOKEN="",
    )
    assert "🟠 newly hollow: 1" in (merge.folder / "comment.md").read_text()


def test_a_job_that_died_is_part_of_the_board(checkout):
    """The pytest of one job is killed; the step after it records how far it came."""
    clone = checkout()
    (clone.folder / "test_dies.py").write_text(
        "import os, pytest\n"
        "def test_first():\n    assert 1 == 1\n"
        "def test_dies():\n    os._exit(3)\n"
        "def test_last():\n    assert 1 == 1\n"
    )
    workflow = yaml.safe_load((RECIPES / "github-actions.yml").read_text())
    steps = [step for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    record, after = (step["run"].replace("${{ matrix.backend }}", "numpy") for step in steps[1:])
    python = f"{sys.executable} -m pytest -p trellis_board.plugin --board"
    isolated = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "BOARD_RUN_ID": "1"}
    died = clone.start(record.replace("pytest --board", python), **isolated)
    died.communicate(timeout=300)
    assert died.returncode == 3
    clone.run(after)
    found = {
        test: outcome
        for (test, _), outcome in outcomes(clone.folder / "board-numpy.sqlite").items()
    }
    assert (found["test_first"], found["test_dies"]) == ("success", "error")


def test_the_first_pull_request_has_nothing_to_compare_with(checkout):
    pull = checkout()
    leave_artifacts(pull.folder, "1", "pull/1/first")
    ((script, _),) = github_steps("changes")
    given = {"BASE": "main", "NUMBER": "1", "GITHUB_RUN_ID": "1"}
    pull.run(script, GITHUB_STEP_SUMMARY=str(pull.folder / "summary"), **given)
    told = (pull.folder / "comment.md").read_text()
    assert told == "### Board: nothing to compare yet: branch main has no run before '1'\n"


def test_every_command_in_the_recipes_exists():
    from argparse import ArgumentParser

    from trellis_board.commands import add_arguments

    parser = ArgumentParser()
    add_arguments(parser)
    known = set(parser._subparsers._group_actions[0].choices)
    for recipe in RECIPES.iterdir():
        for command in re.findall(r"trellis-board (\w+) --", recipe.read_text()):
            assert command in known, (recipe.name, command)


def test_the_comment_workflow_runs_no_code_of_the_pull_request():
    workflow = yaml.safe_load((RECIPES / "github-comment.yml").read_text())
    steps = workflow["jobs"]["comment"]["steps"]
    assert all("uses" not in step for step in steps), "it checks nothing out"
    assert workflow["permissions"] == {"actions": "read", "pull-requests": "write"}
