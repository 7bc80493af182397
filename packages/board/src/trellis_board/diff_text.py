"""A diff as text: for a terminal, and in Markdown for a pull-request comment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .diff import KINDS, Change, Diff
from .queries import RunInfo
from .texts import as_code, on_one_line
from .texts import as_markdown as as_markdown_text

__all__ = ["as_markdown", "as_text"]

_MARKS = {
    "new failure": "🔴",
    "flaky": "🎲",
    "already red": "🟥",
    "died": "🟣",
    "newly hollow": "🟠",
    "fixed": "🟢",
    "newly passing": "🟢",
    "newly skipped": "⚪",
    "slower": "🐢",
    "not run": "◌",
}
# A comment may hold 65,536 characters; nobody reads the three-hundredth line anyway.
_MOST_ROWS = 100
_LONGEST_NAME = 200
_MOST_MODULES = 8
_IN_ONE_LINE = ("died", "not run")


def as_text(diff: Diff) -> str:
    """The diff as lines for a terminal."""
    lines = [on_one_line(f"{end} {_names(getattr(diff, end))}") for end in ("base", "head")]
    lines += [on_one_line(f"run {run} died at {percent} %") for run, percent in diff.died.items()]
    for kind in KINDS:
        changes = diff.of_kind(kind)
        if changes and kind in _IN_ONE_LINE:
            lines += ["", on_one_line(f"{kind} ({len(changes)}): {_by_module(changes)}")]
        elif changes:
            lines += ["", f"{kind} ({len(changes)})"]
            lines += [
                on_one_line(f"  {c.module}::{c.test} [{c.backend}]  {_step(c)}") for c in changes
            ]
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
        f"{as_code(_names(diff.base))} → {as_code(_names(diff.head))}",
    ]
    for run, percent in diff.died.items():
        lines += ["", f"{_MARKS['died']} run {as_code(run)} died at {percent} %"]
    for kind in KINDS:
        changes = diff.of_kind(kind)
        if not changes:
            continue
        if kind in _IN_ONE_LINE:
            told = as_markdown_text(_by_module(changes))
            lines += ["", f"{_MARKS[kind]} {kind}: {len(changes)} ({told})"]
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
            cells = (_shown(name), _shown(change.backend), _step(change))
            lines.append(f"| {' | '.join(cells)} |")
        if len(changes) > _MOST_ROWS:
            lines.append(f"| … and {len(changes) - _MOST_ROWS} more | | |")
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _by_module(changes: Sequence[Change]) -> str:
    """How many cells of which modules: nobody reads a thousand lines about what did not run."""
    counts = Counter(change.module for change in changes)
    shown = [f"{module} {number}" for module, number in counts.most_common(_MOST_MODULES)]
    return ", ".join([*shown, *(["…"] if len(counts) > _MOST_MODULES else [])])


def _step(change: Change) -> str:
    if change.seconds is not None:
        return f"{change.seconds[0]:.3f} s → {change.seconds[1]:.3f} s"
    return f"{change.before or 'never run'} → {change.after or 'not run'}"


def _shown(name: str) -> str:
    """A name in the cell of a table: in full, unless it is longer than anybody reads."""
    return as_code(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


def _names(runs: Sequence[RunInfo]) -> str:
    shown = runs[0]
    name = f"{shown.name}" + (f" @ {shown.commit[:10]}" if shown.commit else "")
    return name + (f" and {len(runs) - 1} more" if len(runs) > 1 else "")
