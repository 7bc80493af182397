"""Checks that cannot fail, as far as the text of a test tells for certain.

>>> said = ast.parse("assert 17, 19 == f()\\nassert x == x\\nassert all(y for y in z)")
>>> [is_always_true(statement.test) for statement in said.body]
[True, False, False]
>>> [goes_through(statement.test) is not None for statement in said.body]
[False, False, True]

A comparison of a thing with itself is a check where NaN differs from itself, or where a class says
what is equal. It is none for the functions of `numpy.testing`, which take NaN to be equal, and of
an array, which `comparisons` looks at. What is computed twice is a check of another kind.

>>> calls = "assert_allclose(x.grad, x.grad)", "assert_equal(f(x), f(x))", "assert_close(x, x)"
>>> [compares_itself(ast.parse(call).body[0].value) for call in calls]
['x.grad', None, None]
"""

from __future__ import annotations

import ast

__all__ = ["compares_itself", "goes_through", "is_always_true"]

_NAN_IS_EQUAL = frozenset(
    {
        *("assert_allclose", "assert_almost_equal", "assert_array_almost_equal"),
        *("assert_array_equal", "assert_equal"),
    }
)


def is_always_true(test: ast.expr) -> bool:
    """Whether an `assert` of this cannot fail: of a constant, or of a tuple that is not empty."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return isinstance(test.operand, ast.Constant) and not test.operand.value
    return isinstance(test, ast.Tuple) and any(not isinstance(x, ast.Starred) for x in test.elts)


def goes_through(test: ast.expr) -> ast.GeneratorExp | ast.ListComp | None:
    """What ``all(f(x) for x in xs)`` goes through: where there is nothing, nothing is compared."""
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name)):
        return None
    if test.func.id != "all" or len(test.args) != 1 or test.keywords:
        return None
    found = test.args[0]
    return found if isinstance(found, (ast.GeneratorExp, ast.ListComp)) else None


def compares_itself(call: ast.expr) -> str | None:
    """What a comparison function of NumPy is called with twice; None if with different things."""
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return None
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name not in _NAN_IS_EQUAL or any(word.arg in ("equal_nan", None) for word in call.keywords):
        return None
    one, other = call.args[:2]
    is_same = _is_name(one) and ast.dump(one) == ast.dump(other)
    return ast.unparse(one) if is_same else None


def _is_name(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) or (
        isinstance(value, ast.Attribute) and _is_name(value.value)
    )
