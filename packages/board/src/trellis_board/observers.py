"""Letting the usual comparison functions report to `comparisons` while a board is recorded.

The functions are wrapped where they are public, at the moment their module is first imported, so
that `from numpy.testing import assert_allclose` in a test gets the wrapped one, and so that no
framework is imported only to be watched.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import inspect
import re
import sys
import threading
import unittest
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

from . import comparisons
from .callers import TESTING

__all__ = ["install"]

_ASSERTS = re.compile(r"(xp_)?assert")

# Functions that compare and are not found by these names.
WATCHED: dict[str, tuple[str, ...]] = {
    "jax.test_util": ("check_grads", "check_jvp", "check_vjp"),
    "dask.array.utils": ("assert_eq",),
    "dask.dataframe.utils": ("assert_eq",),
    "scipy._lib._array_api": ("xp_assert_close", "xp_assert_equal", "xp_assert_less"),
}
# Classes whose methods compare.
WATCHED_METHODS: dict[str, tuple[str, str]] = {
    "unittest.mock": ("NonCallableMock", r"assert_"),
    "_pytest.pytester": ("LineMatcher", r"(no_)?(fnmatch|re_match)_line"),
}
# Modules with a list `listeners` of functions to be called with the operands of each comparison.
ANNOUNCING = ("trellis.testing",)
_DYNAMO = "torch._dynamo"


def install() -> None:
    """Wrap what is loaded already and wait for the rest. A second call changes nothing."""
    if any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        return
    for name, module in list(sys.modules.items()):
        if _is_watched(name) and module is not None:
            _observe(module)
    sys.meta_path.insert(0, _AfterImport())
    # The classes of these context managers have no public names.
    _wrap_exit("raises", type(pytest.raises(ZeroDivisionError)))
    _wrap_exit("warns", type(pytest.warns(ResourceWarning)))
    if hasattr(pytest, "RaisesGroup"):
        _wrap_exit("RaisesGroup", pytest.RaisesGroup)
    case = unittest.TestCase()
    _wrap_exit("assertRaises", type(case.assertRaises(ValueError)))  # noqa: PT027
    _wrap_exit("assertWarns", type(case.assertWarns(UserWarning)))
    _wrap_exit("assertLogs", type(case.assertLogs()))
    _wrap_methods(unittest.TestCase, "assert")


def watch_test_case(cls: type) -> None:
    """Let the assert methods that a test case and its bases have added be noted too."""
    for base in cls.__mro__:
        if issubclass(base, unittest.TestCase) and base is not unittest.TestCase:
            _wrap_methods(base, "assert")


def _is_watched(name: str) -> bool:
    if name in WATCHED or name in WATCHED_METHODS or name in ANNOUNCING:
        return True
    if name in ("doctest", _DYNAMO):
        return True
    return name.rpartition(".")[2] in TESTING


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds nothing itself; wraps the functions of a watched module once it has been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # The finders below may ask this one again, where somebody has wrapped it.
        if getattr(_searching, "name", None) == fullname or not _is_watched(fullname):
            return None
        _searching.name = fullname
        try:
            for finder in sys.meta_path:
                spec = None if finder is self else finder.find_spec(fullname, path, target)
                if spec is not None and spec.loader is not None:
                    _wrap_after(spec.loader)
                    return spec
        finally:
            _searching.name = None
        return None


_searching = threading.local()


def _wrap_after(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        _observe(module)

    loader.exec_module = exec_module


def _observe(module: ModuleType) -> None:
    name = module.__name__
    if name in ANNOUNCING:
        module.listeners.append(comparisons.note)
        return
    if name == _DYNAMO:
        _leave_out_of_graphs(module)
        return
    if name == "doctest":
        _wrap_doctest(module)
    if name in WATCHED_METHODS:
        cls, pattern = WATCHED_METHODS[name]
        _wrap_methods(getattr(module, cls), pattern)
    wanted = set(WATCHED.get(name, ()))
    if name.rpartition(".")[2] in TESTING:
        wanted |= {key for key, value in vars(module).items() if _is_comparison(key, value)}
    for key in wanted:
        if hasattr(module, key):
            setattr(module, key, _noting(getattr(module, key)))


def _leave_out_of_graphs(dynamo: Any) -> None:
    """Let `torch.compile` see nothing where a comparison is counted.

    It cannot trace a look at the frames of the caller, and would compile a function anew for every
    number that a count has. What is inside a compiled function is therefore not counted.
    """

    def asserted() -> None: ...

    def note(*operands: object, origin: object = None) -> None: ...

    def called(name: str, *operands: object) -> None: ...

    def each(value: Any) -> Any:
        return value

    substitute = getattr(dynamo, "substitute_in_graph", None)
    if substitute is None:  # before PyTorch 2.5
        return
    for nothing in (asserted, note, called, each):
        # A module that is loaded again (importlib.reload) knows the functions already.
        with contextlib.suppress(ValueError):
            substitute(getattr(comparisons, nothing.__name__))(nothing)


def _is_comparison(name: str, value: object) -> bool:
    return _ASSERTS.match(name) is not None and inspect.isfunction(value)


def _wrap_methods(cls: type, pattern: str) -> None:
    for name, value in list(vars(cls).items()):
        if re.match(pattern, name) and inspect.isfunction(value):
            setattr(cls, name, _noting(value, skip_first=True))


def _wrap_doctest(module: ModuleType) -> None:
    """`testmod(raise_on_error=True)` compares by itself; otherwise the caller looks at the
    result."""
    for name in ("testmod", "testfile"):
        setattr(module, name, _noting_examples(getattr(module, name)))


def _noting_examples(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        result = function(*args, **kwargs)
        if kwargs.get("raise_on_error") and result.attempted:
            comparisons.called(function.__name__)
        return result

    return run


def _noting(function: Callable[..., Any], skip_first: bool = False) -> Callable[..., Any]:
    """`function`, which reports a comparison of its arguments after it returned."""
    if hasattr(function, "_board_notes"):
        return function

    @functools.wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        result = function(*args, **kwargs)
        operands = args[1:] if skip_first else args
        if isinstance(result, contextlib.AbstractContextManager) and len(operands) <= 1:
            # It only prepares a `with` block; unittest's report themselves.
            return result if skip_first else _noting_block(function.__name__, result)
        comparisons.called(function.__name__, *operands, *kwargs.values())
        return result

    compare._board_notes = True  # type: ignore[attr-defined]
    return compare


@contextlib.contextmanager
def _noting_block(name: str, block: Any) -> Iterator[Any]:
    with block as value:
        yield value
    comparisons.called(name)


def _wrap_exit(name: str, context_class: type[Any]) -> None:
    """`with pytest.raises(...)` and `pytest.warns(...)` compare what happened with what should."""
    leave = context_class.__exit__

    @functools.wraps(leave)
    def exit_and_note(self: Any, *exc_info: Any) -> Any:
        __tracebackhide__ = True
        result = leave(self, *exc_info)
        # raises() answers True when the expected exception came; warns() returns None, or raises.
        if result or exc_info[0] is None:
            comparisons.called(name)
        return result

    context_class.__exit__ = exit_and_note
