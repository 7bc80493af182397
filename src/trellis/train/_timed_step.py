"""A training step in three parts that can be timed: forward, backward and update.

A compiled step is one program, which cannot be asked how long its parts take. Here the forward
pass is a program of its own, run once more ("forward alone", which is no part of the step); of what
forward and backward take together, as much is forward, and the rest is backward.
"""

from typing import Any

from .._array.compilation import compile as compiled
from .._array.interchange import to_numpy
from .._core import tree
from .._core.container import Container
from .._core.typing import Array
from ._step import Parts, forward_of, halves
from ._timing import Clock


class TimedStep:
    """`step(v, buffers, state, scale, key, inputs, targets)`, with spans on a clock."""

    def __init__(self, parts: Parts, clock: Clock, *, is_compiled: bool):
        self._clock = clock
        gradients, update = halves(parts)
        forward = forward_of(parts)
        self._forward = compiled(forward) if is_compiled else forward
        self._gradients = compiled(gradients) if is_compiled else gradients
        self._update = compiled(update) if is_compiled else update
        self._is_first = True

    def __call__(self, v: Container, buffers: Container, state: Any, scale: Container, key: Array,
                 inputs: tuple[Any, ...], targets: tuple[Any, ...]) -> Any:  # fmt: skip
        if self._is_first:
            # Compilation is no part of a step; nothing that it computes is kept.
            with self._clock.measure("compile"):
                _wait(self._forward(v, buffers, key, inputs, targets))
                found = self._gradients(v, buffers, scale, key, inputs, targets)
                _wait(self._update(v, state, scale, found[0]))
            self._is_first = False
        with self._clock.measure("forward alone"):
            _wait(self._forward(v, buffers, key, inputs, targets))
        alone = self._clock.spans[-1][2]
        with self._clock.measure("forward and backward"):
            grads, new_buffers, values = self._gradients(v, buffers, scale, key, inputs, targets)
            _wait((grads, values))
        self._clock.split("forward", "backward", alone)
        with self._clock.measure("update"):
            new_v, new_state, new_scale = self._update(v, state, scale, grads)
            _wait(new_v)
        return new_v, new_buffers, new_state, new_scale, values


def _wait(nest: Any) -> None:
    """Until it is computed: frameworks give arrays back before that, and reading one waits."""
    leaves = [x for x in tree.leaves(nest) if hasattr(x, "dtype")]
    if leaves:
        to_numpy(min(leaves, key=lambda x: sum(tuple(x.shape))))
