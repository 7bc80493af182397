"""What in the JSON of an archive of torch.export could run code while torch loads or runs it.

torch evaluates symbolic sizes as Python, writes the names of nodes into source code, looks targets
up as attributes and imports modules for trees of arguments. Each of them has a closed grammar here,
and what does not fit is returned as a reason.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..._core.printable import printable

# Strings under these keys are never evaluated: torch prints them with repr, or keeps them as text.
_FREE_TEXT = {
    "as_string", "as_strings", "torch_version", "stack_trace", "nn_module_stack", "source_fn_stack",
    "torch_fn", "custom", "from_node",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS = re.compile(r"[\w.\-:/<>+ ]*", re.ASCII)  # no quotes, brackets, commas or newlines

_NUMBERS = {"Integer", "Float", "Rational"}
_POWERS = {"Pow", "PowByNatural", "FloatPow"}
_FUNCTIONS = {
    "Abs", "Add", "And", "CeilDiv", "CeilToInt", "CleanDiv", "Eq", "Equality", "FloatTrueDiv",
    "FloorDiv", "FloorToInt", "Ge", "GreaterThan", "Gt", "Identity", "IntTrueDiv", "Le", "LessThan",
    "Lt", "Max", "Min", "Mod", "ModularIndexing", "Mul", "Ne", "Not", "Or", "PythonMod",
    "RoundDecimal", "RoundToInt", "StrictGreaterThan", "StrictLessThan", "Symbol", "ToFloat",
    "TruncToFloat", "TruncToInt", "Unequality", "Where", "ceiling", "floor", *_NUMBERS, *_POWERS,
}  # fmt: skip
_SYMBOL = re.compile(r"[a-z]+\d+|_?\w*[A-Za-z]\w*", re.ASCII)
_CONSTANTS = {"oo", "int_oo", "true", "false", "nan"}
_PARTS = (
    ast.Expression, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp,
    ast.Compare, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub,
    ast.UAdd, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
)  # fmt: skip
_LONGEST = 4096  # characters of one symbolic size
_FACTORIES = {"list", "dict", "set", "tuple", "int", "float", "str", "bool"}


def reason_in_program(program: object, is_known: Callable[[str], bool]) -> str | None:
    """Why the JSON of a program is not harmless; `is_known` tells which calls are."""
    for key, text in _strings(program, ""):
        if key in _FREE_TEXT:
            continue
        if key == "expr_str":
            if not is_plain_expression(text):
                return f"it has the symbolic size {printable(text)!r}"
        elif key in ("target", "as_operator"):
            if not is_known(text):
                return f"it calls {printable(text)!r}"
        elif key in ("in_spec", "out_spec"):
            if not _is_plain_tree(text):
                return f"its arguments have the structure {printable(text)!r}"
        elif key in ("name", "as_name", "forward_arg_names"):
            if text and not _NAME.fullmatch(text):
                return f"it has the name {printable(text)!r}"
        elif not _WORDS.fullmatch(text):
            return f"it has the name {printable(text)!r}"
    return None


def reason_in_payloads(config: object) -> str | None:
    """Why the list of weights or constants is not harmless: some of them are pickled objects."""
    entries = config.get("config") if isinstance(config, dict) else None
    if not isinstance(entries, dict):
        return "its list of arrays is not one"
    for name, entry in entries.items():
        path = entry.get("path_name") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not re.fullmatch(r"(weight|tensor)_\d+", path, re.ASCII):
            return f"{printable(name)!r} in it is an object of torch's own format"
        if entry.get("use_pickle", False) is not False:
            return f"{printable(name)!r} in it is pickled"
    texts = [text for _, text in _strings(config, "")]
    bad = [text for text in texts if not _WORDS.fullmatch(text)]
    return f"it has the name {printable(bad[0])!r}" if bad else None


def is_plain_expression(text: str) -> bool:
    """Whether a symbolic size is arithmetic of numbers and symbols.

    >>> is_plain_expression("Add(Symbol('s0', positive=True, integer=True), Integer(1))")
    True
    >>> is_plain_expression("open('file')")
    False
    """
    if len(text) > _LONGEST or not text.isascii() or not text.isprintable() or "__" in text:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    called, quoted = set(), set()
    for node in ast.walk(tree):
        if not isinstance(node, _PARTS):
            return False
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
                return False
            if any([not _is_flag(each) for each in node.keywords]):
                return False
            called.add(id(node.func))
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                pattern = _SYMBOL if node.func.id == "Symbol" else re.compile(r"-?[\d.e+-]{1,40}")
                if node.func.id not in ("Symbol", "Float") or not pattern.fullmatch(first.value):
                    return False
                quoted.add(id(first))
            if node.func.id in _POWERS and not _is_small_power(node.args):
                return False
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            if not _is_small_power([node.left, node.right]):
                return False
        elif isinstance(node, ast.Constant) and id(node) not in quoted:
            if not isinstance(node.value, (int, float)):
                return False
        elif isinstance(node, ast.Name) and id(node) not in called:
            if node.id not in _CONSTANTS and not re.fullmatch(r"[a-z]+\d+", node.id):
                return False
    return True


def _is_flag(keyword: ast.keyword) -> bool:
    """`positive=True` of a symbol, `precision=53` of a number, `evaluate=False` of a sum."""
    return keyword.arg is not None and isinstance(keyword.value, ast.Constant)


def _is_small_power(args: list[ast.expr]) -> bool:
    """Whether a power stays small: 10 ** 10 ** 10 would never end."""
    if len(args) != 2:
        return False
    inside = [*ast.walk(args[0]), *ast.walk(args[1])]
    if any([isinstance(x, ast.Pow) or getattr(x, "id", None) in _POWERS for x in inside]):
        return False
    numbers = [x.value for x in ast.walk(args[1]) if isinstance(x, ast.Constant)]
    return len(numbers) <= 2 and all(
        [isinstance(x, (int, float)) and abs(x) <= 64 for x in numbers]
    )


def _is_plain_tree(text: str) -> bool:
    """Whether a tree of arguments names no module that torch would import for it."""
    try:
        spec = json.loads(text)
        for key, value in _items(spec):
            if key in ("__enum__", "default_factory_name", "default_factory_module"):
                allowed = _FACTORIES if key == "default_factory_name" else {"builtins"}
                if not isinstance(value, str) or value not in allowed:
                    return False
            elif key == "context" and isinstance(value, str):
                if any([inner == "__enum__" for inner, _ in _items(_decoded(value))]):
                    return False
    except (ValueError, RecursionError):
        return False
    return True


def _decoded(text: str) -> object:
    """The context of a tree, where it is JSON; else it is the name of a named tuple."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _items(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, item
            yield from _items(item)
    elif isinstance(value, list):
        for item in value:
            yield from _items(item)


def _strings(value: object, key: str) -> Iterator[tuple[str, str]]:
    """Each string with the key that it stands under; the keys themselves under ''."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, key)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield "", name
            yield from _strings(item, name)
