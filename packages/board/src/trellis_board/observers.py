"""Letting the usual comparison functions report to `comparisons` while a board is recorded.

The functions are wrapped where they are public, at the moment their module is first imported, so
that `from numpy.testing import assert_allclose` in a test gets the wrapped one, and so that no
framework is imported only to be watched.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
import unittest
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from . import comparisons

__all__ = ["install"]

WATCHED: dict[str, tuple[str, ...]] = {
    "numpy.testing": (
        "assert_",
        "assert_allclose",
        "assert_almost_equal",
        "assert_approx_equal",
        "assert_array_almost_equal",
        "assert_array_almost_equal_nulp",
        "assert_array_compare",
        "assert_array_equal",
        "assert_array_less",
        "assert_array_max_ulp",
        "assert_equal",
        "assert_raises",
        "assert_raises_regex",
        "assert_string_equal",
    ),
    "torch.testing": ("assert_close",),
    "jax.test_util": ("check_grads", "check_jvp", "check_vjp"),
    "pandas.testing": (
        "assert_frame_equal",
        "assert_index_equal",
        "assert_series_equal",
    ),
}

# Modules with a list `listeners` of functions to be called with the operands of each comparison.
ANNOUNCING = ("trellis.testing",)


def install() -> None:
    """Wrap what is loaded already and wait for the rest. A second call changes nothing."""
    if any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        return
    for name in (*WATCHED, *ANNOUNCING):
        if name in sys.modules:
            _observe(sys.modules[name])
    sys.meta_path.insert(0, _AfterImport())
    # The classes of these context managers have no public names.
    _wrap_exit(type(pytest.raises(ZeroDivisionError)))
    _wrap_exit(type(pytest.warns(ResourceWarning)))
    if hasattr(pytest, "RaisesGroup"):
        _wrap_exit(pytest.RaisesGroup)
    case = unittest.TestCase()
    _wrap_exit(type(case.assertRaises(ValueError)))  # noqa: PT027
    _wrap_exit(type(case.assertWarns(UserWarning)))
    _wrap_exit(type(case.assertLogs()))
    for method in dir(unittest.TestCase):
        if method.startswith("assert"):
            original = getattr(unittest.TestCase, method)
            setattr(unittest.TestCase, method, _noting(original, skip_first=True))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds nothing itself; wraps the functions of a watched module once it has been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in WATCHED and fullname not in ANNOUNCING:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                _wrap_after(spec.loader)
                return spec
        return None


def _wrap_after(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        _observe(module)

    loader.exec_module = exec_module


def _observe(module: ModuleType) -> None:
    if module.__name__ in ANNOUNCING:
        module.listeners.append(comparisons.note)
    for name in WATCHED.get(module.__name__, ()):
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, _noting(function))


def _noting(function: Callable[..., Any], skip_first: bool = False) -> Callable[..., Any]:
    """`function`, which reports a comparison of its arguments after it returned."""

    @functools.wraps(function)
    def compare(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        result = function(*args, **kwargs)
        # assertRaises(E) without a callable only prepares a `with` block, which reports itself.
        operands = args[1:] if skip_first else args
        if not (hasattr(result, "__enter__") and len(operands) <= 1):
            comparisons.note(*operands, *kwargs.values())
        return result

    return compare


def _wrap_exit(context_class: type[Any]) -> None:
    """`with pytest.raises(...)` and `pytest.warns(...)` compare what happened with what should."""
    leave = context_class.__exit__

    @functools.wraps(leave)
    def exit_and_note(self: Any, *exc_info: Any) -> Any:
        __tracebackhide__ = True
        result = leave(self, *exc_info)
        # raises() answers True when the expected exception came; warns() returns None, or raises.
        if result or exc_info[0] is None:
            comparisons.note()
        return result

    context_class.__exit__ = exit_and_note
