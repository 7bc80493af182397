"""Dense layers."""

from typing import Any

from jax import lax

from ._helpers import with_bias
from ._types import Array


def linear(x: Array, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    y = lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return y if bias is None else with_bias(y, bias)


def grouped_matmul(x: Array, weights: Any, group_sizes: Any) -> Any:
    """Each group of rows times its own matrix."""
    return lax.ragged_dot(x, weights, group_sizes)
