"""What notebooks show of modules, Containers, histories and reports: small tables.

Names may come from files of strangers: every text is escaped here, and nowhere else.
"""

from collections.abc import Sequence
from html import escape

MOST_ROWS = 100


def table(head: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """A table; of many rows the first and the last ones.

    >>> table(["name"], [["<w>"]])
    '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>&lt;w&gt;</td></tr></tbody></table>'
    """
    shown = list(rows)
    if len(shown) > MOST_ROWS:
        left_out = len(shown) - MOST_ROWS
        middle = [f"... {left_out} more ..."] + [""] * (len(head) - 1)
        shown = [*shown[: MOST_ROWS // 2], middle, *shown[-(MOST_ROWS // 2) :]]
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join([f"<tr>{_cells('td', row)}</tr>" for row in shown])
    return (
        f"<table>{title}<thead><tr>{_cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
    )


def text(words: object) -> str:
    """Lines of text as they are.

    >>> text("a < b")
    '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape(str(words))}</pre>"


def _cells(tag: str, row: Sequence[object]) -> str:
    return "".join([f"<{tag}>{escape(str(cell))}</{tag}>" for cell in row])
