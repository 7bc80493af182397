"""A picture of a tree of modules, as SVG."""

import os
from html import escape
from pathlib import Path
from typing import Any

from ..._core import tree
from .node import Owner
from .summary import own_variables, size

_ROW, _INDENT, _HEIGHT, _MARGIN = 34, 28, 26, 12
_FILLS = ("#e8f1fb", "#eaf7ee", "#fdf3e1", "#f6ecf8", "#f1f1f1")


class Drawing(Owner):
    """The part of `Module` that draws it."""

    def draw(self, path: str | os.PathLike[str] | None = None, /) -> str:
        """The tree of modules as SVG: one box each, with its name, class and number of parameters.

        The text is returned, and also written to `path` if there is one.

        >>> import trellis
        >>> picture = trellis.nn.Sequential(trellis.nn.Linear(2, 3)).draw()
        >>> picture.startswith("<svg") and "Linear" in picture
        True
        """
        rows: list[tuple[int, int, str]] = []
        _add_rows(self, type(self).__name__, 0, -1, rows)
        boxes = []
        width = 0
        for i, (depth, parent, text) in enumerate(rows):
            x, y = _MARGIN + depth * _INDENT, _MARGIN + i * _ROW
            box_width = 16 + 7.3 * len(text)
            width = max(width, int(x + box_width + _MARGIN))
            if parent >= 0:
                x0, y0 = x - _INDENT + 10, _MARGIN + parent * _ROW + _HEIGHT
                boxes.append(
                    f'<path d="M{x0} {y0} V{y + _HEIGHT // 2} H{x}" fill="none" stroke="#99a"/>'
                )
            fill = _FILLS[min(depth, len(_FILLS) - 1)]
            boxes.append(
                f'<rect x="{x}" y="{y}" width="{box_width:.0f}" height="{_HEIGHT}" rx="5" '
                f'fill="{fill}" stroke="#99a"/><text x="{x + 8}" y="{y + 17}">{escape(text)}</text>'
            )
        height = 2 * _MARGIN + len(rows) * _ROW - (_ROW - _HEIGHT)
        picture = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="12">\n'
            + "\n".join(boxes)
            + "\n</svg>\n"
        )
        if path is not None:
            Path(path).write_text(picture, encoding="utf-8")
        return picture


def _add_rows(
    module: Any, name: str, depth: int, parent: int, rows: list[tuple[int, int, str]]
) -> None:
    node = module.__node__
    kind = type(module).__name__
    if not node.children:
        kind = f"{kind}({module.extra_repr()})"
    count = sum([size(x) for x in tree.leaves(own_variables(node))])
    label = kind if depth == 0 else f"{name}: {kind}"
    rows.append((depth, parent, f"{label}  {count:,}" if count else label))
    here = len(rows) - 1
    for key, child in node.children.items():
        _add_rows(child, key, depth + 1, here, rows)
