"""Arithmetic over lists of leaves on TensorFlow."""

from typing import Any

import tensorflow as tf

from ..shared.foreach import StepKernel, spread
from ._adam import adam

# For the other optimizers, operations over all leaves are as fast here.
STEP_KERNELS: dict[str, StepKernel] = {"adam": adam}


def foreach_sqrt(xs: list[Any], *, reuse: bool = False) -> list[Any]:
    return [tf.sqrt(x) for x in xs]


def foreach_maximum(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    return [tf.maximum(x, y) for x, y in zip(xs, spread(ys, xs), strict=True)]


def foreach_norm(xs: list[Any]) -> list[Any]:
    return [tf.sqrt(tf.reduce_sum(x * x)) for x in xs]


def foreach_cast(xs: list[Any], dtype: Any) -> list[Any]:
    return [tf.cast(x, dtype) for x in xs]


def foreach_detach(xs: list[Any]) -> list[Any]:
    """Only an active GradientTape records, and the user may want that."""
    return xs
