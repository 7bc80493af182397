"""Whether a compiler is at work, and whether values can be looked at."""

from typing import Any

import tensorflow as tf


def is_tracing() -> bool:
    """Whether a compiled function is being traced."""
    return bool(tf.inside_function())


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` can be looked at now."""
    return hasattr(x, "numpy") and not tf.inside_function()


def lasts(x: Any) -> bool:
    """Whether `x` can be kept when the running function has ended."""
    return hasattr(x, "numpy")  # tensors of a graph have no values
