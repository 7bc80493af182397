"""Building a graph: `g.t.add(x, y)` adds a call of `trellis.add` to it instead of computing."""

import builtins
import keyword
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from .graph import Function, Graph, Node, Shape, Value

# Names that the printed program uses for other things.
RESERVED = frozenset(
    {"trellis", "F", "nn", "semantics", "math", "operator", "np"}
    | {"random", "linalg", "fft", "backend"}
    | {"v", "buffers", "constants", "training", "updates", "self", "forward"}
    | set(dir(builtins))
)


class Calls:
    """A module whose functions, when called, become nodes of a graph."""

    def __init__(self, builder: "Builder", module: ModuleType):
        self._builder, self._module = builder, module

    def __getattr__(self, name: str) -> Callable[..., Value]:
        op = getattr(self._module, name)
        return lambda *args, **attributes: self._builder.call(op, *args, **attributes)


class Builder:
    """A graph that is being built.

    `t` calls functions of `trellis`, `F` those of `trellis.functional`, `linalg` and `fft` theirs,
    `s` those of `helpers`. The strings `source` and `where` are noted at each new node.
    """

    def __init__(self, helpers: ModuleType) -> None:
        import trellis

        self.graph = Graph()
        self.t = Calls(self, trellis)
        self.F = Calls(self, trellis.functional)
        self.linalg = Calls(self, trellis.linalg)
        self.fft = Calls(self, trellis.fft)
        self.s = Calls(self, helpers)
        self.source = self.where = ""
        self._taken = set(RESERVED)
        self._counts: dict[str, int] = {}
        self._functions: list[Function] = [self.graph]

    def input(self, name: str, shape: Shape | None = None, dtype: str | None = None) -> Value:
        """A new input of the graph, or of the function that is being built."""
        value = Value(self.new_name(name), shape, dtype)
        self._functions[-1].inputs.append(value)
        return value

    def variable(self, chain: str, shape: Shape | None = None, dtype: str | None = None) -> Value:
        """The variable at a key path; a second call returns the same value."""
        return self._stored(self.graph.variables, chain, shape, dtype)

    def buffer(self, chain: str, shape: Shape | None = None, dtype: str | None = None) -> Value:
        """The buffer at a key path."""
        return self._stored(self.graph.buffers, chain, shape, dtype)

    def constant(self, array: np.ndarray, name: str = "constant") -> Value:
        """An array that is part of the program."""
        array = np.asarray(array)
        value = Value(self.new_name(name), array.shape, array.dtype.name)
        self.graph.constants[value.name] = array
        return value

    def call(self, op: Callable[..., Any], /, *args: object, **attributes: object) -> Value:
        """A new node; its value represents what the call will return."""
        value = Value(self.new_name(op.__name__))
        self._functions[-1].nodes.append(Node(op, args, attributes, value, self.source, self.where))
        return value

    def named(self, name: str) -> Callable[..., Value]:
        """The call of a public function, by its name below `trellis`."""
        group, _, last = name.rpartition(".")
        groups = {"": self.t, "functional": self.F, "linalg": self.linalg, "fft": self.fft}
        found: Callable[..., Value] = getattr(groups[group], last)
        return found

    @contextmanager
    def function(self, name: str = "inner") -> Iterator[Function]:
        """Inside the block, inputs and calls are added to a new function, the argument of a later
        call."""
        made = Function(name=self.new_name(name))
        self._functions.append(made)
        try:
            yield made
        finally:
            self._functions.pop()

    def described(self, value: Value, shape: Shape | None, dtype: str | None) -> Value:
        """The same value with its shape and data type, which are noted at its node."""
        value = replace(value, shape=shape, dtype=dtype)
        for node in reversed(self._functions[-1].nodes):
            if node.result == value:
                node.result = value
                break
        return value

    def new_name(self, hint: str) -> str:
        """An unused name for a local Python variable."""
        name = re.sub(r"\W", "_", hint, flags=re.ASCII).strip("_").lower() or "x"
        if name[0].isdigit() or keyword.iskeyword(name):
            name = f"x_{name}"
        stem = name
        while name in self._taken:
            self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}_{self._counts[stem]}"
        self._taken.add(name)
        return name

    def _stored(
        self, place: dict[str, Value], chain: str, shape: Shape | None, dtype: str | None
    ) -> Value:
        if chain not in place:
            place[chain] = Value(self.new_name(chain), shape, dtype)
        return place[chain]
