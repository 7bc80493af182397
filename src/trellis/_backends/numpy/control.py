"""Control flow on NumPy is Python's own."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core import tree


def scan(fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    leaves, spec = tree.flatten(xs)
    carry, outputs = init, []
    for i in range(leaves[0].shape[0]):
        carry, y = fn(carry, tree.unflatten(spec, [leaf[i] for leaf in leaves]))
        outputs.append(y)
    if not outputs:  # one step on zeros finds the shapes of the outputs
        zeros = [np.zeros(leaf.shape[1:], leaf.dtype) for leaf in leaves]
        y = fn(init, tree.unflatten(spec, zeros))[1]
        return carry, tree.map(lambda part: np.empty((0, *np.shape(part)), part.dtype), y)
    return carry, tree.map(lambda *ys: np.stack(ys), *outputs)
