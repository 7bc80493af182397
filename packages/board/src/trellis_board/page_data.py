"""The documents behind the web page, as plain JSON values.

Small ones first, so that the page opens fast and the rest comes when it is asked for:

- ``overview``: all names, all runs and the latest state of every cell of the default branch;
  ``overview-<branch id>`` is the same for another branch;
- ``history-<module id>``: the history of every cell of one module; ``history-<module>-<branch>``;
- ``run-<run id>``: outcome and duration of every cell in one run, for comparisons;
- ``health``: what becomes of the board over time: green shares, flaky cells, regressions.

Cells are a few long columns (see `packed`), or flat lists of numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from . import schema
from .branches import board_of, branches, default_branch
from .broken import broken_modules, told
from .layout import board_layout
from .outcomes import OUTCOMES, SEVERITY
from .packed import pack
from .queries import (
    CellResult,
    RunInfo,
    UnknownNameError,
    backend_names,
    died_at,
    history,
    messages,
    modules,
    parts,
    runs,
    states,
    states_of_run,
)
from .questions import PRESETS
from .rows import not_green, pasts
from .sessions import sessions
from .settings import Settings, read_settings
from .spans import spans
from .texts import safe_link
from .trouble import flaky_cells, recent_trouble, regressions

__all__ = ["document", "document_names", "history_of_module", "overview", "run_cells"]

COMPARABLE_RUNS = 40
HISTORY_DEPTH = 50
# The page in a folder has the boards of this many other branches; a server has all.
OTHER_BRANCHES = 5
TREND_RUNS = 60


def document(connection: Connection, project: int, project_name: str, name: str) -> dict[str, Any]:
    """The document called `name`; an `UnknownNameError` if there is none."""
    found = re.fullmatch(r"(overview|health|history|run)(?:-(\d{1,9}))?(?:-(\d{1,9}))?", name)
    kind, first, second = found.groups() if found else ("", None, None)
    if kind == "health" and first is None:
        return health(connection, project)
    if kind == "overview" and second is None:
        branch = _branch(connection, project, first)
        return overview(connection, project, project_name, branch)
    if kind == "history" and first is not None:
        branch = _branch(connection, project, second)
        return history_of_module(connection, project, int(first), branch)
    if kind == "run" and first is not None and second is None:
        return run_cells(connection, project, int(first))
    raise UnknownNameError(
        f"no document {name!r}; expected overview, overview-<branch id>, health, "
        "history-<module id>, history-<module id>-<branch id> or run-<run id>"
    )


def document_names(connection: Connection, project: int) -> list[str]:
    """The documents of the page in a folder; old runs and old branches have none."""
    usual = default_branch(connection, project)
    others = [b.id for b in branches(connection, project) if b.name != usual][:OTHER_BRANCHES]
    every = modules(connection, project)
    return [
        "overview",
        "health",
        *(f"history-{module.id}" for module in every),
        *(f"run-{run.id}" for run in _comparable(connection, project)),
        *(f"overview-{branch}" for branch in others),
        *(f"history-{module.id}-{branch}" for branch in others for module in every),
    ]


def overview(
    connection: Connection, project: int, project_name: str, branch: str | None = None
) -> dict[str, Any]:
    """Names, runs and latest cells of one branch's board."""
    settings = read_settings(connection, project)
    names = backend_names(connection, project)
    layout = board_layout(connection, project, branch)
    usual = default_branch(connection, project)
    shown = runs(connection, project, of=board_of(connection, project, branch))
    cells = [cell for cell in states(connection, project, branch) if layout.shows(cell[1])]
    past = pasts(connection, project, branch, not_green(cells))
    every = modules(connection, project)
    comparable = _comparable(connection, project)
    broken = broken_modules(connection, project, branch)
    return {
        "project": project_name,
        "title": settings.title,
        "source": settings.source,
        "branch": branch or usual,
        "default": usual,
        "branches": [[b.id, b.name] for b in branches(connection, project)],
        "kept_branches": OTHER_BRANCHES,
        "outcomes": [[outcome.name, outcome.meaning] for outcome in OUTCOMES.values()],
        "backends": [[id, name] for id, name in names.items()],
        "columns": [[id, label] for id, label in layout.columns.items()],
        "plain": layout.plain,
        "groups": [[group.name, group.folded] for group in settings.groups],
        "modules": [
            [module.id, module.name, _rows(settings, module.name, module.tests)] for module in every
        ],
        "runs": _runs(shown),
        "died": [*died_at(connection, [run.id for run in shown[:1]]).items()],
        "broken": told(broken) if broken else None,
        "comparable": _runs(comparable),
        # Names of runs that are compared as one.
        "sessions": [
            [run.name for run in group]
            for group in sessions(connection, comparable)
            if len(group) > 1
        ],
        "issues": [[issue.title, issue.link] for issue in settings.issues],
        "linked": _known_issues(connection, project, settings, branch),
        "cells": pack(
            cells,
            (test for module in every for test in module.tests),
            [*layout.columns, *([] if layout.plain is None else [layout.plain])],
        ),
        # test, backend, red since, 1 if never green, 1 if flaky; and again for the next cell
        "pasts": [
            value
            for cell in sorted({*past.red_since, *past.never_green, *past.flaky})
            for value in (
                *(*cell, round(past.red_since.get(cell, 0))),
                *(int(cell in past.never_green), int(cell in past.flaky)),
            )
        ],
        "spans": _spans(names, cells),
        "presets": [[name, question] for name, question in PRESETS.items()],
        "target": settings.target,
    }


def run_cells(connection: Connection, project: int, run: int) -> dict[str, Any]:
    """Outcome and duration of every cell in one run."""
    if all(known.id != run for known in runs(connection, project)):
        raise UnknownNameError(f"this project has no run number {run}")
    return {
        "cells": [
            value
            for cell, state in states_of_run(connection, run).items()
            for value in (*cell, SEVERITY[state.outcome], _milliseconds(state.duration))
        ]
    }


def history_of_module(
    connection: Connection, project: int, module: int, branch: str | None = None
) -> dict[str, Any]:
    """The newest results of every cell of one module, with all that is known about each."""
    found = modules(connection, project, only=module)
    if not found:
        raise UnknownNameError(f"this project has no module number {module}")
    results = history(connection, project, found[0].tests, HISTORY_DEPTH, branch)
    return {
        "parts": _parts(connection, project, results),
        "results": [
            [
                c.test_id,
                c.backend_id,
                SEVERITY[c.outcome],
                c.run_id,
                c.part_id,
                _milliseconds(c.duration),
                round(c.at),
                c.comparisons,
                c.attempts,
                c.message,
                safe_link(c.link),
            ]
            for c in results
        ],
    }


def health(connection: Connection, project: int) -> dict[str, Any]:
    """Green shares of the board after its newest runs, flaky cells, regressions."""
    newest = runs(connection, project, TREND_RUNS, of=board_of(connection, project))
    ids = [run.id for run in newest]
    standing, joint = schema.standing, schema.joint
    trouble = recent_trouble(connection, project)
    settings = read_settings(connection, project)
    names = {t: (m.name, name) for m in modules(connection, project) for t, name in m.tests.items()}
    counted = select(standing).where(standing.c.run_id.in_(ids))
    return {
        "runs": _runs(newest),
        "died": [list(item) for item in died_at(connection, ids).items()],
        "joint": [
            list(row) for row in connection.execute(select(joint).where(joint.c.run_id.in_(ids)))
        ],
        # run, backend, outcome, number of cells of the board after it; and again
        "standing": [
            value
            for row in connection.execute(counted)
            for value in (row.run_id, row.backend_id, SEVERITY[row.outcome], row.cells)
        ],
        "flaky": [
            [
                *(f.test_id, f.backend_id, f.turns, f.same_commit, f.reruns, f.results),
                *(SEVERITY[f.outcome], int(f.since), settings.owner(*names[f.test_id])),
            ]
            for f in flaky_cells(trouble)
        ],
        "regressions": [
            [broken.run.id, len(broken.changes)]
            for broken in regressions(connection, project, trouble)
        ],
    }


def _branch(connection: Connection, project: int, id: str | None) -> str | None:
    """The name of the branch with this id; None for the default one."""
    if id is None:
        return None
    for branch in branches(connection, project):
        if branch.id == int(id):
            return branch.name
    raise UnknownNameError(f"this project has no branch number {id}")


def _comparable(connection: Connection, project: int) -> list[RunInfo]:
    """The runs offered for comparison: half of them of the default branch, if it has so many."""
    board = board_of(connection, project)
    usual = {run.id for run in runs(connection, project, COMPARABLE_RUNS // 2, of=board)}
    every = runs(connection, project)
    for run in every:
        if len(usual) < COMPARABLE_RUNS:
            usual.add(run.id)
    return [run for run in every if run.id in usual]


def _rows(settings: Settings, module: str, tests: dict[int, str]) -> list[list[Any]]:
    """Id and name of each test; and its group, its place in it and its shared row, if it has."""
    if not settings.groups:
        return [[test, name] for test, name in tests.items()]
    places = {test: settings.place(module, name) or () for test, name in tests.items()}
    return [[test, name, *places[test]] for test, name in tests.items()]


def _spans(
    names: dict[int, str], cells: Iterable[tuple[int, int, str, int, float | None, float]]
) -> list[list[Any]]:
    """Test and words for rows whose columns are versions: "jax: green since 0.10"."""
    if not any(" " in name for name in names.values()):
        return []
    rows: dict[int, dict[str, str]] = {}
    for test, backend, outcome, *_ in cells:
        rows.setdefault(test, {})[names[backend]] = outcome
    told = {test: spans(outcomes) for test, outcomes in rows.items()}
    # What is green in all versions is no news.
    return [
        [test, ", ".join(f"{family} {words}" for family, words in found.items())]
        for test, found in told.items()
        if any(not words.startswith("green in") for words in found.values())
    ]


def _runs(some: Iterable[RunInfo]) -> list[list[Any]]:
    return [[run.id, run.name, run.commit, run.branch, round(run.started, 3)] for run in some]


def _known_issues(
    connection: Connection, project: int, settings: Settings, branch: str | None
) -> list[int]:
    """Test, backend and number of the first issue that explains a cell that is not green."""
    if not settings.issues:
        return []
    cell = schema.cell
    query = select(cell.c.test_id, cell.c.backend_id, cell.c.result_id).where(
        cell.c.project_id == project,
        cell.c.branch.in_(board_of(connection, project, branch)),
        cell.c.outcome != "success",
    )
    rows = connection.execute(query).all()
    said = messages(connection, [row.result_id for row in rows])
    backends = backend_names(connection, project)
    tests = {
        test: f"{module.name}::{name}"
        for module in modules(connection, project)
        for test, name in module.tests.items()
    }
    linked: list[int] = []
    for test, backend, result in rows:
        for number, issue in enumerate(settings.issues):
            if issue.explains(tests[test], backends[backend], said[result]):
                linked += [test, backend, number]
                break
    return linked


def _parts(connection: Connection, project: int, results: Iterable[CellResult]) -> dict[str, Any]:
    used = {result.part_id for result in results}
    return {
        str(id): {
            "shard": part.shard,
            "link": safe_link(part.link),
            "python": part.python,
            "platform": part.platform,
            "versions": part.versions,
        }
        for id, part in parts(connection, project).items()
        if id in used
    }


def _milliseconds(duration: float | None) -> float | None:
    return None if duration is None else round(duration * 1000, 2)
