"""Tables that tools write into pages, between `<!-- NAME -->` and `<!-- end of NAME -->`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def table(head, rows):
    """A table in Markdown.

    >>> print(table(["what", "n"], [["lines", 3]]))
    | what | n |
    |---|---|
    | lines | 3 |
    """
    lines = [f"| {' | '.join(map(str, row))} |" for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def filled(text, name, content):
    """A page with other content in one of its places.

    >>> filled("a\\n<!-- n -->\\nold\\n<!-- end of n -->\\nb", "n", "new")
    'a\\n<!-- n -->\\nnew\\n<!-- end of n -->\\nb'
    """
    begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"The page has no place {begin.strip()} ... {end.strip()}")
    return f"{before}{begin}{content}{end}{after}"
