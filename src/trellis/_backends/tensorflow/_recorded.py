"""Functions with a backward pass of their own, which keeps less than their operations would.

A tape keeps, for each operation, what its derivative may ask for: of a GELU four arrays, where one
is enough. Here the operations run unseen, and the tape is told of the whole. Derivatives of higher
order, and those of a graph as a whole, follow the operations.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ._private import is_recording, record

# The map from the gradients of what a function gives to one for each input.
Backward = Callable[..., list[Any]]


def recorded(
    formula: Callable[..., Any], forward: Callable[..., tuple[Any, Backward]], *xs: Any
) -> Any:
    """`formula(*xs)` of floating-point tensors, a tensor or a list of them; `forward` gives the
    same, and its backward pass.
    """
    if record is None or not record.should_record_backprop(xs):
        return formula(*xs)
    with record.stop_recording():
        y, backward = forward(*xs)

    def pull(*gs: Any) -> list[Any]:
        gs = tuple([tf.convert_to_tensor(g) for g in gs])  # gathers answer with IndexedSlices
        return _pulled(formula, xs, gs) if is_recording() else backward(*gs)

    record.record_operation("Recorded", y if isinstance(y, list) else [y], list(xs), pull)
    return y


def _pulled(formula: Callable[..., Any], xs: tuple[Any, ...], gs: tuple[Any, ...]) -> list[Any]:
    """The gradients by the operations, for somebody who differentiates them again."""
    copies = [tf.identity(x) for x in xs]  # one tensor may be given twice
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(copies)
        y = formula(*copies)
    found: list[Any] = tape.gradient(
        y if isinstance(y, list) else [y],
        copies,
        output_gradients=list(gs),
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )
    return found
