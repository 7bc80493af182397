"""The branches of a project, and which of them its board follows.

Pages, badges and ``latest`` show the default branch: runs of other branches can be looked at and
compared, but change nothing that the public sees. A run that names no branch counts as one of the
default branch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from . import schema
from .settings import read_settings

__all__ = ["Branch", "board_of", "branches", "default_branch"]

USUAL = ("main", "master")
NAMELESS = ""
"""How a summary row writes the branch of a run that has none."""


@dataclass(frozen=True)
class Branch:
    """A branch with recorded runs; its id is that of its first run."""

    id: int
    name: str
    runs: int
    newest: float


def branches(connection: Connection, project: int) -> list[Branch]:
    """The branches that runs of the project name, the one with the newest run first."""
    run = schema.run
    newest = func.max(run.c.started).label("newest")
    query = (
        select(func.min(run.c.id), run.c.branch, func.count(run.c.id), newest)
        .where(run.c.project_id == project, run.c.branch.is_not(None))
        .group_by(run.c.branch)
        .order_by(newest.desc(), run.c.branch)
    )
    return [Branch(*row) for row in connection.execute(query)]


def default_branch(connection: Connection, project: int) -> str:
    """The branch as set in ``board.toml``; or main, master, or the one with the newest run.

    A pull request, whose branch is called ``pull/7/...`` or ``merge/7/...``, is never the default.
    """
    chosen = read_settings(connection, project).default_branch
    if chosen:
        return chosen
    every = [branch.name for branch in branches(connection, project)]
    known = [name for name in every if not re.match(r"(pull|merge)/\d+/", name)]
    for usual in USUAL:
        if usual in known:
            return usual
    return known[0] if known else USUAL[0]


def board_of(connection: Connection, project: int, branch: str | None = None) -> list[str]:
    """The branches, as summary rows write them, whose runs make up the board of `branch`."""
    usual = default_branch(connection, project)
    if branch is None or branch == usual:
        return [usual, NAMELESS]
    return [branch]
