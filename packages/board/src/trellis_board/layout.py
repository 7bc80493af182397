"""How a board is laid out: which backends are columns, and which rows are in which group.

A test without a backend argument has its one cell in a column called ``any``. Next to real backends
that is not a column, but a separate section.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from . import schema
from .branches import NAMELESS, board_of
from .columns import PLAIN, group_of
from .outcomes import OUTCOMES
from .queries import backend_names
from .settings import Settings, read_settings

__all__ = ["Layout", "Score", "board_layout", "lay_out", "score"]


@dataclass(frozen=True)
class Layout:
    """The columns from left to right as backend id and label, and the backend that is none."""

    columns: dict[int, str]
    plain: int | None

    def shows(self, backend: int) -> bool:
        """Whether cells of a backend are shown somewhere."""
        return backend in self.columns or backend == self.plain


def lay_out(backends: dict[int, str], settings: Settings) -> Layout:
    """Which of a project's backends are columns; without settings, in the order first seen."""
    ids = {name: id for id, name in backends.items()}
    shown = settings.shown_columns(list(ids))
    real = {ids[c.name]: c.label for c in shown if group_of(c.name) != PLAIN}
    plain = [id for id, name in backends.items() if group_of(name) == PLAIN]
    if real and len(plain) < 2:
        return Layout(real, plain[0] if plain else None)
    # Nothing but plain tests, or those of several versions: they need columns like all others.
    return Layout({ids[column.name]: column.label for column in shown}, None)


def board_layout(connection: Connection, project: int, branch: str | None = None) -> Layout:
    """The layout of a branch's board: what only other branches ran is no column of it."""
    names = backend_names(connection, project)
    run, tally = schema.run, schema.tally
    query = (
        select(tally.c.backend_id)
        .join(run, run.c.id == tally.c.run_id)
        .where(run.c.project_id == project)
        .where(func.coalesce(run.c.branch, NAMELESS).in_(board_of(connection, project, branch)))
        .distinct()
    )
    ran = set(connection.execute(query).scalars()) or names.keys()
    here = {id: name for id, name in names.items() if id in ran}
    return lay_out(here, read_settings(connection, project))


@dataclass(frozen=True)
class Score:
    """Green cells out of those that could be green: a skipped one could not."""

    green: int
    of: int
    worst: str | None


def score(outcomes: Iterable[str]) -> Score:
    """The score of some cells; cards, headings and badges all show this.

    >>> score(["success", "skipped", "hollow"])
    Score(green=1, of=2, worst='hollow')
    """
    counts = dict.fromkeys(OUTCOMES, 0)
    for outcome in outcomes:
        counts[outcome] += 1
    seen = [name for name, count in counts.items() if count and name != "skipped"]
    of = sum(counts.values()) - counts["skipped"]
    return Score(counts["success"], of, seen[-1] if seen else None)
