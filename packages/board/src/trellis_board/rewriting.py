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
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Any

import pytest

from . import __version__

__all__ = ["add_counts", "install", "is_helper", "is_possible"]

_NAME = "@board_asserted"
_FOLDERS = frozenset({"test", "tests", "testing", "_testing", "_tests", "test_utils", "testsuite"})
_FILES = re.compile(r"(^|_)(test|tests|testing|testutils?|conftest|assertions?|asserts)(_|$)")


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
    tail = f".board-{__version__}{rewrite.PYC_TAIL}"
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
            add_counts(module)
        rewrite_asserts(module, source, path, *rest)

    return rewrite_and_count


# pytest rewrites all modules of a distribution that brings a plugin: those are no tests.
_not_counted: set[str] = set()


def _widen(hook: Any, root: Path, patterns: Sequence[str]) -> None:
    """Let pytest's import hook also take the helper modules below `root`."""
    bails_out, should_rewrite = hook._early_rewrite_bailout, hook._should_rewrite
    of_project: dict[str, bool] = {}
    of_plugins = tuple(hook._must_rewrite)

    def bails_out_early(name: str, state: Any) -> bool:
        if not bails_out(name, state):
            return False
        # A package is looked up once; thousands of modules of other packages stay cheap.
        package = name.partition(".")[0]
        if package not in of_project:
            of_project[package] = _is_below(package, root)
        return not of_project[package]

    def should_rewrite_too(name: str, path: str, state: Any) -> bool:
        if is_helper(PurePath(path), root, patterns):
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


def add_counts(module: ast.Module) -> None:
    """Put a call that counts behind each assert of `module` and before each guard.

    >>> module = ast.parse("assert x\\nif y: raise AssertionError\\nprint(z)")
    >>> add_counts(module)
    >>> [type(statement).__name__ for statement in module.body]
    ['ImportFrom', 'Assert', 'Expr', 'Expr', 'If', 'Expr']
    """
    if not _add_to_blocks(module):
        return
    place = 0
    for statement in module.body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_future or (is_text and place == 0)):
            break
        place += 1
    names = [ast.alias("asserted", _NAME)]
    found = ast.ImportFrom("trellis_board.comparisons", names, level=0)
    module.body.insert(place, _at(found, module.body[min(place, len(module.body) - 1)]))


def _add_to_blocks(module: ast.Module) -> bool:
    """Add the calls to all lists of statements; tells whether there was anything to count."""
    found = False
    queue: list[ast.AST] = [module]
    while queue:
        node = queue.pop()
        for name, block in ast.iter_fields(node):
            if not isinstance(block, list):
                continue
            if block and isinstance(block[0], ast.stmt):
                counted = _with_counts(block)
                found = found or len(counted) > len(block)
                setattr(node, name, counted)
            # Only statements, handlers and cases have blocks; an expression has none.
            queue.extend(
                x for x in block if isinstance(x, (ast.stmt, ast.excepthandler, ast.match_case))
            )
    return found


def _with_counts(block: list[ast.stmt]) -> list[ast.stmt]:
    counted: list[ast.stmt] = []
    for statement in block:
        if _is_guard(statement):
            # Before it: where the guard's branch returns or raises, nothing comes after.
            counted.append(_call(statement))
        counted.append(statement)
        if isinstance(statement, ast.Assert) and not _fails(statement):
            counted.append(_call(statement))
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
        return is_filter and isinstance(first, ast.Constant) and first.value == "error"
    if not isinstance(
        statement, (ast.If, ast.Try, ast.TryStar, ast.For, ast.AsyncFor, ast.While, ast.Match)
    ):
        return False
    blocks: list[list[ast.stmt]] = []
    for part in [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
        blocks += [getattr(part, name, []) for name in ("body", "orelse", "finalbody")]
    return any(_fails(inner) for block in blocks for inner in block)


def _fails(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise) and statement.exc is not None:
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return _last_name(raised) in ("AssertionError", "failureException")
    if isinstance(statement, ast.Assert):  # assert False, "..."
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    return isinstance(statement, ast.Expr) and _is_call_of_fail(statement.value)


def _is_call_of_fail(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _last_name(value.func) == "fail"


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _call(near: ast.stmt) -> ast.Expr:
    return _at(ast.Expr(ast.Call(ast.Name(_NAME, ast.Load()), [], [])), near)


def _at(node: Any, near: ast.stmt) -> Any:
    for part in ast.walk(node):
        ast.copy_location(part, near)
    return node
