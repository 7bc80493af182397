"""The tutorials as notebooks, made of the same pages: text and code, without the outputs."""

from __future__ import annotations

import re
from pathlib import Path

import code_blocks
import nbformat

DOCS = Path(__file__).resolve().parents[2] / "docs"
TUTORIALS = (
    "learn/ten_minutes.md",
    "learn/modules.md",
    "learn/compilation.md",
    "learn/random_numbers.md",
    "learn/devices.md",
    "learn/fine_tuning.md",
    "learn/library.md",
    "training.md",
)
_FENCE = re.compile(
    r"^```(?P<language>\w+)\n(?P<code>.*?)^```$|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)(\{[^}]*\})?")


def address(page: str) -> str:
    """The address of a page's notebook on the site.

    >>> address("learn/ten_minutes.md")
    'notebooks/ten_minutes.ipynb'
    """
    return f"notebooks/{Path(page).stem}.ipynb"


def notebook(page: Path) -> nbformat.NotebookNode:
    """The notebook of a page; links within the site become text, and outputs are left to the
    reader's own run."""
    text = page.read_text(encoding="utf-8")
    cells = []
    end = 0
    for match in _FENCE.finditer(text):
        cells += _prose(text[end : match.start()])
        end = match.end()
        if match["setup"] is not None:
            cells.append(nbformat.v4.new_code_cell(match["setup"].rstrip()))
        elif match["language"] == "python":
            cells.append(nbformat.v4.new_code_cell(match["code"].rstrip()))
        elif match["language"] not in ("output", "pycon"):
            cells += _prose(match.group())
    cells += _prose(text[end:])
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"  # the same notebook every time
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def _prose(text: str) -> list[nbformat.NotebookNode]:
    shown = _LINK.sub(r"\1", _COMMENT.sub("", text)).strip()
    return [nbformat.v4.new_markdown_cell(shown)] if shown else []


def needs(page: Path) -> set[str]:
    """The frameworks that the code of a page asks for."""
    found = code_blocks.blocks(page.read_text(encoding="utf-8"))
    return {name for block in found for name in block.needs}


def all_notebooks() -> dict[str, str]:
    """The notebooks of all tutorials that there are, by their address on the site."""
    return {
        address(page): nbformat.writes(notebook(DOCS / page)) + "\n"
        for page in TUTORIALS
        if (DOCS / page).exists()
    }
