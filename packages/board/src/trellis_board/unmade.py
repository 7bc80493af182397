"""What the text of a test has that could have been a comparison, for the message of a hollow cell.

>>> remarks("def test():\\n    np.allclose(a, b)\\n", 10)
['np.allclose in line 11 is computed, and its answer dropped']
>>> remarks("def test():\\n    if c:\\n        assert c\\n", 10)
['the assert in line 12 was not reached']
>>> remarks("def test():\\n    assert 17, 19 == f()\\n", 10)
['the assert in line 11 cannot fail']
>>> remarks("def test():\\n    assert all(x for x in xs)\\n", 10)
['all(...) in line 11 had nothing to go through, or was not reached']
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any

from .vain import goes_through, is_always_true

__all__ = ["remarks", "remarks_on"]

_ANSWERS = re.compile(r"allclose|array_equal|array_equiv|isclose|equal|equals|all|any|issubset")
_MOST = 5


def remarks_on(item: Any) -> list[str]:
    """What can be said about the function of a pytest item; nothing if its text is not known."""
    function = inspect.unwrap(getattr(item, "function", None) or remarks_on)
    if function is remarks_on:
        return []
    try:
        lines, first = inspect.getsourcelines(function)
        return remarks(textwrap.dedent("".join(lines)), first)
    except (OSError, TypeError, SyntaxError, ValueError):
        return []


def remarks(text: str, first: int) -> list[str]:
    """The same about a text whose first line has this number."""
    asserts: list[int] = []
    dropped: list[str] = []
    vain: list[str] = []
    for node in ast.walk(ast.parse(text)):
        line = first - 1 + getattr(node, "lineno", 1)
        if isinstance(node, ast.Assert):
            if is_always_true(node.test):
                vain.append(f"the assert in line {line} cannot fail")
            elif goes_through(node.test):
                vain.append(
                    f"all(...) in line {line} had nothing to go through, or was not reached"
                )
            else:
                asserts.append(line)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            dropped.append(f"{_short(node.value)} in line {line}")
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = ast.unparse(node.value.func)
            if _ANSWERS.fullmatch(name.rpartition(".")[2]):
                dropped.append(f"{name[-60:]} in line {line}")
    said = [f"{what} is computed, and its answer dropped" for what in dropped[:_MOST]]
    said += vain[:_MOST]
    if asserts:
        shown = ", ".join(map(str, sorted(asserts)[:_MOST]))
        several = len(asserts) > 1
        said.append(
            f"the assert{'s' if several else ''} in line{'s' if several else ''} {shown} "
            f"{'were' if several else 'was'} not reached"
        )
    return said


def _short(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
