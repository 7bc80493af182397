"""The LSTM, step by step or as a loop in the graph."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..exports import hand_on

# `scan` over one step serves here.
RECURRENCES: dict[str, Callable[..., Any]] = {}

# A loop in a graph takes two to three times as long as its steps one after another, which take
# longer to trace.
_UNROLLED_STEPS = 64


def lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in); one product serves the inputs of all steps."""
    x = tf.convert_to_tensor(x)
    inputs = tf.reshape(x, [-1, x.shape[-1]]) @ kernel
    inputs = inputs if bias is None else inputs + bias
    inputs = tf.reshape(inputs, [tf.shape(x)[0], -1, kernel.shape[-1]])
    if tf.executing_eagerly() or (x.shape[0] is not None and x.shape[0] <= _UNROLLED_STEPS):
        hs = []
        for at in tf.unstack(inputs, x.shape[0]):
            h, c = _lstm_step(at, h, c, recurrent_kernel)
            hs.append(h)
        return tf.stack(hs), (h, c)
    steps = tf.shape(inputs)[0]
    array = tf.TensorArray(inputs.dtype, size=steps, element_shape=h.shape)

    def body(t: Any, array: Any, h: Any, c: Any) -> Any:
        h, c = _lstm_step(inputs[t], h, c, recurrent_kernel)
        return t + 1, array.write(t, h), h, c

    h, c = tf.convert_to_tensor(h), tf.convert_to_tensor(c)
    _, array, h, c = tf.while_loop(
        lambda t, *_: t < steps, body, (tf.constant(0), array, h, c), maximum_iterations=x.shape[0]
    )
    hs = array.stack()
    hs.set_shape([x.shape[0], *h.shape])  # for the tracer alone: no operation
    return hs, (h, c)


def _lstm_step(at: Any, h: Any, c: Any, recurrent_kernel: Any) -> tuple[Any, Any]:
    i, f, g, o = tf.split(at + h @ recurrent_kernel, 4, -1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


hand_on(globals())
