"""Differentiation on TensorFlow: gradient tapes. All functions here work on flat lists."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..interface import AuxFn, ListFn
from ._types import Tensor

FLOAT_DTYPES = frozenset([tf.float16, tf.bfloat16, tf.float32, tf.float64])

stop_gradient = tf.stop_gradient


def vjp(
    fn: AuxFn, xs: list[Any], once: bool = False, sparse: bool = False
) -> tuple[list[Any], Any, ListFn]:
    # A tape watches tensors by identity: copies keep a closure's use of the same tensor a constant.
    leaves = [tf.identity(x) for x in xs]
    with tf.GradientTape(persistent=not once, watch_accessed_variables=False) as tape:
        tape.watch(leaves)
        outputs, aux = fn(leaves)

    def pull(cotangents: list[Any]) -> list[Any]:
        pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if g is not None]
        found = tape.gradient(
            [y for y, _ in pairs],
            leaves,
            output_gradients=[g for _, g in pairs],
            unconnected_gradients="none" if sparse else "zero",
        )
        # Gathers answer with IndexedSlices; users get tensors.
        return [None if g is None else tf.convert_to_tensor(g) for g in found]

    return outputs, aux, pull


def jvp(fn: AuxFn, xs: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any], Any]:
    """Forward mode through reverse mode twice: it works for every op that has a second
    derivative.
    """
    leaves = [tf.identity(x) for x in xs]
    with tf.GradientTape(watch_accessed_variables=False) as outer:
        with tf.GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(leaves)
            outputs, aux = fn(leaves)
        zeros = [tf.zeros_like(y) for y in outputs]
        outer.watch(zeros)
        gradients = inner.gradient(
            outputs,
            leaves,
            output_gradients=zeros,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        gradients = [tf.convert_to_tensor(g) for g in gradients]
    pushed = outer.gradient(
        gradients,
        zeros,
        output_gradients=tangents,
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )
    return outputs, [tf.convert_to_tensor(t) for t in pushed], aux


def jacobian(fn: ListFn, xs: list[Any]) -> list[list[Any]]:
    leaves = [tf.identity(x) for x in xs]
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(leaves)
        outputs = fn(leaves)
    return [_rows(tape, y, leaves) for y in outputs]


def _rows(tape: Any, y: Tensor, leaves: list[Any]) -> list[Any]:
    """One backward pass per element of one output."""
    size = y.shape.num_elements()
    flat_eye = tf.reshape(tf.eye(size, dtype=y.dtype), [size, *y.shape])
    passes = [
        tape.gradient(
            y,
            leaves,
            output_gradients=flat_eye[i],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        for i in range(size)
    ]
    columns = []
    for j, x in enumerate(leaves):
        if size:
            stacked = tf.stack([tf.convert_to_tensor(found[j]) for found in passes])
        else:
            stacked = tf.zeros([0, *x.shape], dtype=x.dtype)
        columns.append(tf.reshape(stacked, [*y.shape, *x.shape]))
    return columns


def vmap(
    fn: ListFn, xs: list[Any], axes: list[int | None], out_axes: list[int], size: int
) -> list[Any]:
    mapped = [_to_front(x, axis) for x, axis in zip(xs, axes, strict=True) if axis is not None]

    def one(rows: list[Any]) -> list[Any]:
        remaining = list(rows)
        return fn(
            [x if axis is None else remaining.pop(0) for x, axis in zip(xs, axes, strict=True)]
        )

    outputs = tf.vectorized_map(one, mapped)
    spread = out_axes if len(out_axes) == len(outputs) else out_axes * len(outputs)
    return [_from_front(y, axis) for y, axis in zip(outputs, spread, strict=True)]


def _to_front(x: Tensor, axis: int) -> Any:
    axis = axis % len(x.shape)
    return tf.transpose(x, [axis, *[i for i in range(len(x.shape)) if i != axis]])


def _from_front(x: Tensor, axis: int) -> Any:
    axis = axis % len(x.shape)
    order = list(range(1, len(x.shape)))
    order.insert(axis, 0)
    return tf.transpose(x, order)


def custom_vjp(
    fn: ListFn,
    rule: Callable[[list[Any], list[Any], list[Any]], list[Any]],
) -> ListFn:
    @tf.custom_gradient
    def opaque(*xs: Any) -> Any:
        ys = tuple([tf.identity(y) for y in fn(list(xs))])

        def back(*upstream: Any) -> Any:
            return rule(list(xs), list(ys), list(upstream))

        return ys, back

    return lambda xs: list(opaque(*xs))


def checkpoint(fn: ListFn) -> ListFn:
    inner = tf.recompute_grad(lambda *xs: fn(list(xs)))
    return lambda xs: list(inner(*xs))
