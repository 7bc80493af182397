"""A diff as text: for a terminal, and in Markdown for a pull-request comment."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .diff import KINDS, Change, Diff
from .queries import RunInfo

__all__ = ["as_markdown", "as_text"]

_MARKS = {
    "newly failing": "🔴",
    "newly hollow": "🟠",
    "newly skipped": "⚪",
    "newly passing": "🟢",
    "slower": "🐢",
    "no longer run": "◌",
}
# A comment may hold 65,536 characters; nobody reads the three-hundredth line anyway.
_MOST_ROWS = 100


def as_text(diff: Diff) -> str:
    """The diff as lines for a terminal."""
    lines = [f"base {_names(diff.base)}", f"head {_names(diff.head)}"]
    for kind in KINDS:
        changes = diff.of_kind(kind)
        if changes:
            lines += ["", f"{kind} ({len(changes)})"]
            lines += [f"  {c.module}::{c.test} [{c.backend}]  {_step(c)}" for c in changes]
    regressions = len(diff.regressions)
    lines += ["", f"{regressions} regression{'' if regressions == 1 else 's'}"]
    return "\n".join(lines)


def as_markdown(diff: Diff) -> str:
    """The diff as a comment: a headline, then one folded table per kind of change."""
    regressions = len(diff.regressions)
    headline = f"{regressions} regression{'' if regressions == 1 else 's'}" if regressions else ""
    lines = [
        f"### Board: {headline or 'no regression'}",
        "",
        f"`{_names(diff.base)}` → `{_names(diff.head)}`",
    ]
    for kind in KINDS:
        changes = diff.of_kind(kind)
        if not changes:
            continue
        unfolded = " open" if any(change.is_regression for change in changes) else ""
        lines += [
            "",
            f"<details{unfolded}><summary>{_MARKS[kind]} {kind}: {len(changes)}</summary>",
            "",
            "| test | backend | change |",
            "|:-----|:--------|:-------|",
        ]
        for change in changes[:_MOST_ROWS]:
            name = f"{change.module}::{change.test}"
            cells = (_cell(name), _cell(change.backend), _step(change))
            lines.append(f"| {' | '.join(cells)} |")
        if len(changes) > _MOST_ROWS:
            lines.append(f"| … and {len(changes) - _MOST_ROWS} more | | |")
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _step(change: Change) -> str:
    if change.seconds is not None:
        return f"{change.seconds[0]:.3f} s → {change.seconds[1]:.3f} s"
    return f"{change.before or 'never run'} → {change.after or 'not run'}"


def _cell(text: str) -> str:
    """Text in a Markdown table cell: no markup of its own, no cell boundary."""
    return f"<code>{escape(text)}</code>".replace("|", "&#124;").replace("\n", " ")


def _names(runs: Sequence[RunInfo]) -> str:
    shown = runs[0]
    name = f"{shown.name}" + (f" @ {shown.commit[:10]}" if shown.commit else "")
    return name + (f" and {len(runs) - 1} more" if len(runs) > 1 else "")
