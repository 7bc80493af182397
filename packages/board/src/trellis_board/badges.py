"""Badges for a README: one SVG per backend, per module and for the whole project.

>>> svg = badge("torch", "49 / 50", "#1a7f4b")
>>> svg.startswith("<svg") and "49 / 50" in svg
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape

from sqlalchemy import Connection

from .outcomes import OUTCOMES, is_red
from .queries import backend_names, latest, modules
from .table_files import file_name

__all__ = ["all_badges", "badge"]

_GREY = "#6b7280"
_NARROW = set("fijlrt.,:;|!'()[] /-")
_WIDE = set("mwMW@%")


def all_badges(connection: Connection, project: int, project_name: str) -> dict[str, str]:
    """All badges of a project by file name: ``all.svg``, ``backend.*.svg``, ``module.*.svg``."""
    backends = backend_names(connection, project)
    every_module = modules(connection, project)
    module_of_test = {test: m.name for m in every_module for test in m.tests}
    whole: list[str] = []
    by_backend: dict[str, list[str]] = {name: [] for name in backends.values()}
    by_module: dict[str, list[str]] = {module.name: [] for module in every_module}
    for cell in latest(connection, project):
        whole.append(cell.outcome)
        by_backend[backends[cell.backend_id]].append(cell.outcome)
        by_module[module_of_test[cell.test_id]].append(cell.outcome)
    made = {"all.svg": _summary(project_name, whole)}
    for kind, groups in (("backend", by_backend), ("module", by_module)):
        for name, outcomes in groups.items():
            made[f"{kind}.{file_name(name)}.svg"] = _summary(name, outcomes)
    return made


def _summary(label: str, outcomes: Iterable[str]) -> str:
    """How many of the cells that could be green are: skipped ones could not."""
    counts = Counter(outcomes)
    total = counts.total() - counts["skipped"]
    if not total:
        return badge(label, "never run", _GREY)
    if any(is_red(outcome) for outcome in counts):
        colour = OUTCOMES["failure"].colour
    elif counts["hollow"]:
        colour = OUTCOMES["hollow"].colour
    else:
        colour = OUTCOMES["success"].colour
    return badge(label, f"{counts['success']} / {total}", colour)


def badge(label: str, value: str, colour: str) -> str:
    """A flat badge of two fields, with a text for screen readers."""
    left, right = _width(label) + 16, _width(value) + 16
    width = left + right
    label, value = escape(label), escape(value)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{label}: {value}"><title>{label}: {value}</title>'
        f'<clipPath id="r"><rect width="{width}" height="20" rx="4"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#374151"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-size="11" '
        'font-family="Verdana,DejaVu Sans,Geneva,sans-serif">'
        f'<text x="{left / 2}" y="14" textLength="{left - 16}">{label}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - 16}">{value}</text></g></svg>'
    )


def _width(text: str) -> int:
    """The width of a text in the badge's font, nearly; `textLength` makes it fit exactly."""
    return round(sum(4.2 if c in _NARROW else 10.5 if c in _WIDE else 7.0 for c in text))
