"""One training step of a rank: its gradients, one all-reduce, and the update that all make alike.

Gradients, the floating-point buffers (running statistics), the loss and the metrics are sent
together, in one buffer for each data type. On JAX and TensorFlow the all-reduce is a part of the
one compiled step. On torch and NumPy, and for a batch that does not divide evenly, it runs between
two compiled halves.
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

_NAME = "fit"


class DistributedStep:
    """`step((v, buffers, state, scale), (key, weight, inputs, targets), is_even)`."""

    def __init__(self, parts: Parts, *, is_compiled: bool, is_synchronized: bool):
        backend = parts.backend
        self._xp: Any = load(backend)
        self._engine = group().engine(backend)
        self._names = ["loss", *parts.metrics]
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
            *state, values = self._whole(kept, given)
        else:
            kept = tree.map(local, kept)
            buffers, rest = self._first(kept, given)
            *state, values = self._second(kept, rest, all_reduce(buffers))
        numbers = local(values)
        return *state, {name: numbers[i] for i, name in enumerate(self._names)}

    def _both(self, kept: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        buffers, rest = self._packed(kept, given)
        return self._applied(kept, rest, all_reduce(buffers))

    def _packed(self, kept: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """What this rank adds to the sum, and the buffers that are no sums."""
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
        numbers = [
            self._xp.astype(self._xp.reshape(self._as_array(values[name], v), ()), kind)
            for name in self._names
        ]
        floats, rest = _apart(new_buffers)
        floats = [x * self._xp.astype(one, x.dtype) for x in floats]
        sums = (grads, floats, self._xp.stack(numbers) * self._xp.astype(one, kind))
        return Layout(_NAME, sums).pack(sums), rest

    def _applied(self, kept: tuple[Any, ...], rest: list[Any], sums: dict[str, Any]) -> Any:
        """The update, from the sums over all ranks; the same bits on each of them."""
        v, buffers, state, scale = kept
        floats, _ = _apart(buffers)
        numbers = self._xp.zeros(len(self._names), dtype=self._kind_of_values(v))
        grads, floats, numbers = Layout(_NAME, (v, floats, numbers)).unpack(sums)
        new_v, new_state, new_scale = self._update(v, state, scale, grads)
        return new_v, _together(buffers, floats, rest), new_state, new_scale, numbers

    def _kind_of_values(self, v: Nest) -> Any:
        """The data type in which losses travel: that of the variables, if it is wide enough."""
        names = [str(dtype_of(x)) for x in tree.leaves(v)]
        return self._xp.float64 if "float64" in names else self._xp.float32

    def _as_array(self, x: object, v: Nest) -> Any:
        return x if hasattr(x, "dtype") else self._xp.asarray(x, dtype=self._kind_of_values(v))


def _apart(buffers: Nest) -> tuple[list[Any], list[Any]]:
    leaves = tree.leaves(buffers)
    return [x for x in leaves if is_float(x)], [x for x in leaves if not is_float(x)]


def _together(like: Nest, floats: list[Any], rest: list[Any]) -> Any:
    leaves, spec = tree.flatten(like)
    floats, rest = list(floats), list(rest)
    return tree.unflatten(spec, [(floats if is_float(x) else rest).pop(0) for x in leaves])
