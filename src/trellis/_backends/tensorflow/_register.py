"""Makes the backend known to the dispatch table."""

import sys

import tensorflow as tf

from ..._core.dispatch import register


def _array_types() -> list[type]:
    """The exact classes of eager and symbolic tensors and of variables; most have no public
    name.
    """
    classes = []

    def note(x: tf.Tensor) -> tf.Tensor:
        classes.append(type(x))
        return x

    # A backend may load while a function is being traced: step out of it.
    with tf.init_scope():
        spec = tf.TensorSpec([], tf.float32)
        tf.function(note, autograph=False).get_concrete_function(spec)
        classes += [type(tf.constant(0)), tf.Tensor, type(tf.Variable(0)), tf.Variable]
    return classes


ARRAY_TYPES: tuple[type, ...] = tuple(_array_types())


def make_known() -> None:
    """Called at the end of each import of the package; a second call changes nothing."""
    register(sys.modules[__package__], ARRAY_TYPES)
