"""The data of a graph: named values, and the calls of public functions that compute them.

A graph is plain data. Readers of foreign models build it with a `Builder`; `program` turns it
into a Python function; `printer` writes it down as source.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .count import Count
    from .open_sizes import OpenAxes

Shape = tuple[int | str | None, ...]  # an axis without a fixed size has a name, or None


@dataclass(frozen=True, slots=True)
class Value:
    """A value by its name, with what is known of it before anything runs."""

    name: str
    shape: Shape | None = field(default=None, compare=False)
    dtype: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Node:
    """One call: `result = op(*args, **attributes)`.

    Arguments are `Value`s, plain Python values, pytrees of both, and `Function`s.
    """

    op: Callable[..., Any]
    args: tuple[Any, ...]
    attributes: dict[str, Any]
    result: Value
    source: str = ""  # what the call was in the foreign model, for reports and errors
    where: str = ""  # the module path or line that it comes from


@dataclass(slots=True)
class Function:
    """A function inside a graph, such as the body of a loop; it may use values from outside."""

    inputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: Any = None
    name: str = ""  # how the program calls it


@dataclass(slots=True)
class Graph(Function):
    """A whole program: its inputs, variables and constants, its calls in order, and its outputs.

    `variables` and `buffers` map key paths to values, `constants` the names of values to NumPy
    arrays. `updates` maps key paths of buffers to the values that they have after the call.
    """

    variables: dict[str, Value] = field(default_factory=dict)
    buffers: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    updates: dict[str, Value] = field(default_factory=dict)
    _open_axes: "OpenAxes | None" = field(default=None, init=False, repr=False, compare=False)

    def to_source(self, framework: str, name: str = "forward") -> str:
        """The program as a file of plain code for "numpy", "jax", "torch" or "tensorflow", without
        Trellis: a function `name` of the variables (a dict by key path, if there are any) and the
        inputs.

        >>> import numpy as np, trellis
        >>> graph = trellis.trace(lambda x: trellis.tanh(x) * 2, np.ones(3))
        >>> print(graph.to_source("torch", "double").partition("def ")[2].partition("#")[0].strip())
        double(x):
            \"\"\"x: float64[3].\"\"\"
        """
        from .eject import eject

        if self._open_axes is not None:
            from .open_sizes import eject_open

            return eject_open(self, framework, name)
        return eject(self, framework, name)

    def draw(self, path: "str | os.PathLike[str] | None" = None) -> str:
        """The graph as an SVG picture, for light and dark pages; written to `path` if given.
        `graph.to_dot` writes it for Graphviz instead."""
        from .._core.files import replace_file
        from .picture import to_svg

        text = to_svg(self)
        if path is not None:
            replace_file(path, [text.encode()])
        return text

    def count(self) -> "Count":
        """Calls, parameters, memory and floating-point operations, in total and by function.

        >>> import numpy as np, trellis
        >>> trellis.trace(lambda x: x @ x, np.ones((2, 2))).count().flops
        16
        """
        from .count import count

        return count(self)


def values_in(nest: object) -> Iterator[Value]:
    """All values that a pytree of arguments mentions; those used inside a `Function` too."""
    if isinstance(nest, Value):
        yield nest
    elif isinstance(nest, (tuple, list)):
        for item in nest:
            yield from values_in(item)
    elif isinstance(nest, dict):
        for item in nest.values():
            yield from values_in(item)
    elif isinstance(nest, slice):
        yield from values_in((nest.start, nest.stop, nest.step))
    elif isinstance(nest, Function):
        yield from free_values(nest)


def free_values(function: Function) -> Iterator[Value]:
    """The values that a function takes from outside."""
    own = {value.name for value in function.inputs}
    for node in function.nodes:
        for value in values_in((node.args, node.attributes)):
            if value.name not in own:
                yield value
        own.add(node.result.name)
    for value in values_in(function.outputs):
        if value.name not in own:
            yield value


def replace_values(nest: object, new: Callable[[Value], Any]) -> Any:
    """The pytree with `new(value)` in the place of each value, inside functions too."""
    if isinstance(nest, Value):
        return new(nest)
    if isinstance(nest, (tuple, list)):
        items = [replace_values(item, new) for item in nest]
        return type(nest)(*items) if hasattr(nest, "_fields") else type(nest)(items)
    if isinstance(nest, dict):
        return {key: replace_values(item, new) for key, item in nest.items()}
    if isinstance(nest, slice):
        return slice(*[replace_values(x, new) for x in (nest.start, nest.stop, nest.step)])
    if isinstance(nest, Function):
        for node in nest.nodes:
            node.args = replace_values(node.args, new)
            node.attributes = replace_values(node.attributes, new)
        nest.outputs = replace_values(nest.outputs, new)
    return nest


def all_nodes(function: Function) -> Iterator[Node]:
    """The nodes of a function and of the functions inside it."""
    for node in function.nodes:
        yield node
        for argument in (*node.args, *node.attributes.values()):
            for inner in functions_in(argument):
                yield from all_nodes(inner)


def functions_in(nest: object) -> Iterator[Function]:
    """The functions among arguments."""
    if isinstance(nest, Function):
        yield nest
    elif isinstance(nest, (tuple, list)):
        for item in nest:
            yield from functions_in(item)
