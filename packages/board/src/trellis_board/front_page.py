"""The front page of an organisation: its projects with joint score, trend, last run and age."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from sqlalchemy import Connection, select

from . import schema
from .branches import board_of
from .broken import broken_modules, told
from .kept import Read
from .queries import died_at, project_names, runs
from .rows import Joint, board_rows, joint_score
from .settings import read_settings
from .texts import as_xml

__all__ = ["ProjectLine", "front_page", "joint_of_board", "project_lines"]

_TREND_RUNS = 30
_WIDTH, _HEIGHT, _EDGE = 120, 28, 3


@dataclass(frozen=True)
class ProjectLine:
    """One project in a line."""

    name: str
    title: str
    joint: tuple[tuple[int, int], ...]
    """Tests green on all backends, and of how many, on the board after each of the newest runs,
    from old to new; the last is the board as it is."""
    target: float | None
    started: float | None
    commit: str | None
    died: int | None
    broken: tuple[str, ...] = ()
    """Modules that could not be imported."""


def joint_of_board(connection: Connection, project: int, branch: str | None = None) -> Joint:
    """The joint score of a branch's board."""
    return joint_score(board_rows(connection, project, branch))


def project_lines(
    connection: Connection,
    names: Iterable[str] | None = None,
    read_joint: Read[Joint] = joint_of_board,
) -> list[ProjectLine]:
    """The projects of a store by name; all, or some. A server remembers what it read."""
    known = project_names(connection)
    lines = []
    for name in known if names is None else names:
        id = known[name]
        settings = read_settings(connection, id)
        newest = runs(connection, id, _TREND_RUNS, of=board_of(connection, id))
        joint = schema.joint
        query = select(joint).where(joint.c.run_id.in_([run.id for run in newest]))
        scores = {row.run_id: (row.green, row.of) for row in connection.execute(query)}
        earlier = [scores[run.id] for run in reversed(newest[1:]) if run.id in scores]
        last = newest[0] if newest else None
        lines.append(
            ProjectLine(
                name,
                settings.title or name,
                (*earlier, *([read_joint(connection, id, None)] if last else [])),
                settings.target,
                last.started if last else None,
                last.commit if last else None,
                died_at(connection, [last.id]).get(last.id) if last else None,
                tuple(broken_modules(connection, id)),
            )
        )
    return lines


def front_page(lines: Iterable[ProjectLine], now: float | None = None) -> str:
    """The page; ``front.css`` is expected next to it, and the boards below ``p/``."""
    moment = time.time() if now is None else now
    rows = "\n".join(_row(line, moment) for line in lines)
    shown = (
        "<table><thead><tr><th scope=col>Project</th><th scope=col>Green on all backends</th>"
        "<th scope=col>Over time</th><th scope=col>Last run</th></tr></thead>"
        f"<tbody>\n{rows}\n</tbody></table>"
        "<p>Over time: the board after each run. Tests that a run left out keep their last "
        "outcome.</p>"
        if rows
        else "<p>No project may be read without a token. Open /p/&lt;project&gt;/ for a board.</p>"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>Boards</title><link rel="stylesheet" href="front.css"></head>'
        "<body><main><h1>Boards</h1>"
        f"{shown}</main></body></html>"
    )


def _row(line: ProjectLine, now: float) -> str:
    # Names of projects are made of letters that need no quoting; this holds if they ever change.
    link = f"p/{urllib.parse.quote(line.name, safe='')}/"
    green, of = line.joint[-1] if line.joint else (0, 0)
    score = (
        f"<strong>{_percent(green, of)}</strong> {green:,} of {of:,}"
        if of
        else "no test on two backends"
    )
    if line.target is not None:
        met = of and 100 * green >= line.target * of
        score += f' <span class="{"met" if met else "missed"}">target {line.target:g}%</span>'
    if line.broken:
        score += f'<br><span class="missed">{escape(as_xml(told(line.broken)))}</span>'
    died = f", died at {line.died} %" if line.died is not None else ""
    commit = f" at {escape(as_xml(line.commit[:10]))}" if line.commit else ""
    last = f"{_age(now - line.started)} ago{commit}{died}" if line.started else "never"
    return (
        f'<tr><th scope=row><a href="{escape(link)}">{escape(as_xml(line.title))}</a></th>'
        f"<td>{score}</td><td>{_trend(line)}</td><td>{last}</td></tr>"
    )


def _trend(line: ProjectLine) -> str:
    """A small line; its text says the same."""
    shown = [score for score in line.joint if score[1]]
    if len(shown) < 2:
        return ""
    shares = [green / of for green, of in shown]
    low = min(0.98, *shares)
    step = (_WIDTH - 2 * _EDGE) / (len(shares) - 1)
    scale = (_HEIGHT - 2 * _EDGE) / (1 - low)
    points = " ".join(
        f"{_EDGE + place * step:.1f},{_HEIGHT - _EDGE - (share - low) * scale:.1f}"
        for place, share in enumerate(shares)
    )
    text = f"from {_percent(*shown[0])} to {_percent(*shown[-1])} in {len(shown)} runs"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{text}"><title>{text}</title><polyline points="{points}"/></svg>'
    )


def _percent(green: int, of: int) -> str:
    """Rounded down: 100% means all."""
    return f"{100 * green // of}%" if of else "—"


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "1 min"
