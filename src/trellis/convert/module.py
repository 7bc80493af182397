"""The module that a foreign model becomes."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._array.casting import dtype
from .._array.creation import asarray
from .._array.device import to_device
from .._array.interchange import to_numpy
from .._core.container import Container
from .._core.typing import Array, Device, DTypeLike
from ..graph import Graph, program_of
from ..graph.graph import values_in
from ..nn import Module
from .reading import Notes, Reading
from .source import source_of


class ConvertedModule(Module):
    """A foreign model as an ordinary module: it runs, differentiates, compiles, trains and saves
    like any other.

    `v` and `buffers` have the names of the source with `/` between them; `graph` is the program.
    Created by `convert.from_torch` and the other readers.
    """

    def __init__(self, reading: Reading, *, to: str, device: Device | None = None):
        self.graph: Graph = reading.graph
        self.name = reading.name
        self.source = reading.source
        self.aliases = dict(reading.aliases)
        self._inputs = reading.inputs
        self._notes: Notes = reading.notes
        self._frozen = list(reading.frozen)
        self._to = to
        self._example = reading.example
        self._program = program_of(reading.graph)
        self._constants = {
            name: native(array, to, device) for name, array in reading.graph.constants.items()
        }
        v = Container()
        for chain, array in reading.variables.items():
            v[chain] = native(array, to, device)
        kept = Container()
        for chain, array in reading.buffers.items():
            kept[chain] = native(array, to, device)
        super().__init__(v=v, buffers=kept, backend=to, device=device, training=False)

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> Mapping[str, Any]:
        given = self.__node__.pending
        return Container() if given is None else given[0]

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.on_inputs(self._inputs.bind(self.name, args, kwargs))

    def on_inputs(self, inputs: list[Any]) -> Any:
        """What the graph computes from its inputs, one array each in their order."""
        out = self._program(self.v, self.buffers, self._constants, self.training, *inputs)
        if not self.graph.updates:
            return out
        out, updates = out
        if self.training:
            for chain, value in updates.items():
                self.register_buffer(chain, value)
        return out

    def to_device(self, device: Device, /) -> Any:
        """Move variables, buffers and constants to a device; returns the module."""
        self._constants = {name: to_device(x, device) for name, x in self._constants.items()}
        return super().to_device(device)

    def move_constants(self, backend: str) -> None:
        """Take the constants to another framework, where the variables of a call will be."""
        self._to = backend
        self._constants = {
            name: native(array, backend, None) for name, array in self.graph.constants.items()
        }

    def values_of(self, inputs: list[Any]) -> dict[str, Any]:
        """All that the calls of the graph may use, by name: what `graph.run` needs."""
        graph, v, kept = self.graph, self.v, self.buffers
        known: dict[str, Any] = {"training": self.training, **self._constants}
        known |= {value.name: v[chain] for chain, value in graph.variables.items()}
        known |= {value.name: kept[chain] for chain, value in graph.buffers.items()}
        known |= {value.name: x for value, x in zip(graph.inputs, inputs)}
        return known

    @property
    def frozen(self) -> list[str]:
        """The key paths of variables that the source does not train; `fit` leaves them alone.

        For `optim.groups(..., frozen=model.frozen)` too.
        """
        return sorted({*self._frozen, *constant_variables(self.graph)})

    def report(self) -> str:
        """What the conversion did: operations and their counts, casts, what was folded and fused,
        and whether the outputs were compared with the source's."""
        notes = self._notes
        calls = Counter([node.op.__name__ for node in self.graph.nodes])
        lines = [
            f"{self.name}, converted from {self.source} to {self._to}: {notes.verified}",
            *[f"  {line}" for line in notes.tried],
            f"  variables {len(self.graph.variables)}, buffers {len(self.graph.buffers)}, "
            f"constants {len(self.graph.constants)}",
            f"  operations of the source: {sum(notes.operations.values())} of "
            f"{len(notes.operations)} kinds",
            f"  calls now: {sum(calls.values())} of {len(calls)} kinds (folded {notes.folded}, "
            f"dropped {notes.dropped})",
        ]
        lines += [f"    {count:5} {name}" for name, count in calls.most_common()]
        if notes.fused:
            lines.append(f"  put together again: {_listed(notes.fused)}")
        if notes.casts:
            lines.append(f"  casts made: {_listed(notes.casts)}")
        if notes.narrowed:
            lines.append(
                f"  {notes.narrowed} integers of 64 bits became 32 bits wide, "
                f"since {self._to} has no others here"
            )
        lines += [f"  {remark}" for remark in notes.remarks]
        return "\n".join(lines)

    def to_source(self, name: str | None = None) -> str:
        """Readable Trellis code that computes the same: a module with the same variables.

        `name` is that of its class. Weights go from here to there with `save_weights` and
        `load_weights`.
        """
        state = self.state_dict()
        return source_of(
            self.graph,
            name=name or self.name,
            source=self.source,
            constants={name: to_numpy(x) for name, x in self._constants.items()},
            dtypes={chain: str(dtype(state[chain])) for chain in state.key_chains()},
        )

    def extra_repr(self) -> str:
        return f"from {self.source}, {len(self.graph.nodes)} calls"


def constant_variables(graph: Graph) -> list[str]:
    """Variables from which no gradient can come: all their uses are `stop_gradient`."""
    used: dict[str, set[str]] = {}
    for node in graph.nodes:
        for value in values_in((node.args, node.attributes)):
            used.setdefault(value.name, set()).add(node.op.__name__)
    return [chain for chain, value in graph.variables.items()
            if used.get(value.name) == {"stop_gradient"}]  # fmt: skip


def native(array: Array, backend: str, device: Device) -> Any:
    """A NumPy array as one of the backend; 64-bit integers become narrower where it has none."""
    return asarray(narrowed(array, backend), backend=backend, device=device, copy=True)


NARROW = {"int64": "int32", "uint64": "uint32"}  # where a backend has no 64-bit integers


def narrowed(array: Array, backend: str) -> Any:
    """The array with 32-bit integers in the place of 64-bit ones, where the backend has no others.

    A number that does not fit is clipped: it means "to the end" in slices and masks.
    """
    array = np.asarray(array)
    if array.dtype.name not in NARROW or has_64_bits(backend):
        return array
    narrow = np.dtype(NARROW[array.dtype.name])
    return np.clip(array, np.iinfo(narrow).min, np.iinfo(narrow).max).astype(narrow)


def has_64_bits(backend: str) -> bool:
    """Whether integers of a backend can have 64 bits, as it is set up now."""
    from .._core.errors import PrecisionError

    try:
        asarray(0, dtype="int64", backend=backend)
    except PrecisionError:
        return False
    return True


def _listed(counts: Counter[str]) -> str:
    return ", ".join([f"{name} {count}" for name, count in counts.most_common()])
