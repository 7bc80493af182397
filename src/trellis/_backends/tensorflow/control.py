"""Branches and loops that become part of the graph while tf.function traces, and plain Python
otherwise.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..._core import tree
from ..._core.errors import ShapeError
from ._types import Tensor


def _flat(nest: Any) -> tuple[list[Any], Any]:
    leaves, structure = tree.flatten(nest)
    return [tf.convert_to_tensor(leaf) for leaf in leaves], structure


def _is_symbolic(x: Tensor) -> bool:
    return isinstance(x, (tf.Tensor, tf.Variable)) and not tf.executing_eagerly()


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    if not _is_symbolic(pred):
        return true_fn(*operands) if bool(pred) else false_fn(*operands)
    structures = []

    def on_true() -> list[Any]:
        leaves, structure = _flat(true_fn(*operands))
        structures.append(structure)
        return leaves

    def on_false() -> list[Any]:
        leaves, structure = _flat(false_fn(*operands))
        structures.append(structure)
        return leaves

    leaves = tf.cond(tf.cast(pred, tf.bool), on_true, on_false)
    if structures[0] != structures[-1]:
        raise ShapeError(
            f"Both branches of cond() must return the same structure, got {structures[0]} and "
            f"{structures[-1]}."
        )
    # TensorFlow unpacks a list of one.
    leaves = leaves if isinstance(leaves, (list, tuple)) else [leaves]
    return tree.unflatten(structures[0], leaves)


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    if tf.executing_eagerly():
        state = init
        while bool(cond_fn(state)):
            state = body_fn(state)
        return state
    leaves, structure = _flat(init)

    def goes_on(*leaves: Any) -> Any:
        return tf.cast(cond_fn(tree.unflatten(structure, leaves)), tf.bool)

    def body(*leaves: Any) -> list[Any]:
        return _same_structure(body_fn(tree.unflatten(structure, leaves)), structure, "while_loop")

    return tree.unflatten(structure, tf.while_loop(goes_on, body, leaves))


def _same_structure(nest: Any, structure: Any, name: str) -> list[Any]:
    leaves, found = _flat(nest)
    if found != structure:
        raise ShapeError(
            f"The state of {name}() changed its structure from {structure} to {found}."
        )
    return leaves


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Carry a state along axis 0 of `xs`: `fn(carry, x) -> (carry, y)`; the result is `(carry,
    ys)`.
    """
    columns, of_x = _flat(xs)
    carry, of_carry = _flat(init)
    length = columns[0].shape[0]
    if tf.executing_eagerly() and length > 0:
        return _scan_eagerly(fn, init, columns, of_x)
    return _scan_graph(fn, carry, of_carry, columns, of_x)


def _scan_eagerly(fn: Any, carry: Any, columns: list[Any], of_x: Any) -> tuple[Any, Any]:
    rows = [tf.unstack(column) for column in columns]
    outputs = []
    for i in range(len(rows[0])):
        carry, y = fn(carry, tree.unflatten(of_x, [row[i] for row in rows]))
        outputs.append(tree.flatten(y))
    leaves = [tf.stack([output[0][j] for output in outputs]) for j in range(len(outputs[0][0]))]
    return carry, tree.unflatten(outputs[0][1], leaves)


def _scan_graph(
    fn: Any, carry: list[Any], of_carry: Any, columns: list[Any], of_x: Any
) -> tuple[Any, Any]:
    count = len(carry)
    of_y = []

    def step(*leaves: Any) -> list[Any]:
        result = fn(tree.unflatten(of_carry, leaves[:count]), tree.unflatten(of_x, leaves[count:]))
        ys, structure = _flat(result[1])
        of_y.append(structure)
        return _same_structure(result[0], of_carry, "scan") + ys

    # TensorArrays need to know what they will hold before the loop is traced: trace one step on the
    # side.
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in carry]
    specs += [tf.TensorSpec(x.shape[1:], x.dtype) for x in columns]
    outputs = (
        tf.function(step, autograph=False).get_concrete_function(*specs).structured_outputs[count:]
    )
    length = columns[0].shape[0]
    size = tf.shape(columns[0])[0] if length is None else length
    arrays = [tf.TensorArray(y.dtype, size, element_shape=y.shape) for y in outputs]
    inputs = [tf.TensorArray(x.dtype, size, element_shape=x.shape[1:]).unstack(x) for x in columns]

    def goes_on(i: Any, *_: Any) -> Any:
        return i < size

    def body(i: Any, carry: list[Any], arrays: list[Any]) -> tuple[Any, list[Any], list[Any]]:
        leaves = step(*carry, *[x.read(i) for x in inputs])
        written = [a.write(i, y) for a, y in zip(arrays, leaves[count:], strict=True)]
        return i + 1, leaves[:count], written

    start = tf.constant(0)
    # XLA differentiates only loops whose length it can bound.
    _, carry, arrays = tf.while_loop(goes_on, body, (start, carry, arrays), maximum_iterations=size)
    ys = [a.stack() for a in arrays]
    for stacked, y in zip(ys, outputs, strict=True):
        stacked.set_shape([length, *y.shape])  # for the tracer alone: no operation
    return tree.unflatten(of_carry, carry), tree.unflatten(of_y[0], ys)
