"""All mutants of some files, one JSON object a line: `python tools/mutants/listing.py FILE ...`

A mutant is a small change of the source, made by the operators of mutmut, which must be installed
(`.venv-mutants`). What cannot matter to a test is left out here, by `RULES` and nowhere else.
"""

import json
import sys
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

# Kinds of source that get no mutants, and why.
RULES = {
    "annotation": "types are mypy's business",
    "docstring": "examples in it are run; its prose changes nothing",
    "wording": "text of an error: whatever is raised, and strings that are prose",
    "type checking": "`if TYPE_CHECKING`, overloads, TypeVars and type aliases do nothing in a run",
    "exports": "`__all__` and `__slots__`: linters and the contract tests compare them",
    "repr": "what `__repr__` and `__str__` show is wording",
    "sure death": "arguments of len() and isinstance(): a mutant dies at once and proves nothing",
    "strict": "zip(strict=True) guards against our own mistakes",
    "case": "a string in another case: the mutant with other letters says the same",
}


def main() -> None:
    for name in sys.argv[1:]:
        for mutant in mutants_of(Path(name)):
            print(json.dumps(mutant))


def mutants_of(path: Path):
    """Where each change is: the characters from `start` to `end` become `text`."""
    source = path.read_text()
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    module = wrapper.module
    lines = wrapper.resolve(PositionProvider)
    rendered = [module.code_for_node(statement) for statement in module.body]
    begin = source.index(rendered[0]) if rendered else 0
    seen = set()
    for statement, text in zip(module.body, rendered, strict=True):
        finder = _Finder(lines)
        statement.visit(finder)
        for node, mutated, function, deferred, span in finder.found:
            new = module.code_for_node(statement.visit(_Replace(node, mutated)))
            head = _common(text, new)
            tail = _common(text[head:][::-1], new[head:][::-1])
            start, end = begin + head, begin + len(text) - tail
            change = start, end, new[head : len(new) - tail]
            if new == text or change in seen or not _compiles(source, change):
                continue
            seen.add(change)
            yield {
                "file": str(path),
                "function": function,
                "deferred": deferred,
                "lines": span,
                "start": start,
                "end": end,
                "text": change[2],
            }
        begin += len(text)


def _common(a: str, b: str) -> int:
    """How many characters two texts have in common at their beginning."""
    n = 0
    for x, y in zip(a, b):
        if x != y:
            break
        n += 1
    return n


def _compiles(source: str, change: tuple[int, int, str]) -> bool:
    start, end, text = change
    try:
        compile(source[:start] + text + source[end:], "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class _Finder(cst.CSTVisitor):
    """Nodes below a statement, with what each may become and the function it is in."""

    def __init__(self, lines):
        self.lines = lines
        self.found = []
        self._names = []  # of classes and functions around
        self._outer = None  # the outermost function around
        self._deferred = 0  # whether in its body: what runs only when it is called
        self._spans = []

    def on_visit(self, node):
        if _is_left_out(node):
            return False
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
            self._names.append(node.name.value)
            if isinstance(node, cst.FunctionDef) and self._outer is None:
                self._outer = node, ".".join(self._names)
        if self._outer is not None and node is self._outer[0].body:
            self._deferred += 1
        is_statement = isinstance(node, (cst.BaseSmallStatement, cst.Decorator, cst.Parameters))
        if is_statement or _is_header(node, self._spans):
            self._spans.append((node, self._span(node)))
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                changed = operator(node)
                if operator is operator_string:
                    changed = list(changed)[:1]  # rule "case"
                for mutated in changed:
                    if not _is_nothing_lost(node, mutated):
                        span = self._spans[-1][1] if self._spans else self._span(node)
                        function = self._outer[1] if self._outer else ".".join(self._names)
                        self.found.append((node, mutated, function, bool(self._deferred), span))
        return True

    def on_leave(self, original_node):
        node = original_node
        if self._spans and self._spans[-1][0] is node:
            self._spans.pop()
        if self._outer is not None and node is self._outer[0].body:
            self._deferred -= 1
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)) and not _is_left_out(node):
            self._names.pop()
            if self._outer is not None and self._outer[0] is node:
                self._outer = None

    def _span(self, node):
        found = self.lines.get(node)
        return [found.start.line, found.end.line] if found else [0, 0]


def _is_header(node, spans) -> bool:
    """An expression that stands in no small statement: a condition, what a loop goes over."""
    return isinstance(node, cst.BaseExpression) and not spans


def _is_left_out(node) -> bool:
    """One of `RULES`."""
    match node:
        case cst.Annotation() | cst.Raise():
            return True
        case cst.Arg(keyword=cst.Name(value="strict")):
            return True
        case cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString()):
            return True
        case cst.SimpleString() | cst.FormattedString() | cst.ConcatenatedString():
            return " " in _text(node)
        case cst.If(test=cst.Name(value="TYPE_CHECKING")):
            return True
        case cst.FunctionDef(name=cst.Name(value="__repr__" | "__str__")):
            return True
        case cst.FunctionDef():
            return any(_text(each.decorator) == "overload" for each in node.decorators)
        case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name(value="TypeAlias"))):
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return name in ("__all__", "__slots__")
        case cst.Call(func=cst.Name(value=name)):
            return name in ("len", "isinstance", "TypeVar", "cast") or name.endswith("Error")
    return False


def _is_nothing_lost(node, mutated) -> bool:
    """Whether all that a call lost is an argument that is prose, or `strict`."""
    if not (isinstance(node, cst.Call) and isinstance(mutated, cst.Call)):
        return False
    kept = {id(arg) for arg in mutated.args}
    lost = [arg for arg in node.args if id(arg) not in kept]
    return any(
        (arg.keyword is not None and arg.keyword.value == "strict")
        or (isinstance(arg.value, _STRINGS) and _is_left_out(arg.value))
        for arg in lost
    )


_STRINGS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)


def _text(node) -> str:
    return cst.Module([]).code_for_node(node)


class _Replace(cst.CSTTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def on_visit(self, node):
        return node is not self.old

    def on_leave(self, original_node, updated_node):
        return self.new if original_node is self.old else updated_node


if __name__ == "__main__":
    main()
