"""An MkDocs plugin: a line ``capabilities: NAME`` becomes a table of functions and backends.

In ``mkdocs.yml``::

    plugins:
      - capabilities:
          source: board.sqlite   # a store, or a file of `trellis-board capabilities --json`
          project: mine          # where a store has several
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config import config_options
from mkdocs.config.base import Config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin

from ..capabilities import as_markdown, read_table

__all__ = ["CapabilitiesPlugin"]

_LINE = re.compile(r"^(?P<fence>```|~~~)|^capabilities: (?P<name>\S.*?)\s*$", re.MULTILINE)


class _Settings(Config):  # type: ignore[no-untyped-call]
    source = config_options.Type(str, default="board.sqlite")
    project = config_options.Optional(config_options.Type(str))


class CapabilitiesPlugin(BasePlugin[_Settings]):  # type: ignore[no-untyped-call]
    """Writes the tables into the pages before they are turned into HTML."""

    def on_page_markdown(self, markdown: str, *, config: Any, page: Any, **_: Any) -> str:
        """Replace the lines outside of code blocks."""
        if "capabilities" in page.meta:
            raise PluginError(
                f"capabilities: MkDocs takes the first lines of {page.file.src_path} for metadata; "
                "put a heading above the line"
            )
        if "capabilities: " not in markdown:
            return markdown
        source = Path(config["config_file_path"] or ".").parent / self.config.source
        inside = False

        def replaced(found: re.Match[str]) -> str:
            nonlocal inside
            if found["fence"]:
                inside = not inside
            if found["fence"] or inside:
                return found[0]
            try:
                return as_markdown(read_table(source, found["name"], self.config.project))
            except (ValueError, LookupError, OSError) as error:
                raise PluginError(f"capabilities: {error} ({page.file.src_path})") from error

        return _LINE.sub(replaced, markdown)
