"""Reading the portable functions of backends, which ejected source may contain: as text."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .._core.dispatch import module_of


class Portable(NamedTuple):
    """The functions of one backend's `_portable.py`."""

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
def functions_of(framework: str) -> Portable:
    """The portable functions of a backend; neither it nor its framework is imported."""
    spec = find_spec(module_of(framework))
    assert spec is not None and spec.submodule_search_locations, "a backend is a package"
    text = Path(spec.submodule_search_locations[0], "_portable.py").read_text("utf-8")
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    names = {node.name for node in found}
    return Portable(
        {node.name: ast.get_source_segment(text, node) or "" for node in found},
        {
            node.name: frozenset(
                [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            )
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
