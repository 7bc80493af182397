"""Runs that belong together: a suite whose backend is chosen from outside is run once for each.

Each of these sessions is a run of its own, unless all were given the same run id. A comparison of
one with another would say that a whole backend is new and another gone, so they are taken as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from . import schema
from .queries import RunInfo

__all__ = ["sessions"]

_DAY = 86400.0


def sessions(connection: Connection, some: Sequence[RunInfo]) -> list[list[RunInfo]]:
    """Runs, newest first, in groups: neighbours of one commit and branch that began within a day
    and have no backend in common."""
    tally = schema.tally
    backends: dict[int, set[int]] = {run.id: set() for run in some}
    query = select(tally.c.run_id, tally.c.backend_id).distinct()
    for run, backend in connection.execute(query.where(tally.c.run_id.in_(list(backends)))):
        backends[run].add(backend)
    groups: list[list[RunInfo]] = []
    for run in some:
        group = groups[-1] if groups else []
        seen = {backend for one in group for backend in backends[one.id]}
        if (
            group
            and (run.commit, run.branch) == (group[0].commit, group[0].branch)
            and group[0].started - run.started < _DAY
            and seen
            and backends[run.id]
            and seen.isdisjoint(backends[run.id])
        ):
            group.append(run)
        else:
            groups.append([run])
    return groups
