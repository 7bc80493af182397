"""Naming runs: a run id, a commit, a branch, ``latest`` or ``previous``."""

from __future__ import annotations

import subprocess

from sqlalchemy import Connection

from .queries import RunInfo, UnknownNameError, runs

__all__ = ["resolve"]

_SHORTEST_COMMIT = 4


def resolve(connection: Connection, project: int, ref: str, ask_git: bool = True) -> list[RunInfo]:
    """The runs that `ref` names, newest first; a commit may have several.

    Asked in this order: ``latest`` and ``previous``, a run id, the beginning of a commit, a branch
    (its newest run), and last whatever git makes a commit of (``HEAD~1``, a tag); a server, whose
    callers are strangers, does not ask git.
    """
    every = runs(connection, project)
    if ref in ("latest", "previous"):
        place = ("latest", "previous").index(ref)
        if place < len(every):
            return [every[place]]
        raise UnknownNameError(f"there is no {ref} run: the project has {len(every)} in all")
    found = [run for run in every if run.name == ref] or _of_commit(every, ref)
    if not found:
        found = [run for run in every if run.branch == ref][:1]
    if not found and ask_git and (commit := _ask_git(ref)):
        found = _of_commit(every, commit)
    if not found:
        newest = ", ".join(f"{run.name} ({(run.commit or 'no commit')[:10]})" for run in every[:5])
        raise UnknownNameError(
            f"no run, commit or branch {ref!r} in this store; "
            f"the newest runs are {newest or 'none'}"
        )
    return found


def _of_commit(every: list[RunInfo], commit: str) -> list[RunInfo]:
    if len(commit) < _SHORTEST_COMMIT:
        return []
    return [run for run in every if (run.commit or "").startswith(commit)]


def _ask_git(ref: str) -> str:
    # A ref that begins with a dash would be an option to git.
    if ref.startswith("-"):
        return ""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"],
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
