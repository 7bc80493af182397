"""Differentiation on TensorFlow: gradient tapes. All functions here work on flat lists."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import tensorflow as tf

from ..interface import AuxFn, ListFn
from ._private import is_recorded, may_be_recorded, operations_of
from ._types import Tensor

FLOAT_DTYPES = frozenset([tf.float16, tf.bfloat16, tf.float32, tf.float64])

stop_gradient = tf.stop_gradient


class _Open(threading.local):
    """The tapes of ours that are recording, in each thread."""

    def __init__(self) -> None:
        self.tapes: list[tf.GradientTape] = []


_open = _Open()


class _Tape:
    """`tf.GradientTape` in a `with` block, which `checkpoint` finds."""

    def __init__(self, persistent: bool = False):
        self._tape = tf.GradientTape(persistent=persistent, watch_accessed_variables=False)

    def __enter__(self) -> Any:
        _open.tapes.append(self._tape)
        return self._tape.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._tape.__exit__(*exception)
        _open.tapes.remove(self._tape)


def is_differentiated(x: Tensor) -> bool:
    """Whether a tape follows `x`; if TensorFlow does not say, whether one of ours is open."""
    # A tape does not say so of a variable, but of what is read from it.
    found = is_recorded(tf.convert_to_tensor(x) if isinstance(x, tf.Variable) else x)
    return found if found is not None else bool(_open.tapes) and x.dtype in FLOAT_DTYPES


def vjp(
    fn: AuxFn, xs: list[Any], once: bool = False, sparse: bool = False
) -> tuple[list[Any], Any, ListFn]:
    # A tape watches tensors by identity: with copies, a closure's use of the same tensor stays a
    # constant.
    leaves = [tf.identity(x) for x in xs]
    with _Tape(persistent=not once) as tape:
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
        # Gathers return IndexedSlices; users get tensors.
        return [None if g is None else tf.convert_to_tensor(g) for g in found]

    return outputs, aux, pull


def jvp(fn: AuxFn, xs: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any], Any]:
    """Forward mode through reverse mode twice: it works for every op that has a second
    derivative.
    """
    leaves = [tf.identity(x) for x in xs]
    with _Tape() as outer:
        with _Tape() as inner:
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
    with _Tape(persistent=True) as tape:
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
        # Its derivative is the rule: no tape follows what `fn` computes, which may be in NumPy.
        ys = tuple([tf.identity(y) for y in fn([tf.stop_gradient(x) for x in xs])])

        def back(*upstream: Any) -> Any:
            return rule(list(xs), list(ys), list(upstream))

        return ys, back

    return lambda xs: list(opaque(*xs))


# Computing again ----------------------------------------------------------------------------------
# tf.recompute_grad gives no gradient to tensors that the function closes over, and has no second
# derivative.


def checkpoint(fn: ListFn) -> ListFn:
    def call(xs: list[Any]) -> list[Any]:
        if not tf.inside_function() and operations_of is None:
            # Nobody knows what `fn` uses: right gradients, at the price of memory.
            return fn(xs)
        # Copies: a closure's use of the same tensor is another one.
        leaves = [tf.identity(x) for x in xs]
        with _Unrecorded(), tf.GradientTape() as tape:
            ys, used = _used_by(fn, leaves)
        variables = list(tape.watched_variables())
        del tape, leaves
        if not any([_is_differentiable(y) for y in ys]):
            return ys
        used = [x for x in used if _is_differentiable(x) and may_be_recorded(x)]
        return _with_recomputation(fn, xs, [*used, *variables], ys)

    return call


class _Unrecorded:
    """Inside the block our tapes do not record: they would keep all. New ones do; hence each is
    stopped by itself. Those of users see what they see, and keep it."""

    def __enter__(self) -> None:
        self._tapes, self._stopped = _open.tapes, ExitStack()
        for tape in self._tapes:
            self._stopped.enter_context(tape.stop_recording())
        _open.tapes = []

    def __exit__(self, *exception: object) -> None:
        _open.tapes = self._tapes
        self._stopped.close()


def _with_recomputation(fn: ListFn, xs: list[Any], outside: list[Any], ys: list[Any]) -> list[Any]:
    """`ys = fn(xs)`, whose derivative runs `fn` again; `outside` is what else it uses."""

    def back(*upstream: Any) -> list[Any]:
        pairs = zip(upstream, wanted, strict=True)
        given = [tf.convert_to_tensor(g) for g, is_wanted in pairs if is_wanted]
        leaves = [_after(given[0], x) for x in xs]
        with _Tape() as tape:
            sources = [x for x in [*leaves, *outside] if _is_differentiable(x)]
            tape.watch(sources)
            again = fn(leaves)
        found = tape.gradient(
            [y for y, is_wanted in zip(again, wanted, strict=True) if is_wanted],
            sources,
            output_gradients=given,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        gradients = [tf.convert_to_tensor(g) for g in found]
        return [gradients.pop(0) if _is_differentiable(x) else None for x in [*xs, *outside]]

    wanted = [_is_differentiable(y) for y in ys]
    opaque = tf.custom_gradient(lambda *_: ([tf.identity(y) for y in ys], back))
    return list(opaque(*xs, *[tf.convert_to_tensor(x) for x in outside]))


def _is_differentiable(x: Any) -> bool:
    return bool(x.dtype.is_floating or x.dtype.is_complex)


def _after(g: Any, x: Any) -> Any:
    """A copy of `x` that a graph cannot have before `g`, nor take for `x` itself: it would find
    that `fn` was computed already, and keep all."""
    if not tf.inside_function():
        return tf.identity(x)
    one = tf.math.real(tf.reshape(g, [-1])[:1])
    # Always true; but nobody can know it of 0 * g, which may be nan, before `g` is there.
    is_there = tf.reduce_all(tf.not_equal(one * 0, 1))
    return tf.where(is_there, x, tf.zeros_like(x))


def _used_by(fn: ListFn, leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """What `fn` returns, and the tensors from outside that it has used."""
    entered = {}
    if tf.inside_function():
        graph = tf.compat.v1.get_default_graph()
        count = len(graph.get_operations())
        ys = fn(leaves)
        operations = [(op.inputs, op.outputs) for op in graph.get_operations()[count:]]
        # In the graph they have a placeholder; a second run may be in another graph.
        entered = {id(placeholder): x for x, placeholder in graph.captures}
    else:
        ys, operations = operations_of(fn, leaves)
    inside = {id(x) for x in leaves}
    for _, outputs in operations:
        inside.update([id(y) for y in outputs if id(y) not in entered])
    used = {}
    for x in [*[x for inputs, _ in operations for x in inputs], *ys]:
        if id(x) not in inside:
            used[id(x)] = entered.get(id(x), x)
    return ys, list(used.values())
