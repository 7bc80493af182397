"""The documents behind the web page, as plain JSON values.

Three kinds, so that the page opens fast and the rest comes when it is asked for:

- ``overview``: all names, all runs and the latest state of every cell;
- ``history-<module id>``: the history of every cell of one module;
- ``run-<run id>``: outcome and duration of every cell in one run, for comparisons.

Cells are flat lists of numbers: 10,000 rows of 6 backends stay around one megabyte.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from .outcomes import OUTCOMES
from .queries import (
    CellResult,
    UnknownNameError,
    backend_names,
    history,
    latest,
    modules,
    parts,
    results_of_runs,
    runs,
)

__all__ = ["document", "document_names", "history_of_module", "overview", "run_cells"]

_CODES = {name: code for code, name in enumerate(OUTCOMES)}
COMPARABLE_RUNS = 40
HISTORY_DEPTH = 50


def document(connection: Connection, project: int, project_name: str, name: str) -> dict[str, Any]:
    """The document called `name`; an `UnknownNameError` if there is none."""
    kind, _, id = name.partition("-")
    if name == "overview":
        return overview(connection, project, project_name)
    if kind == "history" and id.isdecimal() and len(id) < 10:
        return history_of_module(connection, project, int(id))
    if kind == "run" and id.isdecimal() and len(id) < 10:
        return run_cells(connection, project, int(id))
    raise UnknownNameError(
        f"no document {name!r}; expected overview, history-<module id> or run-<run id>"
    )


def document_names(connection: Connection, project: int) -> list[str]:
    """All documents of a project; runs that are too old to be offered for comparison have none."""
    return [
        "overview",
        *(f"history-{module.id}" for module in modules(connection, project)),
        *(f"run-{run.id}" for run in runs(connection, project, COMPARABLE_RUNS)),
    ]


def overview(connection: Connection, project: int, project_name: str) -> dict[str, Any]:
    """Names, runs and latest cells."""
    every_module = modules(connection, project)
    every_run = runs(connection, project)
    return {
        "project": project_name,
        "outcomes": [[outcome.name, outcome.meaning] for outcome in OUTCOMES.values()],
        "backends": [[id, name] for id, name in backend_names(connection, project).items()],
        "modules": [
            [module.id, module.name, [[id, name] for id, name in module.tests.items()]]
            for module in every_module
        ],
        "runs": [[r.id, r.name, r.commit, r.branch, _seconds(r.started)] for r in every_run],
        "comparable": COMPARABLE_RUNS,
        # test, backend, outcome, run, milliseconds, time; and again for the next cell
        "cells": [
            value
            for c in latest(connection, project)
            for value in (
                c.test_id,
                c.backend_id,
                _CODES[c.outcome],
                c.run_id,
                _milliseconds(c.duration),
                round(c.at),
            )
        ],
    }


def run_cells(connection: Connection, project: int, run: int) -> dict[str, Any]:
    """Outcome and duration of every cell in one run."""
    return {
        "cells": [
            value
            for c in results_of_runs(connection, project, [run])
            for value in (c.test_id, c.backend_id, _CODES[c.outcome], _milliseconds(c.duration))
        ]
    }


def history_of_module(connection: Connection, project: int, module: int) -> dict[str, Any]:
    """The newest results of every cell of one module, with all that is known about each."""
    found = modules(connection, project, only=module)
    if not found:
        raise UnknownNameError(f"this project has no module number {module}")
    results = history(connection, project, found[0].tests, HISTORY_DEPTH)
    return {
        "parts": _parts(connection, project, results),
        "results": [
            [
                c.test_id,
                c.backend_id,
                _CODES[c.outcome],
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


def safe_link(link: str | None) -> str | None:
    """A link that a page may follow, or None: old tables say ``null``, others might say worse.

    >>> safe_link("null") is None, safe_link("javascript:alert(1)") is None
    (True, True)
    """
    return link if link and link.startswith(("https://", "http://")) else None


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


def _seconds(time: float) -> float:
    return round(time, 3)
