"""A graph as plain code of one framework, without Trellis: a file that one can read and own."""

import base64
import keyword
import re
import zlib
from typing import Any

import numpy as np

from .._core.dispatch import BACKENDS
from .._core.dtypes import INTEGER
from .._core.errors import ArgumentError, NotSupportedError
from .calls import SPECS, axes_of, check_traced, common_dtype, key_of, signature_of
from .graph import Graph, Node, Value, values_in
from .plain import functions_of
from .printer import Printer, quoted
from .spelling import IMPORTS, LINES, NO_PRODUCTS, PRODUCTS
from .types_of_calls import (
    COMPARED,
    COUNTS,
    EITHER,
    LIKE_RESULT,
    TENSORS,
    needs_function,
)

# Constants up to this many numbers are written out.
_SMALL = 64
_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@", "less": "<",
    "less_equal": "<=", "greater": ">", "greater_equal": ">=", "bitwise_and": "&",
    "bitwise_or": "|", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_HOLE = re.compile(r"\{(\*?)(\w+)(\??)(\w*)\}")


def eject(graph: Graph, framework: str, name: str = "forward") -> str:
    """The text of a Python file with the function `name`, which computes what the graph does."""
    if framework not in BACKENDS:
        raise ArgumentError(
            f"to_source() writes {', '.join(BACKENDS)}; got {framework!r} for the framework."
        )
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ArgumentError(f"{name!r} cannot be the name of a function.")
    return Ejector(graph, framework).file(name)


class Ejector(Printer):
    """Writes one graph for one framework."""

    def __init__(self, graph: Graph, framework: str):
        super().__init__(graph)
        self._graph, self._framework = graph, framework
        self._lines = LINES[framework]
        self._plain = functions_of(framework)
        self._helpers: dict[str, None] = {}  # in the order of their use
        # Each value has the name of its call, and a helper has it too.
        self._own = {
            *self._plain.functions, *IMPORTS[framework], "variables", "_unpacked", "np", "base64",
            "zlib", "itertools", "math",
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
        lines += [f'    """{self._summary()}"""']
        lines += self._assignments()
        outputs = self.text(graph.outputs)
        if graph.updates:
            outputs = f"{outputs}, {self.text(graph.updates)}"
        lines.append(f"    return {outputs}")
        helpers = self._plain.with_dependencies(list(self._helpers))
        constants = self._constants()
        body = "\n\n\n".join([*[text.rstrip() for text in helpers], "\n".join(lines)])
        whole = "\n".join([*constants, body])
        imports = [line for key, line in IMPORTS[self._framework].items() if _mentions(whole, key)]
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
        bound = self._same_types(node, key, bound)
        if key in _INFIX and key in LIKE_RESULT | COMPARED and self._has_infix(key):
            return f"{self._factor(bound['x1'])} {_INFIX[key]} {self._factor(bound['x2'])}"
        line = self._lines[key]
        if line is None or needs_function(self._framework, key, bound):
            call = self._helper_call(node, key, bound)
            return self._counted(node, key, call)
        if bound.get("axis") == () and "axis?" in line:
            return self._over_nothing(node, key, bound)
        call = _HOLE.sub(lambda hole: self._filled(hole, node, key, bound), line)
        return self._counted(node, key, call)

    def _counted(self, node: Node, key: str, call: str) -> str:
        is_counted = self._framework == "tensorflow" and key in COUNTS
        return self._cast(call, str(node.result.dtype)) if is_counted else call

    def _has_infix(self, key: str) -> bool:
        return self._lines[key] is not None

    def _filled(self, hole: Any, node: Node, key: str, bound: dict[str, Any]) -> str:
        spread, name, is_optional, other = hole.groups()
        if name == "result":
            return self.dtype(str(node.result.dtype))
        if name == "axes_of_axis":
            return self.text(axes_of(bound.get("axis"), bound["x"]))
        if name == "tanh_or_none":
            return '"tanh"' if bound["approximate"] else '"none"'
        if name == "is_complete":
            return repr(bound["mode"] == "complete")
        if name == "range":
            start, stop, step = bound["start"], bound["stop"], bound["step"]
            start, stop = (0, start) if stop is None else (start, stop)
            return ", ".join([self.text(x) for x in (start, stop, step)])
        value = bound[name]
        if spread:
            return ", ".join([self.text(x) for x in value])
        if not is_optional:
            return self.text(value)
        default = signature_of(key).parameters[name].default
        if type(value) is type(default) and value == default:
            return ""
        return f", {other or name}={self.text(value)}"

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
                continue  # copy=, device=, dtype=: what has been seen to already
            elif parameter.kind is parameter.KEYWORD_ONLY:
                parts.append(f"{parameter.name}={self.text(value)}")
            else:
                parts.append(self.text(value))
        if "result" in known:
            parts.append(f"result={self.dtype(str(node.result.dtype))}")
        return f"{name}({', '.join(parts)})"

    def _over_nothing(self, node: Node, key: str, bound: dict[str, Any]) -> str:
        """A reduction along no axis at all; torch would take it for all of them."""
        if key in ("sum", "prod", "max", "min", "mean"):
            return self.text(bound["x"])
        if key in ("all", "any"):
            return f"{self.text(bound['x'])} != 0"
        raise NotSupportedError(f"to_source() cannot write {key} along no axis.")

    def _item(self, node: Node) -> str:
        x, key = node.args
        if isinstance(x, Value) and x.dtype is None:  # one of several results
            item = f"{self.text(x)}[{key}]"
            is_counted = self._framework == "tensorflow" and node.result.dtype in INTEGER
            return self._cast(item, str(node.result.dtype)) if is_counted else item
        parts = key if isinstance(key, tuple) else (key,)
        if self._framework == "tensorflow" and any([_is_index_array(part) for part in parts]):
            self._helpers["getitem"] = None
            return f"getitem({self.text(x)}, {self.text(parts)})"
        if self._framework == "torch":
            parts = tuple([_Long(part) if _is_index_array(part) else part for part in parts])
        return f"{self._factor(x)}[{self._subscript(parts if len(parts) != 1 else parts[0])}]"

    # Types ----------------------------------------------------------------------------------------

    def _bound(self, node: Node, key: str) -> dict[str, Any]:
        bound = signature_of(key).bind(*node.args, **node.attributes)
        bound.apply_defaults()
        found = dict(bound.arguments)
        if isinstance(found.get("shape"), int):
            found["shape"] = (found["shape"],)
        return found

    def _same_types(self, node: Node, key: str, bound: dict[str, Any]) -> dict[str, Any]:
        """Arguments of one data type: frameworks differ in how they mix them."""
        if key in LIKE_RESULT:
            wanted = node.result.dtype
        elif key in COMPARED:
            wanted = common_dtype(bound)
        else:
            return bound
        if wanted is None:
            return bound
        kept = EITHER.get(key, ())
        return {
            name: value if name in kept else self._typed(value, wanted, key)
            for name, value in bound.items()
        }

    def _typed(self, value: Any, dtype: str, key: str) -> Any:
        if isinstance(value, Value):
            return value if value.dtype in (dtype, None) else _Cast(value, dtype)
        if isinstance(value, (list, tuple)) and list(values_in(value)):
            items = [self._typed(item, dtype, key) for item in value]
            return items if isinstance(value, list) else tuple(items)
        is_number = type(value) in (bool, int, float, complex)
        if is_number and key in TENSORS[self._framework]:
            return _Number(value, dtype)
        return value

    def text(self, x: Any) -> str:
        if isinstance(x, Value):
            return self._stored.get(x.name) or self._local(x.name)
        if isinstance(x, _Cast):
            return self._cast(self.text(x.value), x.dtype)
        if isinstance(x, _Number):
            return self._number(super().text(x.value), x.dtype)
        if isinstance(x, _Long):
            return f"{self.text(x.value)}.long()" if _is_integer(x.value) else self.text(x.value)
        return super().text(x)

    def dtype(self, name: str) -> str:
        """A data type as the framework names it."""
        module = {"numpy": "np", "jax": "jnp", "torch": "torch", "tensorflow": "tf"}
        if self._framework == "numpy" and name == "bfloat16":
            raise NotSupportedError("to_source('numpy') cannot write bfloat16, which NumPy lacks.")
        if name == "bool":
            return {"numpy": "np.bool_", "jax": "jnp.bool_"}.get(
                self._framework, f"{module[self._framework]}.bool"
            )
        return f"{module[self._framework]}.{name}"

    def _cast(self, text: str, dtype: str) -> str:
        name = self.dtype(dtype)
        if self._framework == "tensorflow":
            return f"tf.cast({text}, {name})"
        text = text if re.fullmatch(r'[\w\[\]"/.]+', text) else f"({text})"
        return f"{text}.to({name})" if self._framework == "torch" else f"{text}.astype({name})"

    def _number(self, text: str, dtype: str) -> str:
        call = {"torch": "torch.tensor({}, dtype={})", "tensorflow": "tf.constant({}, {})"}
        form = call.get(self._framework)
        return text if form is None else form.format(text, self.dtype(dtype))

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
                lines.append(f"{name.upper()} = {self._array(data, dtype)}")
                continue
            is_packed = True
            wide = array.astype(np.float32) if dtype == "bfloat16" else array
            text = base64.b85encode(zlib.compress(np.ascontiguousarray(wide).tobytes(), 9))
            data = f"_unpacked({text.decode()!r}, {wide.shape}, {wide.dtype.name!r})"
            made = {"numpy": data, "torch": f"torch.from_numpy({data})"}.get(
                self._framework, self._array(data, wide.dtype.name)
            )
            made = made if dtype != "bfloat16" else self._cast(made, dtype)
            lines.append(f"{name.upper()} = {made}")
        if is_packed:
            lines = [*_UNPACKED, "", "", *lines, ""]
        return [*lines, ""] if lines else []

    def _array(self, data: str, dtype: str) -> str:
        form = {
            "numpy": "np.array({}, dtype={})",
            "jax": "jnp.array({}, dtype={})",
            "torch": "torch.tensor({}, dtype={})",
            "tensorflow": "tf.constant({}, dtype={})",
        }
        return form[self._framework].format(data, self.dtype(dtype))

    def _check_spelled(self) -> None:
        missing: dict[str, str] = {}
        check_traced(self._graph)
        for node in self._graph.nodes:
            key = key_of(node)
            if key in ("getitem", "astype"):
                continue
            line = self._lines.get(key, "")
            is_helper = line is None and key.rpartition(".")[2] in self._plain.functions
            if key == "max_pool" and node.attributes.get("indices"):
                missing.setdefault("max_pool with positions", node.where)
            elif key in PRODUCTS and node.result.dtype in NO_PRODUCTS[self._framework]:
                missing.setdefault(f"{key} of {node.result.dtype}", node.where)
            elif not line and not is_helper:
                missing.setdefault(key, node.where)
        if missing:
            listed = ", ".join([f"{k} ({w})" if w else k for k, w in missing.items()])
            raise NotSupportedError(
                f"to_source({self._framework!r}) has no spelling for: {listed}. Write them with "
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


class _Cast:
    """A value in another data type."""

    def __init__(self, value: Value, dtype: str):
        self.value, self.dtype = value, dtype


class _Number:
    """A number where the framework wants an array."""

    def __init__(self, value: Any, dtype: str):
        self.value, self.dtype = value, dtype


class _Long:
    """Indices, which torch wants in 64 bits."""

    def __init__(self, value: Any):
        self.value = value


_UNPACKED = [
    "def _unpacked(text, shape, dtype):",
    "    data = zlib.decompress(base64.b85decode(text))",
    "    return np.frombuffer(data, dtype).reshape(shape).copy()",
]


def _is_index_array(part: Any) -> bool:
    return isinstance(part, Value) or isinstance(part, list)


def _is_integer(part: Any) -> bool:
    return isinstance(part, Value) and part.dtype in INTEGER and part.dtype != "int64"


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"']){name}\.", text) is not None


def _plain_text(text: str) -> str:
    return "".join([c if c.isprintable() else " " for c in text])[:96]
