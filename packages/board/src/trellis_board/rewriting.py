"""Letting each passed `assert` be counted, also in the helper modules of a project.

pytest rewrites the asserts of test modules when they are imported. While a board is recorded, a
call that counts is put behind every one of them, and before every *guard*: a statement that fails
the test by hand, such as ``if x != y: pytest.fail("...")`` or ``raise AssertionError``. pytest's
own `pytest_assertion_pass` would format the operands of each assert as text, which costs many times
more than the count.

The asserts of a library are not those of its tests, so only some modules are rewritten: see
`is_helper`.
"""

from __future__ import annotations

import ast
import importlib.machinery
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Any

import pytest

from . import __version__
from .callers import DATA, EACH, ITSELF, MARK
from .vain import compares_itself, goes_through, is_always_true

__all__ = ["add_counts", "install", "is_helper", "is_possible"]

# Goes up when something else is added to modules: older ones in caches are then not used.
_FORM = 5
_FOLDERS = frozenset({"test", "tests", "testing", "_testing", "_tests", "test_utils", "testsuite"})
_FILES = re.compile(r"(^|_)(test|tests|testing|testutils?|conftest|assertions?|asserts)(_|$)")


_CHECKS = re.compile(r"assert|check|compare|verif|expect|ensure|validat|equal|close", re.IGNORECASE)
# In a `with` it is a sentinel: `with suppress(E): call(); pytest.fail()` fails unless E comes.
_WITH_BLOCKS = (
    *(ast.If, ast.Try, ast.TryStar, ast.For, ast.AsyncFor, ast.While, ast.Match),
    *(ast.With, ast.AsyncWith),
)


def is_helper(path: PurePath, root: PurePath, patterns: Sequence[str] = ()) -> bool:
    """Whether the asserts of the module at `path` are those of the tests of the project at `root`.

    True below a folder of tests, for modules named after testing, and for what `patterns` match.

    >>> here = PurePath("/project")
    >>> [is_helper(here / name, here) for name in ("tests/tools/compare.py", "src/lib/testing.py")]
    [True, True]
    >>> is_helper(here / "src/lib/core.py", here), is_helper(here / "qa.py", here, ["qa.py"])
    (False, True)
    """
    try:
        inside = path.relative_to(root)
    except ValueError:
        return False
    folders = inside.parts[:-1]
    if "site-packages" in folders or "dist-packages" in folders:
        return False
    return (
        not _FOLDERS.isdisjoint(folders)
        or _FILES.search(inside.stem.lower()) is not None
        or any(fnmatch(inside.as_posix(), pattern) for pattern in patterns)
    )


def is_possible(config: pytest.Config) -> bool:
    """Whether asserts are rewritten at all: ``--assert=plain`` turns it off."""
    return config.known_args_namespace.assertmode == "rewrite"


def install(config: pytest.Config, patterns: Sequence[str]) -> None:
    """Rewrite with counts from now on, and helper modules too. A second call changes nothing."""
    from _pytest.assertion import rewrite

    # Rewritten modules are cached in files whose name does not tell what was added to them. They
    # get a name of their own, so that no other run ever loads them.
    tail = f".board-{__version__}-{_FORM}{rewrite.PYC_TAIL}"
    if not rewrite.PYC_TAIL.startswith(".board-"):
        rewrite.PYC_TAIL = tail
        rewrite.rewrite_asserts = _counting(rewrite.rewrite_asserts)
    hook = config.stash[rewrite.assertstate_key].hook
    if hook is not None and "_should_rewrite" not in vars(hook):
        _widen(hook, config.rootpath, patterns)


def _counting(rewrite_asserts: Callable[..., None]) -> Callable[..., None]:
    def rewrite_and_count(
        module: ast.Module, source: bytes, path: str | None = None, *rest: Any
    ) -> None:
        if str(path) not in _not_counted:
            add_counts(module, is_conftest=PurePath(str(path)).name == "conftest.py")
        rewrite_asserts(module, source, path, *rest)

    return rewrite_and_count


# pytest rewrites all modules of a distribution that brings a plugin: those are no tests.
_not_counted: set[str] = set()


def _widen(hook: Any, root: Path, patterns: Sequence[str]) -> None:
    """Let pytest's import hook also take the helper modules below `root`."""
    bails_out, should_rewrite = hook._early_rewrite_bailout, hook._should_rewrite
    # A helper that is installed is named as it is imported: mylib.checks
    modules = [pattern for pattern in patterns if re.fullmatch(r"\w+(\.\w+)*", pattern)]

    def is_named(name: str) -> bool:
        return any(name == module or name.startswith(f"{module}.") for module in modules)

    of_project: dict[str, bool] = {}
    of_plugins = tuple(hook._must_rewrite)

    def bails_out_early(name: str, state: Any) -> bool:
        if is_named(name) or not bails_out(name, state):
            return False
        # A package is looked up once; thousands of modules of other packages stay cheap.
        package = name.partition(".")[0]
        if package not in of_project:
            of_project[package] = _is_below(package, root)
        return not of_project[package]

    def should_rewrite_too(name: str, path: str, state: Any) -> bool:
        if is_named(name) or is_helper(PurePath(path), root, patterns):
            return True
        is_plugin = any(name == plugin or name.startswith(f"{plugin}.") for plugin in of_plugins)
        if is_plugin:
            _not_counted.add(path)
        return bool(should_rewrite(name, path, state))

    hook._early_rewrite_bailout = bails_out_early
    hook._should_rewrite = should_rewrite_too


def _is_below(package: str, root: Path) -> bool:
    try:
        spec = importlib.machinery.PathFinder.find_spec(package)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any(root in Path(place).parents for place in places if place)


def add_counts(module: ast.Module, is_conftest: bool = False) -> None:
    """Put a call that counts behind each assert of `module` and before each guard.

    The import at its top is also the mark by which the module is known as one of tests. In a
    ``conftest.py``, functions that return something make data: their asserts are about the data.
    An assert that cannot fail is not counted, one of ``all(...)`` for each thing it looks at.

    >>> module = ast.parse("assert x\\nif y: raise AssertionError\\nprint(z)")
    >>> add_counts(module)
    >>> [type(statement).__name__ for statement in module.body]
    ['ImportFrom', 'Assert', 'Expr', 'Expr', 'If', 'Expr']
    """
    data = _makers_of_data(module) if is_conftest else []
    itself: dict[int, str] = {}
    _add_to_blocks(module, data, itself)
    place = 0
    for statement in module.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_future or (is_text and place == 0)):
            break
        place += 1
    names = [ast.alias("asserted", MARK), ast.alias("each", EACH)]
    added: list[ast.stmt] = [ast.ImportFrom("trellis_board.comparisons", names, level=0)]
    if data:
        lines = [ast.Constant(_first_line(function)) for function in data]
        name = ast.Name(DATA, ast.Store())
        added.append(ast.Assign([name], ast.Tuple([*lines], ast.Load())))
    if itself:
        keys, values = ([ast.Constant(x) for x in some] for some in (itself, itself.values()))
        name = ast.Name(ITSELF, ast.Store())
        added.append(ast.Assign([name], ast.Dict([*keys], [*values])))
    if module.body:
        near = module.body[min(place, len(module.body) - 1)]
        module.body[place:place] = [_at(statement, near) for statement in added]


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _makers_of_data(module: ast.Module) -> list[_Function]:
    """The functions that return or yield a value, and are not called after a check."""
    functions = [node for node in ast.walk(module) if isinstance(node, _Function)]
    return [f for f in functions if not _CHECKS.search(f.name) and _returns(f)]


def _returns(function: _Function) -> bool:
    return any(
        isinstance(node, (ast.Return, ast.Yield)) and node.value is not None
        for node in _own_nodes(function)
    )


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions inside of it: a fixture may return a check."""
    queue: list[ast.AST] = [function]
    while queue:
        node = queue.pop()
        yield node
        is_own = not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if node is function or is_own:
            queue.extend(ast.iter_child_nodes(node))


def _first_line(function: _Function) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _add_to_blocks(module: ast.Module, left_out: Sequence[ast.AST], itself: dict[int, str]) -> None:
    """Add the calls to all lists of statements but those of the functions that are left out.

    `itself` gets the lines in which something is compared with itself, and what.
    """
    outside = {id(node) for function in left_out for node in _own_nodes(function)}
    queue: list[ast.AST] = [module]
    while queue:
        node = queue.pop()
        is_counted = id(node) not in outside
        for name, block in ast.iter_fields(node):
            if not isinstance(block, list):
                continue
            if block and isinstance(block[0], ast.stmt) and is_counted:
                is_body = name == "body" and isinstance(node, _Function)
                setattr(node, name, _with_counts(block, itself, is_body))
            # Only statements, handlers and cases have blocks; an expression has none.
            queue.extend(
                x for x in block if isinstance(x, (ast.stmt, ast.excepthandler, ast.match_case))
            )


def _with_counts(
    block: list[ast.stmt], itself: dict[int, str], is_body: bool = False
) -> list[ast.stmt]:
    counted: list[ast.stmt] = []
    for place, statement in enumerate(block):
        # At the end of a task that is to be cancelled: `await forever(); pytest.fail()`.
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        following = block[place + 1 : place + 2] if is_body and not is_text else []
        has_sentinel = any(_fails(after) for after in following)
        if _is_guard(statement) or has_sentinel:
            # Before it: where the guard's branch returns or raises, nothing comes after.
            counted.append(_call(statement))
        counted.append(statement)
        if isinstance(statement, ast.Assert) and not is_always_true(statement.test):
            if looked_at := goes_through(statement.test):
                looked_at.elt = _call(looked_at.elt, EACH, looked_at.elt).value
            elif not _fails(statement):
                counted.append(_call(statement))
        if isinstance(statement, ast.Expr) and (what := compares_itself(statement.value)):
            end = statement.end_lineno or statement.lineno
            itself.update(dict.fromkeys(range(statement.lineno, end + 1), what))
    return counted


def _is_guard(statement: ast.stmt) -> bool:
    """Whether a branch of this statement fails the test by hand."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.BoolOp, ast.IfExp)):
        value = statement.value
        parts = value.values[1:] if isinstance(value, ast.BoolOp) else [value.body, value.orelse]
        return any(_is_call_of_fail(part) for part in parts)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        # warnings.simplefilter("error"): from here on, any warning fails the test.
        call = statement.value
        is_filter = _last_name(call.func) in ("simplefilter", "filterwarnings")
        first = call.args[0] if call.args else None
        if is_filter and isinstance(first, ast.Constant) and first.value == "error":
            return True
    if isinstance(statement, (ast.With, ast.AsyncWith)) and any(
        _is_limit(item.context_expr) for item in statement.items
    ):
        return True
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and _is_limit(statement.value):
        return True  # for a task that enters it later
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)):
        return any(_waits_in_vain(part) for part in ast.walk(statement))
    if not isinstance(statement, _WITH_BLOCKS):
        return False
    blocks: list[list[ast.stmt]] = []
    for part in [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
        blocks += [getattr(part, name, []) for name in ("body", "orelse", "finalbody")]
    if any(_fails(inner) for block in blocks for inner in block):
        return True
    # `if x == y: assert True`, `else: raise ValueError`
    is_told = any(_is_true(inner) for block in blocks for inner in block)
    return is_told and any(isinstance(inner, ast.Raise) for block in blocks for inner in block)


def _is_limit(value: ast.expr | None) -> bool:
    """`fail_after(3)` of anyio and trio: what takes longer fails."""
    return isinstance(value, ast.Call) and _last_name(value.func) in ("fail_after", "fail_at")


def _waits_in_vain(node: ast.AST) -> bool:
    """`await asyncio.wait_for(thing, timeout)`, which fails when the thing does not come."""
    if not isinstance(node, ast.Await) or not isinstance(node.value, ast.Call):
        return False
    call = node.value
    has_limit = len(call.args) > 1 or any(word.arg == "timeout" for word in call.keywords)
    return _last_name(call.func) == "wait_for" and has_limit


def _fails(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise) and statement.exc is not None:
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return _last_name(raised) in ("AssertionError", "failureException")
    if isinstance(statement, ast.Assert):  # assert False, "..."
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    return isinstance(statement, ast.Expr) and _is_call_of_fail(statement.value)


def _is_true(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assert) and is_always_true(statement.test)


def _is_call_of_fail(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _last_name(value.func) == "fail"


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _call(near: ast.AST, name: str = MARK, *arguments: ast.expr) -> ast.Expr:
    call = _at(ast.Expr(ast.Call(ast.Name(name, ast.Load()), [], [])), near)
    call.value.args = [*arguments]  # they have a place already
    return call


def _at(node: Any, near: ast.AST) -> Any:
    for part in ast.walk(node):
        ast.copy_location(part, near)
    return node
