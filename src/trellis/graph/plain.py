"""Reading the plain functions that ejected source may contain: as text, without importing them."""

import ast
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .._core.dispatch import loaded


class Plain(NamedTuple):
    """The functions of one framework's `_plain.py`."""

    functions: dict[str, str]  # their text
    parameters: dict[str, frozenset[str]]
    uses: dict[str, tuple[str, ...]]  # other functions of the file that they call

    def with_dependencies(self, names: list[str]) -> list[str]:
        """The text of functions and of all that they call, each once, callees first."""
        order: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in order:
                for other in self.uses[name]:
                    visit(other)
                order[name] = None

        for name in names:
            visit(name)
        return [self.functions[name] for name in order]


@cache
def functions_of(framework: str) -> Plain:
    """The plain functions of a framework."""
    # Found from the package above: to ask for a package is to import it, and with it a framework.
    is_known = framework in loaded
    backend = loaded[framework].__name__ if is_known else f"trellis._backends.{framework}"
    above, _, folder = backend.rpartition(".")
    text = files(above).joinpath(folder, "_plain.py").read_text("utf-8")
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    names = {node.name for node in found}
    return Plain(
        {node.name: ast.get_source_segment(text, node) or "" for node in found},
        {
            node.name: frozenset([a.arg for a in (*node.args.args, *node.args.kwonlyargs)])
            for node in found
        },
        {
            node.name: tuple(
                sorted(
                    {
                        x.id
                        for x in ast.walk(node)
                        if isinstance(x, ast.Name) and x.id in names and x.id != node.name
                    }
                )
            )
            for node in found
        },
    )
