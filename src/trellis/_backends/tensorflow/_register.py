"""Registers the backend in the dispatch table."""

import sys

import tensorflow as tf

from ..._core.dispatch import register
from ._private import Eager, Symbolic

# The backend may be loaded while a function is being traced: leave its graph.
with tf.init_scope():
    _Variable = type(tf.Variable(0))  # the class of eager tensors, which has no public name

ARRAY_TYPES: tuple[type, ...] = (Symbolic, Eager, tf.Tensor, _Variable, tf.Variable)


def make_known() -> None:
    """Called at the end of each import of the package; a second call changes nothing."""
    register(sys.modules[__package__], ARRAY_TYPES)
