"""A picture of a graph, as text that Graphviz draws."""

from .graph import Graph, Value, values_in


def to_dot(graph: Graph, /) -> str:
    """The graph in the DOT language: `dot -Tsvg graph.dot > graph.svg` draws it.

    Boxes are calls, with the shape of their results; ellipses are inputs, variables and outputs.

    >>> from trellis.graph import Builder, to_dot
    >>> from trellis.convert import semantics
    >>> g = Builder(semantics)
    >>> g.graph.outputs = g.t.tanh(g.input("x", (2, 3), "float32"))
    >>> print(to_dot(g.graph))
    digraph {
      node [fontname="sans-serif", fontsize=10];
      "x" [label="x\\n(2, 3) float32"];
      "tanh" [label="tanh", shape=box];
      "x" -> "tanh";
      "output 0" [label="output 0"];
      "tanh" -> "output 0";
    }
    """
    lines = ["digraph {", '  node [fontname="sans-serif", fontsize=10];']
    shown: set[str] = set()

    def show(value: Value, label: str, style: str = "") -> None:
        known = "" if value.shape is None else f"\\n{value.shape} {value.dtype or ''}".rstrip()
        lines.append(f'  "{value.name}" [label="{_plain(label)}{known}"{style}];')
        shown.add(value.name)

    for value in graph.inputs:
        show(value, value.name)
    stored = {**graph.variables, **graph.buffers, **{n: Value(n) for n in graph.constants}}
    labels = {value.name: chain for chain, value in stored.items()}
    for node in graph.nodes:
        used = {value.name: value for value in values_in((node.args, node.attributes))}
        for value in used.values():
            if value.name not in shown:
                show(value, labels.get(value.name, value.name), ", style=dashed")
        show(node.result, node.op.__name__, ", shape=box")
        lines += [f'  "{name}" -> "{node.result.name}";' for name in used]
    for i, value in enumerate(values_in(graph.outputs)):
        lines.append(f'  "output {i}" [label="output {i}"];')
        lines.append(f'  "{value.name}" -> "output {i}";')
    return "\n".join([*lines, "}"])


def _plain(label: str) -> str:
    """The text without characters that would end the label."""
    return "".join([c for c in label if c.isprintable() and c not in '"\\'])
