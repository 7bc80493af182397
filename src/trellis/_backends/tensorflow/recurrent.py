"""The LSTM, step by step or as a loop in the graph."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ._recorded import Backward, recorded
from ._types import Tensor

# `scan` over one step serves here.
RECURRENCES: dict[str, Callable[..., Any]] = {}

# A loop in a graph takes two to three times as long as its steps one after another, which take
# longer to trace.
_UNROLLED_STEPS = 64


def lstm(
    x: Tensor, h: Tensor, c: Tensor, kernel: Tensor, recurrent_kernel: Tensor, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in); one product serves the inputs of all steps."""
    x, h, c = [tf.convert_to_tensor(array) for array in (x, h, c)]
    is_unrolled = tf.executing_eagerly() or (
        x.shape[0] is not None and x.shape[0] <= _UNROLLED_STEPS
    )
    if is_unrolled and _is_even(x, h, c):
        weights = [
            tf.convert_to_tensor(w) for w in (kernel, recurrent_kernel, bias) if w is not None
        ]
        hs, h, c = recorded(_unrolled, _unrolled_and_back, x, h, c, *weights)
        return hs, (h, c)
    inputs = tf.reshape(x, [-1, x.shape[-1]]) @ kernel
    inputs = inputs if bias is None else inputs + bias
    inputs = tf.reshape(inputs, [tf.shape(x)[0], -1, kernel.shape[-1]])
    if is_unrolled:
        hs = []
        for at in tf.unstack(inputs, x.shape[0]):
            h, c = _lstm_step(at, h, c, recurrent_kernel)
            hs.append(h)
        return tf.stack(hs), (h, c)
    steps = tf.shape(inputs)[0]
    array = tf.TensorArray(inputs.dtype, size=steps, element_shape=h.shape)

    def body(t: Any, array: Any, h: Tensor, c: Tensor) -> Any:
        h, c = _lstm_step(inputs[t], h, c, recurrent_kernel)
        return t + 1, array.write(t, h), h, c

    _, array, h, c = tf.while_loop(
        lambda t, *_: t < steps, body, (tf.constant(0), array, h, c), maximum_iterations=x.shape[0]
    )
    hs = array.stack()
    hs.set_shape([x.shape[0], *h.shape])  # for the tracer alone: no operation
    return hs, (h, c)


def _lstm_step(at: Any, h: Tensor, c: Tensor, recurrent_kernel: Tensor) -> tuple[Any, Any]:
    i, f, g, o = tf.split(at + h @ recurrent_kernel, 4, -1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def _is_even(x: Tensor, h: Tensor, c: Tensor) -> bool:
    """Whether every size is known, and nothing is broadcast along the batch; there are steps."""
    is_known = x.shape.is_fully_defined() and h.shape.is_fully_defined()
    return is_known and 0 not in x.shape and h.shape == c.shape and h.shape[0] == x.shape[1]


def _inputs_of_steps(x: Tensor, kernel: Tensor, bias: tuple[Any, ...]) -> list[Any]:
    time, batch, channels = x.shape
    inputs = tf.reshape(x, [-1, channels]) @ kernel
    inputs = tf.nn.bias_add(inputs, bias[0]) if bias else inputs
    found: list[Any] = tf.unstack(tf.reshape(inputs, [time, batch, kernel.shape[-1]]))
    return found


def _unrolled(
    x: Tensor, h: Tensor, c: Tensor, kernel: Tensor, recurrent: Any, *bias: Any
) -> list[Any]:
    hs = []
    for at in _inputs_of_steps(x, kernel, bias):
        h, c = _lstm_step(at, h, c, recurrent)
        hs.append(h)
    return [tf.stack(hs), h, c]


def _unrolled_and_back(
    x: Tensor, h: Tensor, c: Tensor, kernel: Tensor, recurrent: Any, *bias: Any
) -> tuple[list[Any], Backward]:
    """The same; the gradients of the weights are one product over all steps, where a tape would
    have one for each and keep them all until it adds them.
    """
    hs, steps = [h], []
    for at in _inputs_of_steps(x, kernel, bias):
        i, f, g, o = tf.split(at + h @ recurrent, 4, -1)
        i, f, g, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(g), tf.sigmoid(o)
        before, c = c, f * c + i * g
        bent = tf.tanh(c)
        h = o * bent
        steps.append((i, f, g, o, before, bent))
        hs.append(h)
    ys = tf.stack(hs[1:])

    def backward(by_hs: Any, by_h: Any, by_c: Any) -> list[Any]:
        remaining, gates = list(steps), []
        for by_y in reversed(tf.unstack(by_hs)):
            i, f, g, o, before, bent = remaining.pop()
            by_h = by_h + by_y
            by_c = by_c + _raw.TanhGrad(y=bent, dy=by_h * o)
            by_gates = [
                _raw.SigmoidGrad(y=i, dy=by_c * g),
                _raw.SigmoidGrad(y=f, dy=by_c * before),
                _raw.TanhGrad(y=g, dy=by_c * i),
                _raw.SigmoidGrad(y=o, dy=by_h * bent),
            ]
            gates.append(tf.concat(by_gates, -1))
            by_h = tf.matmul(gates[-1], recurrent, transpose_b=True)
            by_c = by_c * f
        by_inputs = tf.concat(gates[::-1], 0)
        by_x = tf.reshape(tf.matmul(by_inputs, kernel, transpose_b=True), x.shape)
        by_kernel = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), by_inputs, transpose_a=True)
        by_recurrent = tf.matmul(tf.concat(hs[:-1], 0), by_inputs, transpose_a=True)
        by_bias = [tf.reduce_sum(by_inputs, 0)] if bias else []
        return [by_x, by_h, by_c, by_kernel, by_recurrent, *by_bias]

    return [ys, h, c], backward


_raw = tf.raw_ops
