"""Names of values: those of a graph, and of the graphs around it."""

from collections.abc import Callable
from typing import Any

import onnx

from ..._core.errors import ArgumentError
from ...graph import Value


class Scope(dict[str, Any]):
    """Values by name. `types` has what shape inference found out about them."""

    def __init__(self, around: "Scope | None" = None) -> None:
        super().__init__()
        self.around = around
        self.types: dict[str, tuple[Any, Any]] = {}
        self._later: dict[str, Callable[[], Any]] = {}

    def later(self, name: str, make: Callable[[], Any]) -> None:
        """A value that is computed at its first use."""
        self._later[name] = make

    def find(self, name: str) -> Any:
        """The value of a name, here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope:
                return scope[name]
            if name in scope._later:
                scope[name] = scope._later[name]()
                return scope[name]
            scope = scope.around
        raise ArgumentError(f"from_onnx() got a model that uses {name!r} before it is defined.")


class Branch:
    """A graph that is an attribute of a node: the body of a loop, a branch of a choice."""

    def __init__(self, reader: Any, graph: "onnx.GraphProto", around: Scope) -> None:
        self._reader, self._graph, self._around = reader, graph, around
        self.inputs = [info.name for info in graph.input]
        self.outputs = [info.name for info in graph.output]

    def __call__(self, *values: Value) -> list[Any]:
        """Read the graph on the given inputs into the function that is being filled."""
        from .tensors import array_of

        scope = Scope(self._around)
        for name, value in zip(self.inputs, values, strict=True):
            scope[name] = value
        for tensor in self._graph.initializer:
            scope[tensor.name] = self._reader.local_array(tensor.name, array_of(tensor))
        self._reader.describe(self._graph, scope)
        source, where = self._reader.g.source, self._reader.g.where
        results = self._reader.nodes(self._graph, scope)
        self._reader.g.source, self._reader.g.where = source, where
        return results

    def input_type(self, i: int) -> tuple[Any, Any]:
        """The shape and type that the graph declares for an input."""
        from .tensors import dtype_name, shape_of

        tensor = self._graph.input[i].type.tensor_type
        return shape_of(tensor), dtype_name(tensor.elem_type) if tensor.elem_type else None
