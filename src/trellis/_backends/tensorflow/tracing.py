"""Whether a compiler is at work, and whether values can be looked at."""

import tensorflow as tf

from ._types import Tensor


def is_tracing() -> bool:
    """Whether a compiled function is being traced."""
    return bool(tf.inside_function())


def is_concrete(x: Tensor) -> bool:
    """Whether the values of `x` can be looked at now."""
    return hasattr(x, "numpy") and not tf.inside_function()


def lasts(x: Tensor) -> bool:
    """Whether `x` can be kept when the running function has ended."""
    return hasattr(x, "numpy")  # tensors of a graph have no values
