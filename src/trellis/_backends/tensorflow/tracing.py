"""Whether a compiler is tracing, and whether values can be read."""

import tensorflow as tf

from ._types import Tensor


def is_tracing() -> bool:
    """Whether a compiled function is being traced."""
    return bool(tf.inside_function())


def is_concrete(x: Tensor) -> bool:
    """Whether the values of `x` can be read now."""
    return hasattr(x, "numpy") and not tf.inside_function()


def lasts(x: Tensor) -> bool:
    """Whether `x` is still valid after the running function ends."""
    return hasattr(x, "numpy")  # tensors of a graph have no values
