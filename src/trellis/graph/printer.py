"""A graph as Python source: what one reads is what runs.

Only names that the builder made and literals of a closed set of types are written, so that nothing
from a foreign file can become code.
"""

import builtins
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from .graph import Function, Graph, Node, Value, all_nodes, free_values, functions_in, values_in

_WIDTH = 100
# The signs of operators, by their names in the module `operator`.
SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**",
    "matmul": "@", "and_": "&", "or_": "|", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=",
}  # fmt: skip
_INFIX = {getattr(operator, name): sign for name, sign in SIGNS.items()}
_ALIASES = {"trellis.functional": "F"}


class Printer:
    """Writes the lines of a graph and notes which names they need.

    `globals` maps those names to what they stand for, `imports` are the lines that import them.
    With `with_del` the lines are those that run: each value is let go after its last use. Without,
    they are for reading, and what has no array to go by is made on `backend`, whichever that is.
    """

    def __init__(self, graph: Graph, with_del: bool = False):
        self._with_del = with_del
        self._stored = {
            value.name: f"v[{quoted(chain)}]" for chain, value in graph.variables.items()
        }
        for chain, value in graph.buffers.items():
            self._stored[value.name] = f"buffers[{quoted(chain)}]"
        for name in graph.constants:
            self._stored[name] = f"constants[{quoted(name)}]"
        # Functions from elsewhere must not have the names of values.
        self._taken = {x.name for x in graph.inputs} | {x.result.name for x in all_nodes(graph)}
        self.globals: dict[str, Any] = {}
        self.imports: set[str] = set()
        self.uses_backend = False

    def body(self, function: Function, indent: str = "    ") -> list[str]:
        """The lines between `def` and the end of the function, `return` among them."""
        lines = self.calls(function, indent)
        outputs = self.text(function.outputs)
        if isinstance(function, Graph) and function.updates:
            outputs = f"{outputs}, {self.text(function.updates)}"
        return [*lines, f"{indent}return {outputs}"]

    def calls(self, function: Function, indent: str) -> list[str]:
        """One assignment for each node; with a comment where the place in the source changes."""
        lines: list[str] = []
        last_uses = self._last_uses(function) if self._with_del else {}
        where = ""
        for i, node in enumerate(function.nodes):
            if node.where != where and not self._with_del:
                where = node.where
                lines += ["", f"{indent}# {_comment(where)}"] if where else [""]
            lines += self._inner_functions(node, indent)
            lines += self._assignment(node, indent)
            if i in last_uses:
                lines.append(f"{indent}del {', '.join(last_uses[i])}")
        return lines

    def text(self, x: object) -> str:
        """An argument as Python writes it."""
        if isinstance(x, Value):
            return self._stored.get(x.name, x.name)
        if isinstance(x, Function):
            return _function_name(x)
        if isinstance(x, tuple):
            return f"({', '.join([self.text(i) for i in x])}{',' if len(x) == 1 else ''})"
        if isinstance(x, list):
            return f"[{', '.join([self.text(i) for i in x])}]"
        if isinstance(x, dict):
            pairs = [f"{quoted(key)}: {self.text(item)}" for key, item in x.items()]
            return f"{{{', '.join(pairs)}}}"
        if isinstance(x, slice):
            return f"slice({self.text(x.start)}, {self.text(x.stop)}, {self.text(x.step)})"
        if isinstance(x, float) and not math.isfinite(x):
            return f'float("{x}")'
        if x is Ellipsis:
            return "..."
        if type(x) is str:
            return quoted(x)
        if x is None or type(x) in (bool, int, float, complex):
            return repr(x)
        raise TypeError(f"A graph cannot hold {x!r} of type {type(x).__name__} as an argument.")

    def _subscript(self, key: object) -> str:
        """What stands between brackets: `:, 1:-1, 0`."""
        if isinstance(key, tuple) and key:
            inner = ", ".join([self._subscript(item) for item in key])
            return inner + ("," if len(key) == 1 else "")
        if not isinstance(key, slice):
            return self.text(key)
        parts = ["" if x is None else self.text(x) for x in (key.start, key.stop)]
        return ":".join(parts) + ("" if key.step is None else f":{self.text(key.step)}")

    def name_of(self, op: Callable[..., Any]) -> str:
        """How the program calls a function; remembers what has to be imported for it."""
        name = op.__name__
        if getattr(builtins, name, None) is op:
            return name
        home = _public_home(op)
        if home is not None:
            alias = _ALIASES.get(home, home.rpartition(".")[2])
            self.globals[alias] = sys.modules[home]
            self.imports.add(_import_line(home, alias))
            return f"{alias}.{name}"
        alias = name
        while self.globals.get(alias, op) is not op or alias in self._taken:
            alias += "_"
        self.globals[alias] = op
        self.imports.add(f"from {op.__module__} import {name} as {alias}")
        return alias

    def _assignment(self, node: Node, indent: str) -> list[str]:
        start = f"{indent}{node.result.name} = "
        args = [self.text(x) for x in node.args]
        if node.op is operator.getitem:
            return [f"{start}{args[0]}[{self._subscript(node.args[1])}]"]
        if node.op in _INFIX and not node.attributes:
            return [f"{start}{args[0]} {_INFIX[node.op]} {args[1]}"]
        for key, x in node.attributes.items():
            is_target = key == "backend" and not self._with_del
            args.append("backend=backend" if is_target else f"{key}={self.text(x)}")
            self.uses_backend |= is_target
        name = self.name_of(node.op)
        line = f"{start}{name}({', '.join(args)})"
        if len(line) <= _WIDTH:
            return [line]
        return [f"{start}{name}(", *[f"{indent}    {arg}," for arg in args], f"{indent})"]

    def _inner_functions(self, node: Node, indent: str) -> list[str]:
        lines: list[str] = []
        for inner in functions_in((*node.args, *node.attributes.values())):
            names = ", ".join([value.name for value in inner.inputs])
            lines += ["", f"{indent}def {_function_name(inner)}({names}):"]
            lines += [*self.body(inner, indent + "    "), ""]
        return lines

    def _last_uses(self, function: Function) -> dict[int, list[str]]:
        """Which local values are used for the last time at which node."""
        own = {node.result.name for node in function.nodes}
        kept = {value.name for value in values_in(function.outputs)}
        if isinstance(function, Graph):
            own |= {value.name for value in function.inputs}
            kept |= {value.name for value in function.updates.values()}
        # A name that an inner function takes from here lives as long as that function may.
        for node in function.nodes:
            for inner in functions_in((*node.args, *node.attributes.values())):
                kept |= {value.name for value in free_values(inner)}
        last: dict[str, int] = {}
        for i, node in enumerate(function.nodes):
            last[node.result.name] = i
            for value in values_in((node.args, node.attributes)):
                last[value.name] = i
        uses: dict[int, list[str]] = {}
        for name, i in last.items():
            if name in own and name not in kept:
                uses.setdefault(i, []).append(name)
        return uses


def _public_home(op: Callable[..., Any]) -> str | None:
    """The module that a reader would import a function from: the outermost one that shows it."""
    parts = op.__module__.split(".")
    above = [".".join(parts[:i]) for i in range(1, len(parts) + 1)]
    above = [home for home in above if "._" not in home]
    for home in [*above, "trellis.linalg", "trellis.fft", "trellis.random"]:
        if getattr(sys.modules.get(home), op.__name__, None) is op:
            return home
    return None


def _import_line(home: str, alias: str) -> str:
    parent, _, last = home.rpartition(".")
    if not parent:
        return f"import {home}"
    return f"from {parent} import {last}" + ("" if last == alias else f" as {alias}")


def quoted(text: str) -> str:
    """A string literal, in double quotes where that needs no escapes."""
    return f'"{text}"' if text.isprintable() and not set(text) & set('"\\') else repr(text)


def documented(text: str) -> str:
    """A docstring that contains the text and ends where the text does, whatever is in it."""
    return '"""' + text.replace("\\", "\\\\").replace('"', '\\"') + '"""'


def _function_name(function: Function) -> str:
    """The name of an inner function; if it has none, that of its first value is unique."""
    if function.name:
        return function.name
    for value in (*function.inputs, *[node.result for node in function.nodes]):
        return f"with_{value.name}"
    return "with_nothing"


def _comment(text: str) -> str:
    """Text of a foreign file on one line."""
    return "".join([c if c.isprintable() else " " for c in text])[:_WIDTH]
