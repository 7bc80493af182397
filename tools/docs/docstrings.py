"""Our docstrings for mkdocstrings: the examples in them become code, not quotations."""

from __future__ import annotations

from typing import Any

import griffe
from prose import escaped


def fenced(text: str) -> str:
    """A docstring whose examples are in fences.

    >>> fenced("Twice.\\n\\n>>> 1 + 1\\n2\\n\\nMore.").split("\\n")
    ['Twice.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'More.']
    """
    paragraphs: list[str] = []
    is_code = False
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0].lstrip().startswith(">>> "):
            indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
            shown = [line.partition("  # doctest:")[0].rstrip() for line in lines]
            if is_code:
                # One example after another: one block.
                paragraphs[-1] = paragraphs[-1].removesuffix(f"\n{indent}```")
                paragraphs[-1] += "\n" + "\n".join([*shown, f"{indent}```"])
            else:
                paragraphs.append("\n".join([f"{indent}```pycon", *shown, f"{indent}```"]))
            is_code = True
        else:
            paragraphs.append(escaped(paragraph))
            is_code = False
    return "\n\n".join(paragraphs)


class Examples(griffe.Extension):
    """Puts the examples of every docstring into fences before it is read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
