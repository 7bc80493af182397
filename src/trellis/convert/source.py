"""A converted model as a file of readable Trellis code."""

import re
from typing import Any

import numpy as np

from ..graph import Printer

# Constants up to this many numbers are written out; larger ones become buffers.
_SMALL = 64


def source_of(model: Any, name: str | None = None) -> str:
    """The text of a module class that computes what the converted `model` does.

    Constants too large to be written out are among its buffers, under `constants/`, so that
    `load_weights(path, strict=False)` or assigning `buffers` brings them along.
    """
    graph = model.graph
    title = name or re.sub(r"\W", "", model.name) or "Model"
    printer = Printer(graph)
    body = printer.body(graph, "        ")
    arguments = [value.name for value in graph.inputs]
    lines = [
        f'"""{model.name}, converted from {model.source} by Trellis."""',
        "",
        *sorted({*printer.imports, "import trellis", "from trellis import nn"}),
        "",
        "VARIABLES = {",
        *[
            f"    {chain!r}: ({value.shape!r}, {value.dtype!r}),"
            for chain, value in graph.variables.items()
        ],
        "}",
        "BUFFERS = {",
        *[
            f"    {chain!r}: ({value.shape!r}, {value.dtype!r}),"
            for chain, value in graph.buffers.items()
        ],
        "}",
    ]
    lines += ["CONSTANTS = {", *_constants(graph.constants), "}", ""]
    lines += [
        "",
        f"class {title}(nn.Module):",
        f'    """The variables start at zero: `{title}().load_weights(path)` fills them."""',
        "",
        "    def _create_variables(self, *, device, dtype):",
        "        for name, (shape, kind) in BUFFERS.items():",
        "            self.register_buffer(name, trellis.zeros(shape, dtype=kind, device=device))",
        "        v = trellis.Container()",
        "        for name, (shape, kind) in VARIABLES.items():",
        "            v[name] = trellis.zeros(shape, dtype=kind, device=device)",
        "        return v",
        "",
        f"    def _forward(self, {', '.join(arguments)}):",
        "        v, buffers, training = self.v, self.buffers, self.training",
        *body,
    ]
    return "\n".join(lines) + "\n"


def _constants(constants: dict[str, Any]) -> list[str]:
    lines = []
    for name, array in constants.items():
        array = np.asarray(array)
        lines.append(
            f"    {name!r}: trellis.asarray({array.tolist()!r}, dtype={array.dtype.name!r}),"
        )
    return lines
