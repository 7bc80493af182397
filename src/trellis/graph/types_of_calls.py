"""Which arguments of a call must have one data type, and in which."""

import operator
from typing import Any

# Operators by the functions that mean the same.
OPERATORS = {
    operator.add: "add",
    operator.sub: "subtract",
    operator.mul: "multiply",
    operator.truediv: "divide",
    operator.floordiv: "floor_divide",
    operator.mod: "remainder",
    operator.pow: "pow",
    operator.matmul: "matmul",
    operator.and_: "bitwise_and",
    operator.or_: "bitwise_or",
    operator.xor: "bitwise_xor",
    operator.lshift: "bitwise_left_shift",
    operator.rshift: "bitwise_right_shift",
    operator.eq: "equal",
    operator.ne: "not_equal",
    operator.lt: "less",
    operator.le: "less_equal",
    operator.gt: "greater",
    operator.ge: "greater_equal",
    operator.neg: "negative",
    operator.pos: "positive",
    operator.abs: "abs",
    operator.invert: "bitwise_invert",
}
# The arguments have the type of the result.
LIKE_RESULT = frozenset(
    {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc"}
    | {"erfinv", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sin"}
    | {"sinh", "sqrt", "tan", "tanh", "add", "atan2", "copysign", "divide", "floor_divide"}
    | {"fmod", "hypot", "logaddexp", "maximum", "minimum", "multiply", "nextafter", "pow"}
    | {"remainder", "subtract", "truncate_divide", "bitwise_and", "bitwise_or", "bitwise_xor"}
    | {"bitwise_left_shift", "bitwise_right_shift", "mean", "prod", "sum", "cumulative_sum"}
    | {"cumulative_prod", "logsumexp", "diff", "where", "concat", "stack", "einsum", "matmul"}
    | {"tensordot", "vecdot", "linalg.matmul", "linalg.tensordot", "linalg.vecdot"}
    | {"linalg.outer", "linalg.trace", "linalg.cross", "linear", "clip", "all", "any"}
    | {"logical_and", "logical_or", "logical_xor", "logical_not"}
)
# Both sides have the type that both can have.
COMPARED = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isclose"}
)
# Arguments whose type is their own.
EITHER: dict[str, tuple[str, ...]] = {
    "where": ("condition",),
    "isclose": ("rtol", "atol", "equal_nan"),
    "clip": ("min", "max"),
}
# Functions that take no Python number in the place of an array.
_ARRAYS_ONLY = frozenset(
    {"maximum", "minimum", "atan2", "copysign", "hypot", "logaddexp", "nextafter", "fmod"}
    | {"floor_divide", "remainder", "truncate_divide", "isclose"}
)
TENSORS: dict[str, frozenset[str]] = {
    "numpy": frozenset(),
    "jax": frozenset(),
    "torch": _ARRAYS_ONLY,
    "tensorflow": _ARRAYS_ONLY
    | {"where", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"}
    | {"bitwise_left_shift", "bitwise_right_shift"},
}
# Results that count or point at elements: TensorFlow has two types for them.
COUNTS = frozenset({"argmax", "argmin", "argsort", "count_nonzero", "searchsorted"})
_ROUNDED = frozenset({"ceil", "floor", "round", "isnan", "isinf", "isfinite"})


def needs_function(framework: str, key: str, bound: dict[str, Any]) -> bool:
    """Whether the one line of a spelling does not serve these arguments."""
    if key == "concat" and framework == "torch":
        return bound["axis"] is None
    if key in _ROUNDED and framework == "tensorflow":
        return str(bound["x"].dtype).startswith(("int", "uint", "bool"))
    return False
