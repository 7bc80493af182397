"""What to say when a whole session has no column but one: perhaps its backends have another name.

>>> from types import SimpleNamespace as Item
>>> tests = [
...     Item(nodeid=f"t.py::test_{n}[{b}]", callspec=Item(params={"engine": b, "size": 1}))
...     for n in "xyz"
...     for b in ("sqlite", "duckdb")
... ]
>>> other_argument(tests)
"6 tests have 'engine' (sqlite, duckdb): --board-backend-arg=engine"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .cells import backend_name

__all__ = ["other_argument"]

_MOST_VALUES = 12
_FEWEST_FUNCTIONS = 3


def other_argument(items: Iterable[Any]) -> str | None:
    """The argument with a few named values that most functions share; None if there is none."""
    functions: dict[str, set[str]] = {}
    values: dict[str, dict[str, None]] = {}
    tests: dict[str, int] = {}
    for item in items:
        callspec = getattr(item, "callspec", None)
        for name, value in callspec.params.items() if callspec is not None else ():
            # A number is rarely a backend, a pair is one with its options.
            named = value[0] if isinstance(value, tuple) and value else value
            word = "" if isinstance(named, (int, float)) else backend_name(named)
            if word:
                functions.setdefault(name, set()).add(item.nodeid.partition("[")[0])
                values.setdefault(name, {})[word] = None
                tests[name] = tests.get(name, 0) + 1
    fitting = [
        name
        for name in functions
        if 1 < len(values[name]) <= _MOST_VALUES and len(functions[name]) >= _FEWEST_FUNCTIONS
    ]
    if not fitting:
        return None
    most = max(fitting, key=lambda name: len(functions[name]))
    shown = ", ".join(list(values[most])[:4]) + (", ..." if len(values[most]) > 4 else "")
    return f"{tests[most]} tests have {most!r} ({shown}): --board-backend-arg={most}"
