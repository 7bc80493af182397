"""Gradients of several batches for one update, each weighed by its examples.

The update is that of the joined batch, also where the last batch of an epoch is smaller, and where
fewer batches than asked for are left at its end. A run is checkpointed and stopped between updates
only, so that sums of gradients are in no checkpoint.
"""

from typing import Any

import numpy as np

from .._array.casting import astype
from .._array.casting import dtype as dtype_of
from .._array.compilation import compile as compiled
from .._array.creation import asarray
from .._core import tree
from .._core.container import Container
from .._core.typing import Array
from ._step import Parts, halves


class AccumulatedStep:
    """The two halves of a step, called at different times: `add` for each batch, `update` for all
    of them."""

    def __init__(self, parts: Parts, every: int, device: Any, *, is_compiled: bool):
        self.every = every
        self._place = {"backend": parts.backend, "device": device}
        gradients, update = halves(parts)

        def first(v: Container, buffers: Container, scale: Container, key: Array, size: Array,
                  inputs: tuple[Any, ...], targets: tuple[Any, ...]) -> Any:  # fmt: skip
            grads, new_buffers, values = gradients(v, buffers, scale, key, inputs, targets)
            return tree.map(lambda g: g * _like(size, g), grads), new_buffers, values

        def joined(one: Container, other: Container) -> Any:
            return tree.map(lambda g, h: g + h, one, other)

        def last(v: Container, state: Any, scale: Container, total: Container, size: Array) -> Any:
            return update(v, state, scale, tree.map(lambda g: g / _like(size, g), total))

        self._first = compiled(first) if is_compiled else first
        self._joined = compiled(joined) if is_compiled else joined
        self._last = compiled(last) if is_compiled else last
        self._total: Any = None
        self.sizes: list[int] = []

    def add(self, v: Container, buffers: Container, scale: Container, key: Array, size: int,
            inputs: tuple[Any, ...], targets: tuple[Any, ...]) -> Any:  # fmt: skip
        """Add the gradients of one batch; gives the buffers and the values of the batch."""
        number = self._number(size)
        found = self._first(v, buffers, scale, key, number, inputs, targets)
        grads, new_buffers, values = found
        self._total = grads if self._total is None else self._joined(self._total, grads)
        self.sizes.append(size)
        return new_buffers, values

    @property
    def is_due(self) -> bool:
        """Whether there are enough batches for an update."""
        return len(self.sizes) == self.every

    def update(self, v: Container, state: Any, scale: Container) -> Any:
        """The update from the gradients so far, which are forgotten."""
        total, size = self._total, self._number(sum(self.sizes))
        self._total, self.sizes = None, []
        return self._last(v, state, scale, total, size)

    def _number(self, value: int) -> Any:
        return asarray(np.float32(value), **self._place)


def _like(size: Array, g: Array) -> Any:
    return astype(size, str(dtype_of(g)))
