"""The web page as a folder of files, for any web host or to be opened from a disk.

The folder needs nothing else: no server, no network. Documents are scripts that call one function,
because a page that was opened from a disk may not read files in any other way.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from sqlalchemy import Connection

from .badges import all_badges
from .feed import atom_feed
from .front_page import front_page, project_lines
from .page_data import document, document_names
from .queries import project_names

__all__ = ["page_files", "write_all", "write_page"]


def page_files() -> dict[str, str]:
    """The parts of the page that do not depend on data, by file name."""
    folder = resources.files(__package__) / "page"
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith((".html", ".css", ".js", ".svg"))
    }


def write_page(connection: Connection, project: int, out: Path) -> int:
    """Write the page of a project to the folder `out`; returns the number of files."""
    name = {id: name for name, id in project_names(connection).items()}[project]
    files = page_files()
    # The served page has no such attribute and asks its server instead.
    files["index.html"] = files["index.html"].replace("<html ", '<html data-source="files" ', 1)
    for document_name in document_names(connection, project):
        text = json.dumps(document(connection, project, name, document_name), separators=(",", ":"))
        files[f"data/{document_name}.js"] = f'boardDocument("{document_name}",{text});\n'
    for badge_name, svg in all_badges(connection, project, name).items():
        files[f"badges/{badge_name}"] = svg
    files["feed.xml"] = atom_feed(connection, project, name)
    for file, content in files.items():
        path = out / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return len(files)


def write_all(connection: Connection, out: Path) -> int:
    """Write the pages of all projects below ``p/``, and a front page; the number of files."""
    files = 0
    for name, project in project_names(connection).items():
        # Each page is opened from the disk, where a link needs the name of its file.
        files += write_page(connection, project, out / "p" / name)
    page = front_page(project_lines(connection))
    (out / "index.html").write_text(page.replace('/">', '/index.html">'), encoding="utf-8")
    (out / "front.css").write_text(page_files()["front.css"], encoding="utf-8")
    return files + 2
