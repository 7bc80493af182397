"""Badges for a README: one SVG per backend, per module and for the whole project.

>>> svg = badge("torch", "49 / 50", "#1a7f4b")
>>> svg.startswith("<svg") and "49 / 50" in svg
True
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sqlalchemy import Connection

from .broken import broken_modules
from .layout import board_layout, score
from .outcomes import OUTCOMES, is_red
from .queries import backend_names, modules, states
from .rows import board_rows, joint_score
from .settings import read_settings
from .table_files import file_names
from .texts import as_xml, on_one_line

__all__ = ["all_badges", "badge"]

_GREY = "#6b7280"
_LONGEST_LABEL = 100
_NARROW = set("fijlrt.,:;|!'()[] /-")
_WIDE = set("mwMW@%")


def all_badges(connection: Connection, project: int, project_name: str) -> dict[str, str]:
    """All badges of a project by file name: ``all.svg``, ``joint.svg`` where there are rows on two
    backends, and one each ``backend.*.svg``, ``group.*.svg`` and ``module.*.svg``."""
    settings = read_settings(connection, project)
    layout = board_layout(connection, project)
    every_module = modules(connection, project)
    names = {test: (m.name, name) for m in every_module for test, name in m.tests.items()}
    places = {test: settings.place(*name) for test, name in names.items() if settings.groups}
    whole: list[str] = []
    by_backend: dict[int, list[str]] = {id: [] for id in layout.columns}
    by_group: dict[int, list[str]] = {index: [] for index, _ in enumerate(settings.groups)}
    by_module: dict[str, list[str]] = {module.name: [] for module in every_module}
    for test, backend, outcome, *_ in states(connection, project):
        if not layout.shows(backend):
            continue
        whole.append(outcome)
        by_module[names[test][0]].append(outcome)
        if backend in layout.columns:
            by_backend[backend].append(outcome)
        if place := places.get(test):
            by_group[place[0]].append(outcome)
    made = {"all.svg": _summary(settings.title or project_name, whole)}
    green, of = joint_score(board_rows(connection, project))
    if of:
        is_whole = green == of and not broken_modules(connection, project)
        colour = OUTCOMES["success" if is_whole else "hollow"].colour
        made["joint.svg"] = badge("all backends", f"{green} / {of}", colour)
    backends = backend_names(connection, project)
    files = file_names(backends.values())
    for id, outcomes in by_backend.items():
        made[f"backend.{files[backends[id]]}.svg"] = _summary(layout.columns[id], outcomes)
    files = file_names(group.name for group in settings.groups)
    for index, outcomes in by_group.items():
        name = settings.groups[index].name
        made[f"group.{files[name]}.svg"] = _summary(name, outcomes)
    files = file_names(by_module)
    for name, outcomes in by_module.items():
        made[f"module.{files[name]}.svg"] = _summary(name, outcomes)
    return made


def _summary(label: str, outcomes: Iterable[str]) -> str:
    found = score(outcomes)
    if not found.of:
        return badge(label, "never run", _GREY)
    worst = found.worst or "success"
    tone = "failure" if is_red(worst) else "hollow" if worst == "hollow" else "success"
    return badge(label, f"{found.green} / {found.of}", OUTCOMES[tone].colour)


def badge(label: str, value: str, colour: str) -> str:
    """A flat badge of two fields, with a text for screen readers."""
    label, value = on_one_line(as_xml(label)), on_one_line(as_xml(value))
    if len(label) > _LONGEST_LABEL:
        label = f"{label[: _LONGEST_LABEL - 1]}…"
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
