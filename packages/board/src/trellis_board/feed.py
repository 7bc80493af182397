"""An Atom feed of regressions: one entry per run that broke something."""

from __future__ import annotations

import datetime
import urllib.parse
from xml.etree import ElementTree

from sqlalchemy import Connection

from .kept import Read
from .questions import Row
from .rows import board_rows, matching_rows
from .settings import read_settings
from .texts import as_xml
from .trouble import Regressions, recent_trouble, regressions

__all__ = ["atom_feed", "recent_regressions"]

_ATOM = "http://www.w3.org/2005/Atom"
_MOST_LINES = 50


def recent_regressions(
    connection: Connection, project: int, branch: str | None = None
) -> list[Regressions]:
    """What the recent runs of a branch broke."""
    return regressions(connection, project, recent_trouble(connection, project, branch))


def atom_feed(
    connection: Connection,
    project: int,
    project_name: str,
    question: str = "",
    read_regressions: Read[list[Regressions]] = recent_regressions,
    read_rows: Read[list[Row]] = board_rows,
) -> str:
    """The feed of a project, of all rows or of those that a question asks for.

    Where its page is, `url` in ``board.toml`` says; else "here". A server remembers what it read.
    """
    settings = read_settings(connection, project)
    address = settings.url or "./"
    found = read_regressions(connection, project, None)
    if question:
        rows = matching_rows(connection, project, question, read=read_rows)
        wanted = {(row.module, row.test) for row in rows}
        kept = ((r.run, [c for c in r.changes if (c.module, c.test) in wanted]) for r in found)
        found = [Regressions(run, changes) for run, changes in kept if changes]
    ElementTree.register_namespace("", _ATOM)
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    asked = f" ({question})" if question else ""
    query = f"?{urllib.parse.urlencode({'q': question})}" if question else ""
    _add(feed, "title", f"{settings.title or project_name}: regressions{asked}")
    _add(feed, "id", f"urn:trellis-board:{project_name}{query}")
    _add(feed, "updated", _time(found[0].run.started if found else 0.0))
    author = _add(feed, "author", "")
    _add(author, "name", "trellis-board")
    _add(feed, "link", "", rel="alternate", href=address)
    _add(feed, "link", "", rel="self", href=f"{address.rstrip('/')}/feed.xml{query}")
    for broken in found:
        _add_entry(feed, project_name, address, broken)
    return ElementTree.tostring(feed, encoding="unicode", xml_declaration=True) + "\n"


def _add_entry(
    feed: ElementTree.Element, project_name: str, address: str, broken: Regressions
) -> None:
    run, changes = broken.run, broken.changes
    entry = _add(feed, "entry", "")
    plural = "" if len(changes) == 1 else "s"
    commit = f" at {run.commit[:10]}" if run.commit else ""
    _add(entry, "title", f"{len(changes)} regression{plural} in run {run.name}{commit}")
    name = urllib.parse.quote(run.name, safe="")
    _add(entry, "id", f"urn:trellis-board:{project_name}:{name}")
    _add(entry, "updated", _time(run.started))
    _add(entry, "link", "", rel="alternate", href=f"{address}#head=run%3A{name}")
    lines = [
        f"{change.module}::{change.test} [{change.backend}]: "
        f"{change.before or 'never run'} → {change.after}"
        for change in changes[:_MOST_LINES]
    ]
    if len(changes) > _MOST_LINES:
        lines.append(f"and {len(changes) - _MOST_LINES} more")
    _add(entry, "content", "\n".join(lines), type="text")


def _add(
    parent: ElementTree.Element, tag: str, text: str, **attributes: str
) -> ElementTree.Element:
    written = {name: as_xml(value) for name, value in attributes.items()}
    element = ElementTree.SubElement(parent, f"{{{_ATOM}}}{tag}", written)
    element.text = as_xml(text) or None
    return element


def _time(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
