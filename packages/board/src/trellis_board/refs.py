"""Naming runs: a run id, a commit, a branch, ``latest``, ``previous``, ``newest``, an age such as
``7d`` or a release as ``release:1.2``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from sqlalchemy import Connection

from .ages import seconds_of
from .branches import USUAL, board_of, default_branch
from .queries import RunInfo, UnknownNameError, runs
from .sessions import sessions

__all__ = ["NothingBeforeError", "resolve", "resolve_base"]

_SHORTEST_COMMIT = 4
_NEAR = 1000  # how many runs are looked at for sessions that belong together
_RELEASE = "release:"


class NothingBeforeError(UnknownNameError):
    """The first run of a branch has nothing to be compared with."""


def resolve(connection: Connection, project: int, ref: str, ask_git: bool = True) -> list[RunInfo]:
    """The runs that `ref` names, newest first; a commit may have several.

    Asked in this order: ``latest`` and ``previous`` of the default branch, ``newest`` of all
    branches, a run id, the beginning of a commit, a branch (its newest run), and last whatever git
    makes a commit of (``HEAD~1``, a tag); a server, whose callers are strangers, does not ask git.
    ``release:1.2`` is a run of the commit with the tag ``1.2`` or ``v1.2``. Where the newest run is
    one of several `sessions` of a suite, all of them are meant.
    """
    every = runs(connection, project)
    if ref.startswith(_RELEASE):
        return _of_release(every, ref.removeprefix(_RELEASE), ask_git)
    if ref in ("latest", "previous", "newest"):
        board = board_of(connection, project)
        shown = every if ref == "newest" else runs(connection, project, of=board)
        found = _newest(connection, shown, place=1 if ref == "previous" else 0)
        if found:
            return found
        where = "the project" if ref == "newest" else f"branch {board[0]}"
        raise UnknownNameError(f"there is no {ref} run: {where} has {len(shown)} in all")
    found = [run for run in every if run.name == ref] or _of_commit(every, ref)
    if not found:
        found = _newest(connection, [run for run in every if run.branch == ref])
    if not found and ask_git and (commit := _ask_git(ref)):
        found = _of_commit(every, commit)
    if not found:
        newest = ", ".join(f"{run.name} ({(run.commit or 'no commit')[:10]})" for run in every[:5])
        raise UnknownNameError(
            f"no run, commit or branch {ref!r} in this store; "
            f"the newest runs are {newest or 'none'}"
        )
    return found


def resolve_base(
    connection: Connection, project: int, ref: str, head: Sequence[RunInfo], ask_git: bool = True
) -> list[RunInfo]:
    """The runs that `ref` names as something to compare `head` with.

    A branch and ``previous`` mean its newest run that is older than the head: a comparison of a run
    with itself would find nothing. An age means the newest run of the default branch that is at
    least that much older than the head.
    """
    if (age := seconds_of(ref)) is not None:
        before = min(run.started for run in head) - age
        usual = board_of(connection, project)
        old = [run for run in runs(connection, project, of=usual) if run.started <= before]
        if not old:
            raise NothingBeforeError(f"branch {usual[0]} has no run {ref} before {head[0].name!r}")
        return _newest(connection, old)
    oldest = min((run.started, run.id) for run in head)
    named = {run.branch for run in runs(connection, project)}
    is_branch = ref in {*named, *USUAL, default_branch(connection, project)}
    if ref in ("previous", "latest") or is_branch:
        board = board_of(connection, project, ref if is_branch else None)
        every = runs(connection, project, of=board)
        # The other sessions of the head are no base for it.
        own = {one.id for one in head}
        for group in sessions(connection, every[:_NEAR]):
            if any(run.id in own for run in group):
                own |= {run.id for run in group}
        earlier = [run for run in every if (run.started, run.id) < oldest and run.id not in own]
        if not earlier:
            raise NothingBeforeError(f"branch {board[0]} has no run before {head[0].name!r}")
        return _newest(connection, earlier)
    return resolve(connection, project, ref, ask_git)


def _newest(connection: Connection, some: Sequence[RunInfo], place: int = 0) -> list[RunInfo]:
    """The newest of some runs, or the one before it, with the sessions that belong to it."""
    groups = sessions(connection, some[:_NEAR])
    return groups[place] if place < len(groups) else []


def _of_release(every: list[RunInfo], release: str, ask_git: bool) -> list[RunInfo]:
    named = [run for run in every if run.branch in (release, f"v{release}")]
    if named:  # CI names the tag where it would name a branch
        return named[:1]
    commits = [_ask_git(f"refs/tags/{tag}") for tag in (release, f"v{release}")] if ask_git else []
    for commit in filter(None, commits):
        if found := _of_commit(every, commit):
            return found
        raise UnknownNameError(
            f"release {release} is commit {commit[:10]}, and this store has no run of it"
        )
    raise UnknownNameError(f"no tag {release!r} or 'v{release}' is known here")


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
