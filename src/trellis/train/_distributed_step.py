"""One training step of a rank: its gradients, one all-reduce, and the update that all make alike.

Gradients, the floating-point buffers (running statistics) and the loss are sent together, in one
buffer for each data type; the statistics of metrics stay on their rank until the epoch ends. On JAX
and TensorFlow the all-reduce is a part of the one compiled step. On torch and NumPy, and for a
batch that does not divide evenly, it runs between two compiled halves.
"""

from typing import Any

from .._array.casting import dtype as dtype_of
from .._array.compilation import compile as compiled
from .._core import tree
from .._core.dispatch import load
from .._core.typing import Nest
from ..distributed import all_reduce
from ..distributed._buffers import Layout
from ..distributed._group import group
from ..functional._statistics import joined
from ._precision import is_float
from ._step import Parts, halves
from ._trainable import gradients_like

_NAME = "fit"


class DistributedStep:
    """`step((v, buffers, state, scale), (key, weight, inputs, targets), is_even)`."""

    def __init__(self, parts: Parts, *, is_compiled: bool, is_synchronized: bool):
        backend = parts.backend
        self._xp: Any = load(backend)
        self._engine = group().engine(backend)
        self._metrics, self._optimizer = list(parts.metrics), parts.optimizer
        self._is_synchronized = is_synchronized
        self._gradients, self._update = halves(parts)
        # One program; also where statistics travel in the middle of it.
        self._whole: Any = None
        if is_compiled and (self._xp.ABILITIES.compiles_collectives or is_synchronized):
            self._whole = self._engine.compile(self._both, keep=True)
        self._first = compiled(self._packed) if is_compiled else self._packed
        self._second = compiled(self._applied) if is_compiled else self._applied

    def __call__(self, kept: tuple[Any, ...], given: tuple[Any, ...], *, is_even: bool) -> Any:
        local = self._engine.local
        if self._whole is not None and (is_even or self._is_synchronized):
            *state, loss, statistics = self._whole(kept, given)
        else:
            kept = tree.map(local, kept)
            buffers, rest, statistics = self._first(kept, given)
            *state, loss = self._second(kept, rest, all_reduce(buffers))
        return *state, {**tree.map(local, statistics), "loss": local(loss)}

    def _both(self, kept: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        buffers, rest, statistics = self._packed(kept, given)
        return *self._applied(kept, rest, all_reduce(buffers)), statistics

    def _packed(self, kept: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """What this rank adds to the sum, the buffers that are no sums, and its statistics."""
        v, buffers, _, scale = kept
        key, weight, inputs, targets = given
        one = self._xp.reshape(weight, ())
        if self._is_synchronized:
            with joined(all_reduce, weight):
                found = self._gradients(v, buffers, scale, key, inputs, targets, one)
        else:
            found = self._gradients(v, buffers, scale, key, inputs, targets, one)
        grads, new_buffers, values = found
        kind = self._kind_of_values(v)
        loss = self._xp.astype(self._xp.reshape(values["loss"], (1,)), kind)
        floats, rest = _apart(new_buffers)
        floats = [x * self._xp.astype(one, x.dtype) for x in floats]
        sums = (grads, floats, loss * self._xp.astype(one, kind))
        statistics = {name: values[name] for name in self._metrics}
        return Layout(_NAME, sums).pack(sums), rest, statistics

    def _applied(self, kept: tuple[Any, ...], rest: list[Any], sums: dict[str, Any]) -> Any:
        """The update, from the sums over all ranks; the same bits on each of them."""
        v, buffers, state, scale = kept
        floats, _ = _apart(buffers)
        loss = self._xp.zeros(1, dtype=self._kind_of_values(v))
        like = (gradients_like(self._optimizer, v), floats, loss)
        grads, floats, loss = Layout(_NAME, like).unpack(sums)
        new_v, new_state, new_scale = self._update(v, state, scale, grads)
        return new_v, _together(buffers, floats, rest), new_state, new_scale, loss[0]

    def _kind_of_values(self, v: Nest) -> Any:
        """The data type in which losses travel: that of the variables, if it is wide enough."""
        names = [str(dtype_of(x)) for x in tree.leaves(v)]
        return self._xp.float64 if "float64" in names else self._xp.float32


def _apart(buffers: Nest) -> tuple[list[Any], list[Any]]:
    leaves = tree.leaves(buffers)
    return [x for x in leaves if is_float(x)], [x for x in leaves if not is_float(x)]


def _together(like: Nest, floats: list[Any], rest: list[Any]) -> Any:
    leaves, spec = tree.flatten(like)
    floats, rest = list(floats), list(rest)
    return tree.unflatten(spec, [(floats if is_float(x) else rest).pop(0) for x in leaves])
