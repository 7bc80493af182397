"""Where a run happens: run id, shard, commit, link and versions, from the environment.

GitHub Actions and GitLab CI are recognised by their own variables; anything else says what it knows
through ``BOARD_RUN_ID``, ``BOARD_SHARD``, ``BOARD_RUN_URL``, ``BOARD_COMMIT`` and ``BOARD_BRANCH``,
which always come first.

>>> run_link({"BOARD_RUN_URL": "https://ci.example/7"})
'https://ci.example/7'
>>> run_link({}) is None
True
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import subprocess
import uuid
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

__all__ = ["branch", "commit", "python_and_platform", "run_id", "run_link", "shard", "versions"]

# Distributions whose versions matter for a backend, where they differ from the backend's name.
_DISTRIBUTIONS = {
    "jax": ("jax", "jaxlib"),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "keras"),
    "cupy": ("cupy", "cupy-cuda12x"),
}


def run_id(env: Mapping[str, str]) -> str:
    """The name all parts of this run share; a new one if the environment has none."""
    if "BOARD_RUN_ID" in env:
        return env["BOARD_RUN_ID"]
    if "GITHUB_RUN_ID" in env:
        # A re-run of some jobs is a separate run: its results are newer than the old ones.
        return f"{env['GITHUB_RUN_ID']}.{env.get('GITHUB_RUN_ATTEMPT', '1')}"
    return env.get("CI_PIPELINE_ID") or uuid.uuid4().hex[:12]


def shard(env: Mapping[str, str]) -> str:
    """The name of this part. A named part replaces itself, one without a name replaces nothing."""
    return env.get("BOARD_SHARD") or env.get("CI_JOB_NAME") or uuid.uuid4().hex[:12]


def run_link(env: Mapping[str, str]) -> str | None:
    """The address at which the log of this run can be read."""
    if "BOARD_RUN_URL" in env:
        return env["BOARD_RUN_URL"]
    if "GITHUB_RUN_ID" in env and "GITHUB_REPOSITORY" in env:
        server = env.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{env['GITHUB_REPOSITORY']}/actions/runs/{env['GITHUB_RUN_ID']}"
    return env.get("CI_JOB_URL") or env.get("CI_PIPELINE_URL")


def commit(env: Mapping[str, str], root: Path) -> str | None:
    """The commit under test; `-dirty` is appended when tracked files differ from it."""
    for name in ("BOARD_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA"):
        if name in env:
            return env[name]
    head = _git(root, "rev-parse", "HEAD")
    if head and _git(root, "status", "--porcelain", "--untracked-files=no"):
        return f"{head}-dirty"
    return head or None


def branch(env: Mapping[str, str], root: Path) -> str | None:
    """The branch under test.

    A pull request has its number in its name: the branch of a fork may be called ``main`` too, and
    what is in it must not pass for what is in the project.

    >>> branch({"GITHUB_HEAD_REF": "main", "GITHUB_REF": "refs/pull/7/merge"}, Path())
    'pull/7/main'
    """
    if env.get("BOARD_BRANCH"):
        return env["BOARD_BRANCH"]
    if env.get("GITHUB_HEAD_REF"):
        number = re.match(r"refs/pull/(\d+)/", env.get("GITHUB_REF", ""))
        return f"pull/{number.group(1) if number else '?'}/{env['GITHUB_HEAD_REF']}"
    if env.get("CI_MERGE_REQUEST_IID"):
        source = env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or env.get("CI_COMMIT_REF_NAME", "")
        return f"merge/{env['CI_MERGE_REQUEST_IID']}/{source}"
    for name in ("GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"):
        if env.get(name):
            return env[name]
    name = _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    return name if name and name != "HEAD" else None


def python_and_platform() -> tuple[str, str]:
    """Version of Python and a one-line description of the machine."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return python, f"{platform.system()} {platform.release()} {platform.machine()}"


def versions(backends: Iterable[str]) -> dict[str, str]:
    """Installed versions of the backends' distributions; nothing is imported to find them."""
    names = [name for backend in backends for name in _DISTRIBUTIONS.get(backend, (backend,))]
    return {name: version for name in names if (version := _version(name)) is not None}


@cache
def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
