"""A picture of a graph as SVG, without another program: boxes in layers."""

from html import escape

from .._core.printable import printable
from .graph import Graph, Node, Value, values_in

_BOX, _HIGH, _GAP_X, _GAP_Y, _EDGE = 190, 46, 24, 34, 24

_STYLE = """<style>
  text { font: 12px sans-serif; fill: #222; text-anchor: middle; }
  .small { font-size: 10px; fill: #666; }
  .back { fill: #fff; }
  .call { fill: #eaf1f8; stroke: #0072b2; }
  .given { fill: #fdf0e3; stroke: #d55e00; }
  .made { fill: #e6f4ef; stroke: #009e73; }
  .edge { fill: none; stroke: #888; stroke-width: 1.2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e4e4; }
    .small { fill: #aaa; }
    .back { fill: #16181d; }
    .call { fill: #14283a; }
    .given { fill: #3a2413; }
    .made { fill: #10302a; }
  }
</style>"""


def to_svg(graph: Graph, /) -> str:
    """The graph as the text of an SVG file: inputs above, calls below what they use, outputs last;
    variables are named in the box of the call that uses them. For light and dark pages.

    >>> import numpy as np, trellis
    >>> trellis.graph.to_svg(trellis.trace(trellis.tanh, np.ones(3)))[:4]
    '<svg'
    """
    depth: dict[str, int] = {value.name: 0 for value in graph.inputs}
    boxes: list[tuple[str, int, str, str, str]] = [
        (value.name, 0, value.name, _known(value), "given") for value in graph.inputs
    ]
    stored = {value.name: chain for chain, value in graph.variables.items()}
    stored |= {value.name: chain for chain, value in graph.buffers.items()}
    edges: list[tuple[str, str]] = []
    for node in graph.nodes:
        used = [x.name for x in values_in((node.args, node.attributes))]
        above = [name for name in dict.fromkeys(used) if name in depth]
        level = max([depth[name] for name in above] + [0]) + 1
        depth[node.result.name] = level
        names = [stored[name] for name in dict.fromkeys(used) if name in stored]
        boxes.append((node.result.name, level, _title(node, names), _known(node.result), "call"))
        edges += [(name, node.result.name) for name in above]
    last = max(depth.values(), default=0) + 1
    for i, value in enumerate(values_in(graph.outputs)):
        if value.name in depth:
            boxes.append((f"output {i}", last, f"output {i}", _known(value), "made"))
            edges.append((value.name, f"output {i}"))
    return _drawn(boxes, edges)


def _drawn(boxes: list[tuple[str, int, str, str, str]], edges: list[tuple[str, str]]) -> str:
    layers: dict[int, list[str]] = {}
    for name, level, *_ in boxes:
        layers.setdefault(level, []).append(name)
    widest = max([len(layer) for layer in layers.values()] or [1])
    width = widest * (_BOX + _GAP_X) - _GAP_X + 2 * _EDGE
    rows = {level: i for i, level in enumerate(sorted(layers))}
    height = max(len(rows), 1) * (_HIGH + _GAP_Y) - _GAP_Y + 2 * _EDGE
    place: dict[str, tuple[float, float]] = {}
    for level, layer in layers.items():
        start = (width - len(layer) * (_BOX + _GAP_X) + _GAP_X) / 2
        for i, name in enumerate(layer):
            place[name] = (start + i * (_BOX + _GAP_X), _EDGE + rows[level] * (_HIGH + _GAP_Y))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" role="img">',
        f"<title>A graph of {len(boxes)} boxes</title>",
        _STYLE,
        f'<rect class="back" width="{width:g}" height="{height:g}"/>',
    ]
    for one, two in edges:
        x0, y0 = place[one][0] + _BOX / 2, place[one][1] + _HIGH
        x1, y1 = place[two][0] + _BOX / 2, place[two][1]
        middle = (y0 + y1) / 2
        out.append(
            f'<path class="edge" d="M{x0:g} {y0:g}C{x0:g} {middle:g} {x1:g} {middle:g} '
            f'{x1:g} {y1:g}"/>'
        )
    for name, _, title, small, kind in boxes:
        x, y = place[name]
        out.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{_BOX}" height="{_HIGH}" rx="6"/>'
            f'<text x="{x + _BOX / 2:g}" y="{y + 19:g}">{_quoted(_short(title))}</text>'
            f'<text class="small" x="{x + _BOX / 2:g}" y="{y + 36:g}">{_quoted(small)}</text>'
        )
    return "\n".join([*out, "</svg>", ""])


def _title(node: Node, names: list[str]) -> str:
    return f"{node.op.__name__}({', '.join(names)})" if names else node.op.__name__


def _known(value: Value) -> str:
    return "" if value.shape is None else f"{value.dtype} {value.shape}"


def _quoted(text: str) -> str:
    """Text from a file: XML cannot hold control characters at all."""
    return escape(printable(text))


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:29]}…"
