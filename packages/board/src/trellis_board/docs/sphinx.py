"""A Sphinx extension: ``.. capabilities:: NAME`` becomes a table of functions and backends.

In ``conf.py``::

    extensions = ["trellis_board.docs.sphinx"]
    capabilities_source = "board.sqlite"
    capabilities_project = "mine"  # where a store has several

The source is a store, or a file that ``trellis-board capabilities --json`` wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .. import __version__
from ..capabilities import read_table

__all__ = ["setup"]


class Capabilities(SphinxDirective):
    """The directive. Names in a table are text: nothing in them is markup."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        source = Path(self.env.app.confdir) / self.config.capabilities_source
        if source.is_file():
            self.env.note_dependency(str(source))
        try:
            table = read_table(source, self.arguments[0], self.config.capabilities_project)
        except (ValueError, LookupError, OSError) as error:
            raise self.error(f"capabilities: {error}") from error
        remarks = any(remark for _, _, remark in table.rows)
        head = ["", *table.columns, *([""] if remarks else [])]
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        top = nodes.thead()
        top += _row([nodes.Text(text) for text in head])
        body = nodes.tbody()
        for function, words, remark in table.rows:
            cells: list[nodes.Node] = [nodes.literal(text=function)]
            cells += [nodes.Text(word) for word in words]
            body += _row([*cells, *([nodes.Text(remark)] if remarks else [])])
        group += [top, body]
        made = nodes.table(classes=["capabilities"])
        made += group
        return [made]


def _row(cells: list[nodes.Node]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        entry += nodes.paragraph("", "", cell)
        row += entry
    return row


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("capabilities_source", "board.sqlite", "env")
    app.add_config_value("capabilities_project", None, "env")
    app.add_directive("capabilities", Capabilities)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
