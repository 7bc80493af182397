"""A graph as plain code of one framework, without Trellis: a file to read and edit."""

import base64
import keyword
import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.dispatch import backend_names, load
from .._core.dtypes import FLOATING, INTEGER
from .._core.errors import ArgumentError, NotSupportedError
from .._core.typing import Scalar
from .._ops import TABLE
from .._ops.record import BY_HAND, COUNT, PRODUCT, Op, Way
from .._ops.source import Source
from .calls import SPECS, axes_of, check_traced, common_dtype, key_of, signature_of
from .dialects import DIALECTS
from .expressions import filled
from .graph import Graph, Node, Value, values_in
from .portable import functions_in, functions_of
from .printer import SIGNS, Printer, documented, quoted

# Constants up to this many numbers are written out.
_SMALL = 64
# Operators that differ between frameworks: for floats, for integers, or by zero.
_NOT_INFIX = ("floordiv", "mod", "pow")


def eject(graph: Graph, framework: str, name: str = "forward") -> str:
    """The text of a Python file with the function `name`, which computes what the graph does."""
    source = None if framework in DIALECTS else _source_of(framework)
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ArgumentError(f"{name!r} cannot be the name of a function.")
    return Ejector(graph, framework, source).file(name)


def _source_of(framework: str) -> Source:
    """How the programs of a backend of another package are written."""
    if framework not in backend_names():
        known = [*DIALECTS, *[name for name in backend_names() if name not in DIALECTS]]
        raise ArgumentError(
            f"to_source() writes {', '.join(known)}; got {framework!r} for the framework."
        )
    source = load(framework).SOURCE
    if source is None:
        raise NotSupportedError(
            f"The backend {framework!r} does not say how its programs are written, so to_source() "
            f"cannot write one. It writes {', '.join(DIALECTS)}."
        )
    return source


class Ejector(Printer):
    """Writes one graph for one framework."""

    def __init__(self, graph: Graph, framework: str, source: Source | None = None):
        super().__init__(graph)
        self._graph, self._framework, self._source = graph, framework, source
        if source is None:
            self._dialect, self._plain = DIALECTS[framework], functions_of(framework)
        else:
            self._dialect, self._plain = source.dialect, functions_in(source.portable)
        self._helpers: dict[str, None] = {}  # in the order of their use
        # Names that values must not have: values are named after their calls, and so are helpers.
        self._own = {
            *self._plain.functions, *self._dialect.imports, "variables", "_unpacked", "np",
            "base64", "zlib", "itertools", "math",
        }  # fmt: skip
        for chain, value in (*graph.variables.items(), *graph.buffers.items()):
            self._stored[value.name] = f"variables[{quoted(chain)}]"
        for constant in graph.constants:
            self._stored[constant] = constant.upper()
        self._check_spelled()

    def file(self, name: str) -> str:
        """The whole file."""
        graph = self._graph
        inputs = [self._local(x.name) for x in graph.inputs]
        has_variables = bool(graph.variables or graph.buffers)
        lines = [f"def {name}({', '.join((['variables'] if has_variables else []) + inputs)}):"]
        lines += [f"    {documented(self._summary())}"]
        lines += self._assignments()
        outputs = self.text(graph.outputs)
        if graph.updates:
            outputs = f"{outputs}, {self.text(graph.updates)}"
        lines.append(f"    return {outputs}")
        helpers = self._plain.with_dependencies(list(self._helpers))
        constants = self._constants()
        body = "\n\n\n".join([*[text.rstrip() for text in helpers], "\n".join(lines)])
        whole = "\n".join([*constants, body])
        imports = [line for key, line in self._dialect.imports.items() if _mentions(whole, key)]
        if _mentions(whole, "np") and "import numpy as np" not in imports:
            imports.append("import numpy as np")
        standard = [
            f"import {key}"
            for key in ("base64", "itertools", "math", "zlib")
            if _mentions(whole, key)
        ]
        top = f'"""Written by trellis.trace for {self._framework}; it needs no Trellis."""'
        parts = [top, ""]
        parts += [*standard, ""] if standard else []
        parts += [*sorted(imports), ""]
        parts += ["", *constants, ""] if constants else [""]
        return "\n".join([*parts, body, ""])

    # The function itself --------------------------------------------------------------------------

    def _assignments(self) -> list[str]:
        lines: list[str] = []
        where = ""
        for node in self._graph.nodes:
            place = f"{node.where}: {node.source}" if node.where else node.source
            if place != where:
                lines += ([""] if lines else []) + [f"    # {_plain_text(place)}"]
                where = place
            lines.append(f"    {self._local(node.result.name)} = {self._expression(node)}")
        return lines

    def _expression(self, node: Node) -> str:
        key = key_of(node)
        if key == "getitem":
            return self._item(node)
        bound = self._bound(node, key)
        if key == "astype":
            return self._cast(self.text(bound["x"]), str(node.result.dtype))
        op = TABLE[key]
        bound = self._same_types(node, op, bound)
        way = self._way(op)
        if way is None or way == BY_HAND:
            call = self._helper_call(node, key, bound)
        elif op.operator in SIGNS and op.operator not in _NOT_INFIX and "x2" in bound:
            return f"{self._factor(bound['x1'])} {SIGNS[op.operator]} {self._factor(bound['x2'])}"
        elif bound.get("axis") == () and "=axis" in way:
            return self._over_nothing(node, key, bound)
        else:
            call = self._filled(way, node, key, bound)
        is_counted = self._dialect.casts_counts and op.kind is COUNT
        return self._cast(call, str(node.result.dtype)) if is_counted else call

    def _way(self, op: Op) -> Way:
        if self._source is None:
            return op.way(self._framework)
        return self._source.ways.get(op.key, BY_HAND)

    def _needs_arrays(self, op: Op) -> bool:
        if self._source is None:
            return self._framework in op.arrays_only
        return op.key in self._source.arrays_only

    def _filled(self, way: str, node: Node, key: str, bound: dict[str, Any]) -> str:
        defaults = {x.name: x.default for x in signature_of(key).parameters.values()}
        given = {
            "result": _Type(str(node.result.dtype)),
            "floating": _type_of(bound.get("x")) in FLOATING,
            **bound,
        }
        if "x" in bound and "axis" in bound:
            given["axes"] = axes_of(bound["axis"], bound["x"])
        left_out = [x for x in bound if bound[x] is defaults[x] and bound[x] in (None, False)]
        return filled(way, given, frozenset(left_out), self.text)

    def _helper_call(self, node: Node, key: str, bound: dict[str, Any]) -> str:
        name = key.rpartition(".")[2]
        self._helpers[name] = None
        known = self._plain.parameters[name]
        parts: list[str] = []
        for parameter in signature_of(key).parameters.values():
            value = bound[parameter.name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                parts += [self.text(x) for x in value]
            elif key in SPECS and parameter.name == "spec":
                for field, item in zip(SPECS[key], value, strict=True):
                    parts.append(f"{field}={self.text(item)}")
            elif parameter.name not in known:
                continue  # copy=, device=, dtype=: handled already
            elif parameter.kind is parameter.KEYWORD_ONLY:
                parts.append(f"{parameter.name}={self.text(value)}")
            else:
                parts.append(self.text(value))
        if "result" in known:
            parts.append(f"result={self.dtype(str(node.result.dtype))}")
        return f"{name}({', '.join(parts)})"

    def _over_nothing(self, node: Node, key: str, bound: dict[str, Any]) -> str:
        """A reduction along no axis; torch would take that as all axes."""
        if key in ("sum", "prod", "max", "min", "mean"):
            return self.text(bound["x"])
        if key in ("all", "any"):
            return f"{self.text(bound['x'])} != 0"
        raise NotSupportedError(f"to_source() cannot write {key} along no axis.")

    def _item(self, node: Node) -> str:
        x, key = node.args
        dialect = self._dialect
        if isinstance(x, Value) and x.dtype is None:  # one of several results
            item = f"{self.text(x)}[{key}]"
            is_counted = dialect.casts_counts and node.result.dtype in INTEGER
            return self._cast(item, str(node.result.dtype)) if is_counted else item
        parts = key if isinstance(key, tuple) else (key,)
        if dialect.item_function and any([_is_index_array(part) for part in parts]):
            self._helpers[dialect.item_function] = None
            return f"{dialect.item_function}({self.text(x)}, {self.text(parts)})"
        parts = tuple([_Index(part) if _is_index_array(part) else part for part in parts])
        return f"{self._factor(x)}[{self._subscript(parts if len(parts) != 1 else parts[0])}]"

    # Types ----------------------------------------------------------------------------------------

    def _bound(self, node: Node, key: str) -> dict[str, Any]:
        bound = signature_of(key).bind(*node.args, **node.attributes)
        bound.apply_defaults()
        found = dict(bound.arguments)
        if isinstance(found.get("shape"), int):
            found["shape"] = (found["shape"],)
        return found

    def _same_types(self, node: Node, op: Op, bound: dict[str, Any]) -> dict[str, Any]:
        """Arguments cast to one data type: frameworks promote differently."""
        if op.kind.meets == "own":
            return bound
        wanted = node.result.dtype if op.kind.meets == "result" else common_dtype(bound)
        if wanted is None:
            return bound
        return {
            name: value if name in op.apart else self._typed(value, wanted, op)
            for name, value in bound.items()
        }

    def _typed(self, value: Any, dtype: str, op: Op) -> Any:
        if isinstance(value, Value):
            return value if value.dtype in (dtype, None) else _Cast(value, dtype)
        if isinstance(value, (list, tuple)) and list(values_in(value)):
            items = [self._typed(item, dtype, op) for item in value]
            return items if isinstance(value, list) else tuple(items)
        is_number = type(value) in (bool, int, float, complex)
        if is_number and self._needs_arrays(op):
            return _Number(value, dtype)
        return value

    def text(self, x: Any) -> str:
        if isinstance(x, Value):
            return self._stored.get(x.name) or self._local(x.name)
        if isinstance(x, _Type):
            return self.dtype(x.name)
        if isinstance(x, _Cast):
            return self._cast(self.text(x.value), x.dtype)
        if isinstance(x, _Number):
            return self._dialect.number.format(super().text(x.value), self.dtype(x.dtype))
        if isinstance(x, _Index):
            text = self.text(x.value)
            return self._dialect.index.format(text) if _is_integer(x.value) else text
        return super().text(x)

    def dtype(self, name: str) -> str:
        """A data type as the framework names it."""
        if name in self._dialect.types_missing:
            raise NotSupportedError(
                f"to_source({self._framework!r}) cannot write {name}: its programs do not have "
                "that data type. Cast the arrays before the trace."
            )
        return f"{self._dialect.module}.{self._dialect.bool_name if name == 'bool' else name}"

    def _cast(self, text: str, dtype: str) -> str:
        is_factor = self._dialect.cast.startswith("{0}.")
        if is_factor and re.fullmatch(r'[\w\[\]"/.]+', text) is None:
            text = f"({text})"
        return self._dialect.cast.format(text, self.dtype(dtype))

    def _factor(self, x: Any) -> str:
        text = self.text(x)
        return f"({text})" if text.startswith("-") else text

    # Names, constants and what is missing ---------------------------------------------------------

    def _local(self, name: str) -> str:
        return f"{name}_" if name in self._own else name

    def _constants(self) -> list[str]:
        lines: list[str] = []
        is_packed = False
        for name, array in self._graph.constants.items():
            array = np.asarray(array)
            dtype = array.dtype.name
            if array.size <= _SMALL and dtype != "bfloat16":
                data = re.sub(r"\b(nan|inf)\b", r'float("\1")', repr(array.tolist()))
                lines.append(
                    f"{name.upper()} = {self._dialect.array.format(data, self.dtype(dtype))}"
                )
                continue
            is_packed = True
            wide = array.astype(np.float32) if dtype == "bfloat16" else array
            text = base64.b85encode(zlib.compress(np.ascontiguousarray(wide).tobytes(), 9))
            data = f"_unpacked({text.decode()!r}, {wide.shape}, {wide.dtype.name!r})"
            made = self._dialect.packed.format(data)
            made = made if dtype != "bfloat16" else self._cast(made, dtype)
            lines.append(f"{name.upper()} = {made}")
        if is_packed:
            lines = [*_UNPACKED, "", "", *lines, ""]
        return [*lines, ""] if lines else []

    def _check_spelled(self) -> None:
        missing: dict[str, str] = {}
        check_traced(self._graph)
        for value in (*self._graph.inputs, *[node.result for node in self._graph.nodes]):
            if value.dtype is not None:
                self.dtype(value.dtype)  # raises for one that programs do not have
        for node in self._graph.nodes:
            key = key_of(node)
            if key in ("getitem", "astype"):
                continue
            op = TABLE.get(key)
            way = None if op is None else self._way(op)
            is_helper = way == BY_HAND and key.rpartition(".")[2] in self._plain.functions
            if key == "max_pool" and node.attributes.get("indices"):
                missing.setdefault("max_pool with positions", node.where)
            elif op and op.kind is PRODUCT and node.result.dtype in self._dialect.no_products:
                missing.setdefault(f"{key} of {node.result.dtype}", node.where)
            elif not is_helper and way in (None, BY_HAND):
                missing.setdefault(key, node.where)
        if missing:
            listed = ", ".join([f"{k} ({w})" if w else k for k, w in missing.items()])
            raise NotSupportedError(
                f"to_source({self._framework!r}) has no equivalent for: {listed}. Write them with "
                "other functions, or write these lines by hand and trace the rest."
            )

    def _summary(self) -> str:
        graph = self._graph
        shapes = [f"{self._local(x.name)}: {x.dtype}{list(x.shape or ())}" for x in graph.inputs]
        text = f"{', '.join(shapes)}." if shapes else "Takes no arrays."
        if graph.variables or graph.buffers:
            text += " `variables` are arrays by name, as in the file that `save_weights` writes."
        if graph.updates:
            text += "\n\n    Gives the outputs, and the new values of variables by name.\n    "
        return text


@dataclass(frozen=True, slots=True)
class _Type:
    """A data type, by its canonical name."""

    name: str


@dataclass(frozen=True, slots=True)
class _Cast:
    """A value in another data type."""

    value: Value
    dtype: str


@dataclass(frozen=True, slots=True)
class _Number:
    """A number where the framework needs an array."""

    value: Scalar
    dtype: str


@dataclass(frozen=True, slots=True)
class _Index:
    """An array of indices between brackets."""

    value: Value | list[Any]


_UNPACKED = [
    "def _unpacked(text, shape, dtype):",
    "    data = zlib.decompress(base64.b85decode(text))",
    "    return np.frombuffer(data, dtype).reshape(shape).copy()",
]


def _type_of(x: Any) -> str | None:
    return x.dtype if isinstance(x, (Value, _Cast, _Number)) else None


def _is_index_array(part: Any) -> bool:
    return isinstance(part, Value) or isinstance(part, list)


def _is_integer(part: Any) -> bool:
    return isinstance(part, Value) and part.dtype in INTEGER and part.dtype != "int64"


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"']){name}\.", text) is not None


def _plain_text(text: str) -> str:
    return "".join([c if c.isprintable() else " " for c in text])[:96]
