"""Functions with their own backward pass, which keeps less than their operations would.  A tape
keeps, for each operation, what its derivative may need: for a GELU four arrays, where one is
enough. Here the operations are not recorded, only the whole function. Derivatives of higher order,
and those of a graph as a whole, use the operations.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ._private import is_recording, record

# The map from the gradients of a function's results to those of its inputs.
Backward = Callable[..., list[Any]]


def recorded(
    formula: Callable[..., Any], forward: Callable[..., tuple[Any, Backward]], *xs: Any
) -> Any:
    """`formula(*xs)` of floating-point tensors, a tensor or a list of them; `forward` returns the
    same, and its backward pass.
    """
    if record is None or not record.should_record_backprop(xs):
        return formula(*xs)
    with record.stop_recording():
        y, backward = forward(*xs)

    def pull(*gs: Any) -> list[Any]:
        gs = tuple([tf.convert_to_tensor(g) for g in gs])  # gathers return IndexedSlices
        return _pulled(formula, xs, gs) if is_recording() else backward(*gs)

    record.record_operation("Recorded", y if isinstance(y, list) else [y], list(xs), pull)
    return y


def _pulled(formula: Callable[..., Any], xs: tuple[Any, ...], gs: tuple[Any, ...]) -> list[Any]:
    """The gradients from the operations, which can be differentiated again."""
    copies = [tf.identity(x) for x in xs]  # one tensor may be passed twice
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
