"""The text of the portable functions of backends, which ejected source may contain."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .._core.dispatch import module_of
from .._ops.record import with_jax


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
    """The portable functions of a backend of ours; neither it nor its framework is imported."""
    texts = _texts(framework)
    if framework == "jax":  # as in the op table: NumPy's, with jax.numpy
        texts = {name: with_jax(text) for name, text in _texts("numpy").items()} | texts
    return _portable(texts)


@cache
def functions_in(file: Path | None) -> Portable:
    """The portable functions of a backend of another package."""
    return _portable({} if file is None else _texts_in(file))


def _portable(texts: dict[str, str]) -> Portable:
    nodes = {name: ast.parse(text).body[0] for name, text in texts.items()}
    return Portable(
        texts,
        {name: _parameters(node) for name, node in nodes.items()},
        {
            name: tuple(sorted((_mentioned(node) & set(texts)) - {name}))
            for name, node in nodes.items()
        },
    )


def _texts(framework: str) -> dict[str, str]:
    spec = find_spec(module_of(framework))
    assert spec is not None and spec.submodule_search_locations, "a backend is a package"
    return _texts_in(Path(spec.submodule_search_locations[0], "_portable.py"))


def _texts_in(file: Path) -> dict[str, str]:
    text = file.read_text("utf-8")
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in found}


def _parameters(function: ast.stmt) -> frozenset[str]:
    assert isinstance(function, ast.FunctionDef)
    form = function.args
    return frozenset([x.arg for x in (*form.posonlyargs, *form.args, *form.kwonlyargs)])


def _mentioned(function: ast.stmt) -> set[str]:
    return {x.id for x in ast.walk(function) if isinstance(x, ast.Name)}
