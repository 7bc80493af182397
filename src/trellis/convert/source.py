"""A converted model as a file of readable Trellis code."""

import base64
import builtins
import keyword
import re
import zlib
from typing import Any

import numpy as np

from ..graph import Graph, Printer
from ..graph.graph import all_nodes, values_in
from .semantics.small_types import numpy_dtype

# Constants up to this many numbers are also written out, in a comment.
_SMALL = 16


def source_of(
    graph: Graph, *, name: str, source: str, constants: dict[str, Any], dtypes: dict[str, str]
) -> str:
    """The text of a module class that computes what the graph does.

    `constants` are NumPy arrays by name; `dtypes` the types of variables and buffers by key path.
    """
    printer = Printer(graph)
    calls = printer.calls(graph, "        ")
    title = _title(name, printer.imports)
    inputs = ", ".join(["self", *[value.name for value in graph.inputs]])
    first = [line for line in calls[:1] if line]  # no empty line at the top
    return "\n".join(
        [
            f'"""{title}, converted from {source} by Trellis: `{title}(backend="numpy")`."""',
            "",
            *_imports(printer.imports, bool(constants)),
            "",
            "",
            f"class {title}(nn.Module):",
            '    """The variables are zeros until `load_weights` or `v=` sets them."""',
            "",
            *_build(constants),
            "    def _create_variables(self, *, device, dtype):",
            "        v = trellis.Container()",
            "        for name, (shape, kind) in VARIABLES.items():",
            "            v[name] = trellis.zeros(shape, dtype=kind, device=device)",
            "        for name, (shape, kind) in BUFFERS.items():",
            "            zeros = trellis.zeros(shape, dtype=kind, device=device)",
            "            self.register_buffer(name, zeros)",
            "        return v",
            "",
            f"    def _forward({inputs}):",
            *_stored(graph, constants, printer.uses_backend),
            *first,
            *calls[1:],
            *_updates(graph, printer),
            f"        return {printer.text(graph.outputs)}",
            "",
            "",
            *_table("VARIABLES", graph.variables, dtypes),
            *_table("BUFFERS", graph.buffers, dtypes),
            *_constants(constants),
            "",
        ]
    )


def _title(name: str, imports: set[str]) -> str:
    """A name for the class, which nothing else in the file has."""
    title = re.sub(r"\W", "", name, flags=re.ASCII) or "Model"
    title = title if title[0].isalpha() else f"Model{title}"
    used = {"trellis", "nn", "np", "VARIABLES", "BUFFERS", "CONSTANTS", "unpacked", *dir(builtins)}
    used |= {word for line in imports for word in re.findall(r"\w+", line)}
    return f"{title}Model" if title in used or keyword.iskeyword(title) else title


def unpacked(text: str, shape: tuple[int, ...], dtype: str, /) -> Any:
    """The NumPy array that a printed model holds as text; the inverse of `packed`."""
    kind = numpy_dtype(dtype)
    data = zlib.decompress(base64.b85decode(text))
    return np.frombuffer(data, kind).reshape(shape).copy()


def packed(array: np.ndarray, /) -> str:
    """An array as text: its bytes, compressed."""
    return base64.b85encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()


def _imports(needed: set[str], has_constants: bool) -> list[str]:
    lines = {*needed, "import trellis", "from trellis import nn"}
    if has_constants:
        lines.add("from trellis.convert.source import unpacked")
    return sorted(lines, key=lambda line: (line.startswith("from"), line))


def _build(constants: dict[str, Any]) -> list[str]:
    if not constants:
        return []
    return [
        "    def _build(self):",
        "        self._constants = trellis.to_backend(CONSTANTS, trellis.current_backend())",
        "",
    ]


def _stored(graph: Graph, constants: dict[str, Any], uses_backend: bool) -> list[str]:
    lines = ["v = self.v"] if graph.variables else []
    lines += ["buffers = self.buffers"] if graph.buffers else []
    lines += ["constants = self._constants"] if constants else []
    used = {x.name for node in all_nodes(graph) for x in values_in((node.args, node.attributes))}
    lines += ["training = self.training"] if "training" in used else []
    if uses_backend:
        inputs = [value.name for value in graph.inputs]
        found = f"backend_of({inputs[0]})" if inputs else "current_backend()"
        lines.append(f"backend = trellis.{found}")
    return [f"        {line}" for line in lines]


def _updates(graph: Graph, printer: Printer) -> list[str]:
    if not graph.updates:
        return []
    lines = [
        f"            self.register_buffer({printer.text(chain)}, {printer.text(x)})"
        for chain, x in graph.updates.items()
    ]
    return ["        if self.training:", *lines]


def _table(title: str, values: dict[str, Any], dtypes: dict[str, str]) -> list[str]:
    if not values:
        return [f"{title} = {{}}"]
    rows = [f"    {chain!r}: ({x.shape!r}, {dtypes[chain]!r})," for chain, x in values.items()]
    return [f"{title} = {{", *rows, "}"]


def _constants(constants: dict[str, Any]) -> list[str]:
    if not constants:
        return []
    lines = ["CONSTANTS = {"]
    for name, array in constants.items():
        array = np.asarray(array)
        call = f"{packed(array)!r}, {array.shape!r}, {array.dtype.name!r}"
        remark = f"  # {array.tolist()}" if array.size <= _SMALL else ""
        lines.append(f"    {name!r}: unpacked({call}),{remark}")
    return [*lines, "}"]
