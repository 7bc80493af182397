"""Shape arithmetic with dynamic axes: what is done to sizes is done number by number.

Sizes that are known become constants at once; an open one is a number of the running program, so
that compilers see shapes and not arrays.
"""

import operator
from typing import Any

import numpy as np

from .builder import OnnxBuilder

_ARITHMETIC: dict[str, Any] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.floordiv,  # sizes are not negative: rounding down is rounding to zero
    "Min": min,
    "Max": max,
}


def sizes_of(g: OnnxBuilder, op: str, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    """The value of a node that computes with open sizes, or None if it does not."""
    if not any([g.has_sizes(x) for x in inputs]):
        return None
    first = inputs[0]
    if op == "Identity" or (op == "Cast" and attributes.get("to") in (6, 7)):
        return first
    known: list[Any] = [g.ints(x) for x in inputs]
    if any([items is None for items in known]):
        return None
    is_scalar = [g.rank(x) == 0 for x in inputs]
    items: Any = known[0]
    if op in ("Squeeze", "Unsqueeze", "Reshape"):
        if len(items) == 1 and op == "Squeeze":
            return g.size_value(items, is_scalar=True)
        if is_scalar[0] and op == "Unsqueeze":
            return g.size_value(items)
        if op == "Reshape" and known[1] in ((-1,), (len(items),)):
            return g.size_value(items)
        return None
    if op == "Concat":
        return g.size_value([item for part in known for item in part])
    if op == "Gather" and not g.has_sizes(inputs[1]) and len(g.array(inputs[1]).shape) < 2:
        return g.size_value([items[i] for i in known[1]], is_scalar=is_scalar[1])
    if op == "Slice" and len(inputs) > 2 and not any([g.has_sizes(x) for x in inputs[1:]]):
        step = known[4][0] if len(known) > 4 else 1
        return g.size_value(list(items)[slice(known[1][0], known[2][0], step)])
    if op in _ARITHMETIC and len(inputs) == 2:
        longest = max(len(known[0]), len(known[1]))
        x, y = [part * longest if len(part) == 1 else part for part in known]
        if len(x) != len(y):
            return None
        found = [g.arithmetic(_ARITHMETIC[op], a, b) for a, b in zip(x, y)]
        return g.size_value(found, is_scalar=all(is_scalar))
    if op == "ReduceProd" and np.size(items) > 0:
        total: Any = 1
        for item in items:
            total = item if total == 1 else g.arithmetic(operator.mul, total, item)
        return g.size_value([total], is_scalar=not attributes.get("keepdims", 1))
    return None
