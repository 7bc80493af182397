"""The CI recipes, run here: their own shell lines, on a local repository and local files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

from .conftest import HERE, SOURCE
from .helpers import count, make_part, outcomes

RECIPES = HERE.parent / "recipes"
ACTION = HERE.parent / "action"
BACKENDS = ("numpy", "torch")


class Checkout:
    """A clone of a local repository, as a CI job has one."""

    def __init__(self, folder, origin, tools):
        self.folder = folder
        subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True)
        (folder / ".gitlab").mkdir()
        shutil.copy(ACTION / "history.sh", folder / ".gitlab" / "board-history.sh")
        self.environment = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(SOURCE),
            **{f"GIT_{who}_NAME": "board" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "board@example.org" for who in ("AUTHOR", "COMMITTER")},
        }

    def start(self, script, start_new_session=False, **environment):
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            start_new_session=start_new_session,
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
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python").chmod(0o755)
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


def downloaded(clone, run, branch, days_ago=0.0, **outcome):
    """A folder for temporary files, with the artifacts as the action unpacks them: each in its own
    folder. The variables of a job that has it."""
    folder = clone.folder.with_name(f"{clone.folder.name}-temp")
    for backend in BACKENDS:
        (folder / "parts" / f"board-{backend}").mkdir(parents=True)
    leave_artifacts(folder, run, branch, days_ago, **outcome)
    for backend in BACKENDS:
        file = f"board-{backend}.sqlite"
        (folder / file).rename(folder / "parts" / f"board-{backend}" / file)
    return {"RUNNER_TEMP": str(folder), "BOARD_PROJECT": "project"}


def commits(checkout):
    log = ["git", "-C", str(checkout.origin), "log", "--oneline", "board-history"]
    return subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_history_goes_on_from_run_to_run(checkout):
    for number in range(3):
        clone = checkout()
        clone.run("bash .gitlab/board-history.sh fetch h.sqlite")
        assert (clone.folder / "h.sqlite").exists() == (number > 0)
        leave_artifacts(clone.folder, str(number), "main", days_ago=3 - number)
        clone.run("bash .gitlab/board-history.sh save h.sqlite board-*.sqlite")
    last = checkout()
    last.run("bash .gitlab/board-history.sh fetch h.sqlite")
    assert (count_in(last).runs, count_in(last).parts) == (3, 6)
    assert len(commits(checkout)) == 1, "the repository does not grow with every run"


def count_in(clone):
    from trellis_board.store import Store

    return count(Store.open(clone.folder / "h.sqlite", create=False))


def test_runs_that_end_together_do_not_lose_each_other(checkout):
    clones = [checkout() for _ in range(4)]
    for number, clone in enumerate(clones):
        leave_artifacts(clone.folder, str(number), "main", days_ago=number)
    script = "bash .gitlab/board-history.sh save h.sqlite board-*.sqlite"
    running = [clone.start(script) for clone in clones]
    for process in running:
        told, _ = process.communicate(timeout=300)
        assert process.returncode == 0, told
    last = checkout()
    last.run("bash .gitlab/board-history.sh fetch h.sqlite")
    assert count_in(last).runs == 4


def test_old_runs_are_forgotten(checkout):
    for number, days in enumerate((900, 400, 1)):
        clone = checkout()
        leave_artifacts(clone.folder, str(number), "main", days_ago=days)
        script = "bash .gitlab/board-history.sh save h.sqlite board-*.sqlite"
        clone.run(script, BOARD_KEEP="365d")
    assert count_in(clone).runs == 1


def test_history_needs_a_command(checkout):
    process = checkout().start("bash .gitlab/board-history.sh")
    assert "usage:" in process.communicate()[0]
    assert process.returncode == 2


def github_steps(do):
    """The shell lines of the action that do something, without what needs a registry; and the names
    of the variables they get."""
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    for step in action["runs"]["steps"]:
        if (
            f"inputs.do == '{do}'" in step["if"]
            and "run" in step
            and "pip install" not in step["run"]
        ):
            yield step["run"], set(step.get("env", {}))


def action_variables(clone, **more):
    """What GitHub, and the inputs' defaults, tell the steps."""
    inputs = yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]
    return {
        "GITHUB_ACTION_PATH": str(ACTION),
        "GITHUB_ENV": str(clone.folder.with_name(f"{clone.folder.name}-env")),
        "SETTINGS": inputs["settings"]["default"],
        "SITE": inputs["site"]["default"],
        "BOARD_KEEP": inputs["keep"]["default"],
        **more,
    }


def test_the_github_workflow(checkout):
    main = checkout()
    job = downloaded(main, "100", "main", days_ago=1)
    ((script, variables),) = github_steps("publish")
    given = action_variables(main, **job)
    assert variables <= set(given)
    main.run(script, **given)
    assert (main.folder / "site" / "index.html").exists()

    pull = checkout()
    job = downloaded(pull, "101", "pull/7/feature", torch="failure")
    (script, variables), (verdict, _) = github_steps("compare")
    summary = pull.folder / "summary"
    given = action_variables(pull, BASE="main", NUMBER="7", **job)
    assert variables <= set(given)
    pull.run(script, GITHUB_STEP_SUMMARY=str(summary), GITHUB_RUN_ID="101", **given)
    comment = (pull.folder / "comment.md").read_text()
    assert comment.startswith("### Board: 1 regression\n")
    assert "`torch` | success → failure" in comment
    assert summary.read_text() == comment
    assert (pull.folder / "number").read_text() == "7\n"
    told = open(given["GITHUB_ENV"]).read()
    assert told == "BOARD_CODE=1\n"
    assert pull.start(f"{told.strip()}; {verdict}").wait() == 1, "a regression fails the job"

    after = checkout()
    after.run("bash .gitlab/board-history.sh fetch h.sqlite")
    assert count_in(after).runs == 1, "a pull request never changes the board"
    assert set(outcomes(after.folder / "h.sqlite").values()) == {"success"}


def gitlab_pipeline(**given):
    """The jobs of the component, as GitLab makes them of its inputs."""
    header, jobs = (RECIPES / "gitlab-ci.yml").read_text().split("\n---\n")
    inputs = yaml.safe_load(header)["spec"]["inputs"]
    assert given.keys() <= inputs.keys(), "an input that the component does not have"
    values = {name: given.get(name, each["default"]) for name, each in inputs.items()}
    filled = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: said(values[found[1]]), jobs)
    assert "$[[" not in filled
    return yaml.safe_load(filled)


def said(value):
    return value if isinstance(value, str) else json.dumps(value)


def gitlab_script(job):
    lines = gitlab_pipeline()[job]["script"]
    return "\n".join(line for line in lines if not line.startswith("pip install"))


def test_each_input_of_the_component_is_told_about_and_used():
    header, jobs = (RECIPES / "gitlab-ci.yml").read_text().split("\n---\n")
    inputs = yaml.safe_load(header)["spec"]["inputs"]
    assert all(each["description"] and "default" in each for each in inputs.values())
    assert set(re.findall(r"inputs\.(\w+)", jobs)) == set(inputs)
    wanted = gitlab_pipeline(backends=["numpy", "cupy"], pytest="tox run --", board_stage="report")
    tests = wanted["board:test"]
    assert tests["parallel"]["matrix"] == [{"BACKEND": ["numpy", "cupy"]}]
    assert tests["script"][1].startswith("tox run -- --board ")
    assert {wanted[job]["stage"] for job in ("board:changes", "pages")} == {"report"}
    # A component is included beside other jobs: it may not say what all of them do.
    assert set(wanted) == {"board:test", "board:changes", "pages"}


def test_the_gitlab_pipeline(checkout):
    main, variables = gitlab_pages(checkout)
    leave_artifacts(main.folder, "100", "main", days_ago=1)
    main.run(gitlab_script("pages"), **variables)
    assert (main.folder / "public" / "index.html").exists()

    merge = checkout()
    leave_artifacts(merge.folder, "101", "merge/7/feature", numpy="hollow")
    merge.run(
        gitlab_script("board:changes"),
        BOARD_PROJECT="project",
        BOARD_SETTINGS="board.toml",
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
        CI_PIPELINE_ID="101",
    )
    assert "🟠 newly hollow: 1" in (merge.folder / "board-changes.md").read_text()

    red = checkout()
    leave_artifacts(red.folder, "102", "merge/8/feature", torch="failure")
    job = red.start(
        gitlab_script("board:changes"),
        BOARD_PROJECT="project",
        BOARD_SETTINGS="board.toml",
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main",
        CI_PIPELINE_ID="102",
    )
    job.communicate(timeout=300)
    assert job.returncode == 1, "a new failure fails the merge request"
    assert "1 regression" in (red.folder / "board-changes.md").read_text()


def gitlab_pages(checkout):
    """A checkout whose folder is that of the project, and what GitLab tells the job `pages`."""
    main = checkout()
    main.run("git add . && git commit -qm files && git push -q origin HEAD:main")
    # The address that the script pushes to leads to the local repository.
    address = "https://board:secret@gitlab.invalid/group/project.git"
    main.run(f"git config --global url.{checkout.origin}.insteadOf {address}")
    return main, {
        "CI_SERVER_HOST": "gitlab.invalid",
        "CI_PROJECT_PATH": "group/project",
        "CI_PROJECT_DIR": str(main.folder),
        "CI_REPOSITORY_URL": str(checkout.origin),
        "CI_COMMIT_SHA": main.run("git rev-parse HEAD").strip(),
        "BOARD_PUSH_TOKEN": "secret",
        "BOARD_PROJECT": "project",
        "BOARD_SETTINGS": "board.toml",
        "BOARD_KEEP": "365d",
    }


DYING = """
import os, pytest, time
def test_first():
    assert 1 == 1
def test_dies():
    open("started", "w").close()
    {how}
def test_last():
    assert 1 == 1
"""


def recording_job(clone, how):
    """The steps of a job that records, as the runner starts them: name, tests, and what comes after
    them in any case; and the variables of all."""
    (clone.folder / "test_dies.py").write_text(DYING.format(how=how))
    steps = list(github_steps("record"))
    given = action_variables(
        clone,
        BOARD_PROJECT="project",
        BOARD_RUN_ID="1",
        BOARD_SHARD="numpy cpu",
        BACKEND="numpy",
        PYTEST=f"{sys.executable} -m pytest -p trellis_board.plugin",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert set().union(*(variables for _, variables in steps)) <= set(given)
    (name, tests, after), _ = zip(*steps, strict=True)
    clone.run(name, **given)
    told = open(given["GITHUB_ENV"]).read()
    assert told == "BOARD_FILE=board-numpy-cpu.sqlite\n"
    return tests, after, {**given, "BOARD_FILE": "board-numpy-cpu.sqlite"}


def check_death(store):
    found = {test: outcome for (test, _), outcome in outcomes(store).items()}
    assert found == {"test_first": "success", "test_dies": "error", "test_last": "died"}


def test_a_job_that_died_is_part_of_the_board(checkout):
    """The pytest of one job is killed; the step after it records how far it came."""
    clone = checkout()
    tests, after, given = recording_job(clone, "os._exit(3)")
    died = clone.start(tests, **given)
    died.communicate(timeout=300)
    assert died.returncode == 3, "the job fails as the tests do"
    clone.run(after, **given)
    check_death(clone.folder / "board-numpy-cpu.sqlite")


def test_a_job_that_is_cancelled_is_part_of_the_board(checkout):
    """The runner kills the step of the tests with all its processes: no line of it runs after."""
    clone = checkout()
    tests, after, given = recording_job(clone, "time.sleep(600)")
    killed = clone.start(tests, start_new_session=True, **given)
    wait_for(clone.folder / "started")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=300)
    clone.run(after, **given)
    check_death(clone.folder / "board-numpy-cpu.sqlite")


@pytest.mark.parametrize("store", ["empty", "gone"])
def test_a_journal_is_part_of_the_board(checkout, store):
    """Not even the step after the tests ran: what is uploaded and merged is the journal."""
    clone = checkout()
    tests, _, given = recording_job(clone, "time.sleep(600)")
    killed = clone.start(tests, start_new_session=True, **given)
    wait_for(clone.folder / "started")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=300)
    temporary = clone.folder.with_name("temp")
    parts = temporary / "parts" / "board-numpy-cpu.sqlite"
    parts.mkdir(parents=True)
    for file in clone.folder.glob("board-numpy-cpu.sqlite*"):
        if store == "empty" or file.suffix == ".jsonl":
            file.rename(parts / file.name)
    (parts / "board-numpy-cpu.sqlite-run-9-torn.jsonl").write_text("[")
    ((script, _),) = github_steps("publish")
    clone.run(script, **{**given, "RUNNER_TEMP": str(temporary)})
    clone.run("bash .gitlab/board-history.sh fetch h.sqlite")
    check_death(clone.folder / "h.sqlite")


def wait_for(file):
    until = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < until, f"{file} did not come"
        time.sleep(0.05)


def test_what_comes_after_the_tests_is_done_for_jobs_that_are_cancelled_too():
    steps = [step for step in action_steps() if "inputs.do == 'record'" in step["if"]]
    (tests,) = [place for place, step in enumerate(steps) if "PYTEST" in step.get("env", {})]
    before, after = steps[: tests + 1], steps[tests + 1 :]
    always = "always() && inputs.do == 'record' && env.BOARD_FILE != ''"
    assert [step["if"] for step in after] == [always, always]
    assert {step["if"] for step in before} == {"inputs.do == 'record'"}
    assert after[1]["with"] == {"name": "${{ env.BOARD_FILE }}", "path": "${{ env.BOARD_FILE }}*"}
    # GitLab: what comes after the script has time left, and the journal is an artifact.
    job = gitlab_pipeline()["board:test"]
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["paths"] == ["board-*.sqlite*"]
    assert (job["timeout"], job["variables"]["RUNNER_SCRIPT_TIMEOUT"]) == ("1h", "50m")
    assert job["after_script"] == ['trellis-board runs --store "board-$BACKEND.sqlite"']


def test_the_first_pull_request_has_nothing_to_compare_with(checkout):
    pull = checkout()
    job = downloaded(pull, "1", "pull/1/first")
    (script, _), _ = github_steps("compare")
    given = action_variables(pull, BASE="main", NUMBER="1", GITHUB_RUN_ID="1", **job)
    pull.run(script, GITHUB_STEP_SUMMARY=str(pull.folder / "summary"), **given)
    told = (pull.folder / "comment.md").read_text()
    assert told == "### Board: nothing to compare yet: branch main has no run before '1'\n"


def test_every_command_in_the_recipes_exists():
    from argparse import ArgumentParser

    from trellis_board.commands import add_arguments

    parser = ArgumentParser()
    add_arguments(parser)
    known = set(parser._subparsers._group_actions[0].choices)
    for recipe in (*RECIPES.glob("*.yml"), *ACTION.glob("*.*")):
        for command in re.findall(r"trellis-board (\w+) --", recipe.read_text()):
            assert command in known, (recipe.name, command)


def test_the_comment_workflow_runs_no_code_of_the_pull_request():
    workflow = yaml.safe_load((RECIPES / "github-comment.yml").read_text())
    (step,) = workflow["jobs"]["comment"]["steps"]
    assert step["with"] == {"do": "comment"}, "it checks nothing out"
    assert workflow["permissions"] == {"actions": "read", "pull-requests": "write"}
    ((script, _),) = github_steps("comment")
    assert script == 'bash "$GITHUB_ACTION_PATH/comment.sh"'


# What a test job leaves may be anything: it runs the code of a pull request, or of a package.


def plant(folder):
    """Files that would run, or lead elsewhere, if somebody took them for his own."""
    evil = f"touch {folder.parent / 'owned'}"
    for name in (".gitlab/board-history.sh", "trellis-board", "git"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{evil}\n")
        (folder / name).chmod(0o755)
    (folder / "board.toml").write_text("no settings at all")
    (folder / "trellis_board.py").write_text(f"import os; os.system({evil!r})")
    git = folder / ".git"
    git.mkdir(exist_ok=True)
    (git / "config").write_text(f"[core]\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n")
    return folder.parent / "owned"


def add_project(store):
    from trellis_board.store import Store

    Store.open(store).for_project("somebody-elses").record(make_part(tanh__numpy="success"))


def test_artifacts_take_the_place_of_nothing_on_github(checkout):
    main = checkout()
    job = downloaded(main, "100", "main")
    parts = main.folder.with_name(f"{main.folder.name}-temp") / "parts"
    owned = plant(parts / "board-numpy")
    add_project(parts / "board-numpy" / "board-numpy.sqlite")
    ((script, _),) = github_steps("publish")
    main.run(script, **action_variables(main, **job))
    assert not owned.exists()
    main.run("bash .gitlab/board-history.sh fetch h.sqlite")
    assert project_names_in(main) == ["project"], "a part has no say about other projects"


def project_names_in(clone):
    from trellis_board.queries import project_names
    from trellis_board.store import Store

    with Store.open(clone.folder / "h.sqlite", create=False).reading() as connection:
        return list(project_names(connection))


def test_artifacts_take_the_place_of_nothing_on_gitlab(checkout):
    main, variables = gitlab_pages(checkout)
    leave_artifacts(main.folder, "100", "main")
    # The strategy is `empty`: the folder of the project has the artifacts and nothing else.
    folder = main.folder.with_name("builds")
    folder.mkdir()
    for backend in BACKENDS:
        file = f"board-{backend}.sqlite"
        (main.folder / file).rename(folder / file)
    owned = plant(folder)
    variables["CI_PROJECT_DIR"] = str(folder)
    main.folder = folder
    main.run(gitlab_script("pages"), **variables)
    assert not owned.exists()
    assert (folder / "public" / "index.html").exists()


def workflows():
    for recipe in ("github-actions.yml", "github-comment.yml"):
        yield yaml.safe_load((RECIPES / recipe).read_text())


def action_steps():
    return yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]


def test_artifacts_are_unpacked_outside_of_the_checkout():
    downloads = [s for s in action_steps() if "download-artifact@" in s.get("uses", "")]
    assert [step["with"]["path"] for step in downloads] == ["${{ runner.temp }}/parts"]
    assert "merge-multiple" not in str(downloads)
    assert 'gh run download "$RUN" --name comment --dir "$RUNNER_TEMP/comment"' in (
        (ACTION / "comment.sh").read_text()
    )
    pages = gitlab_pipeline()["pages"]
    assert pages["variables"]["GIT_STRATEGY"] == "empty"


def test_actions_are_named_by_their_commits():
    named = 0
    for file in (ACTION / "action.yml", *RECIPES.glob("github-*.yml")):
        for line in re.findall(r"uses: (.*)", re.sub(r"^#.*", "", file.read_text(), flags=re.M)):
            own = line == "OWNER/trellis/packages/board/action@COMMIT"
            assert own or re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
            named += 1
    assert named == 14


def test_every_package_has_a_version_and_in_jobs_that_write_a_hash():
    from trellis_board import __version__

    pipeline = gitlab_pipeline()
    installs = {
        (name, line)
        for name, job in pipeline.items()
        if isinstance(job, dict)
        for line in job.get("script", ())
        if "pip install" in line
    }
    for name, line in installs:
        is_hashed = line.startswith("pip install --require-hashes -r .gitlab/")
        assert is_hashed or (name != "pages" and f"trellis-board=={__version__} " in line)
    assert len(installs) == 3
    writing = {
        name: [step.get("with", {}).get("do") for step in job["steps"]]
        for workflow in workflows()
        for name, job in workflow["jobs"].items()
        if "write" in job.get("permissions", workflow["permissions"]).values()
    }
    # They run the action alone, and no command of their own; it says what it installs for them.
    assert writing == {"publish": [None, "publish"], "deploy": [None], "comment": ["comment"]}
    for step in action_steps():
        for line in step.get("run", "").splitlines():
            if "pip install" in line and "record" not in step["if"]:
                assert line.startswith("python -P -m pip install --quiet --require-hashes -r ")


def test_the_action_runs_its_own_trellis_board(tmp_path, checkout):
    """Not one that the checkout has brought along."""
    clone = checkout()
    (clone.folder / "trellis_board.py").write_text("print('owned')")
    told = clone.run(f"PYTHONPATH= '{ACTION}/bin/trellis-board' --version")
    assert told.strip() == __import__("trellis_board").__version__


def test_only_the_default_branch_sees_a_token():
    """A pipeline of a merge request runs its code, in each of its jobs."""
    pipeline = gitlab_pipeline()
    with_token = {name for name, job in pipeline.items() if "TOKEN" in str(job)}
    assert with_token == {"pages"}
    assert pipeline["pages"]["rules"] == [
        {"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "always"}
    ]
    assert pipeline["pages"]["environment"] == "board-history"
    with_token = [step["if"] for step in action_steps() if "TOKEN" in str(step)]
    assert with_token == ["inputs.do == 'comment'"]
    assert all("TOKEN" not in str(workflow) for workflow in workflows())


def test_a_comment_is_two_files_and_no_links(checkout, tmp_path):
    """The script of the job that may comment, with a `gh` that only takes notes."""
    script = f"bash '{ACTION}/comment.sh'"
    clone = checkout()
    gh = clone.folder.with_name("tools") / "gh"
    # The old comments are none; `gh pr view` tells the commit.
    gh.write_text('#!/bin/sh\necho "$@" >> "$RUNNER_TEMP/told"\ntest "$1" = api || echo abc\n')
    gh.chmod(0o755)
    given = {"RUNNER_TEMP": str(tmp_path), "COMMIT": "abc", "GH_REPO": "a/b", "RUN": "1"}
    folder = tmp_path / "comment"
    folder.mkdir()
    (folder / "number").write_text("7; rm -rf /\n")
    (folder / "comment.md").write_text("### Board")
    clone.run(script, **given)
    assert "repos/a/b/issues/7/comments" in (tmp_path / "told").read_text()
    assert (tmp_path / "body.md").read_text() == "<!-- board -->\n### Board"
    (tmp_path / "secret").write_text("secret")
    (folder / "comment.md").unlink()
    (folder / "comment.md").symlink_to(tmp_path / "secret")
    failed = clone.start(script, **given)
    failed.communicate(timeout=60)
    assert failed.returncode != 0
    assert "secret" not in (tmp_path / "body.md").read_text()


def test_the_server_recipes():
    """Nothing but the proxy is reached from outside, and each waits for headers for a while only.

    caddy and systemd check their own files where they are installed.
    """
    from trellis_board import __version__

    server = RECIPES / "server"
    compose = yaml.safe_load((server / "compose.yml").read_text())["services"]
    assert {name for name, service in compose.items() if "ports" in service} == {"proxy"}
    assert f"trellis-board[server,postgres]=={__version__}" in (server / "Dockerfile").read_text()
    assert "read_header 10s" in (server / "Caddyfile").read_text()
    unit = (server / "trellis-board.service").read_text()
    assert "serve --host 127.0.0.1" in unit
    if shutil.which("caddy"):
        words = ["caddy", "validate", "--adapter", "caddyfile", "--config", server / "Caddyfile"]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
