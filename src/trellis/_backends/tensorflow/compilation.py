"""Compilation on TensorFlow. Python values are static by themselves: each gets its own trace."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def compile_function(
    fn: Callable[..., Any], *, static_argnums: tuple[int, ...], static_argnames: tuple[str, ...]
) -> Callable[..., Any]:
    # Without AutoGraph: data-dependent control flow is written with trellis.cond and while_loop, as on
    # the other frameworks, and the library's own code is not rewritten at each trace.
    return tf.function(fn, autograph=False)
