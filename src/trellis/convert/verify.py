"""Whether a converted model computes what its source does, and where it first does not."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.errors import ConversionError, NotSupportedError
from ..graph import Node, Value
from ..graph.program import call, resolved
from .left_open import Call
from .module import NARROW, ConvertedModule, has_64_bits, native
from .reading import Reading
from .trials import Trial, trials

# The widest difference, over the scale of the outputs, that rounding alone makes: sums are taken in
# another order. A wrong operation is off by far more.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float16": 2e-2, "bfloat16": 1e-1}
DEFAULT_TOLERANCE = 1e-4
# A program of so few operations is one that users take for the operations themselves: it must be
# right at nan and infinity too. In a model, where one nan spreads, differences there are reported.
FEW = 20
# Seconds for all trials beside the example and the first of them.
BUDGET = 5.0


def verify(model: ConvertedModule, reading: Reading, to: str) -> str:
    """Compare the outputs on the example, and on inputs like it; returns in words what was found.

    Shapes and data types must be equal. Differences are taken relative to the largest number of the
    output, so that numbers near zero do not decide; nan equals nan. Raises with the first call that
    differs. What was tried is noted for `report()`.
    """
    if reading.outputs is None:
        return "not verified: no example inputs"
    start = time.perf_counter()
    found = _Comparison(model, reading, to)
    found.compare(Trial("the example", list(reading.example), True, False), is_example=True)
    cost = time.perf_counter() - start
    if reading.run is None:
        reading.notes.tried.append(f"no other inputs: {reading.source} was run on the example only")
    else:
        is_small = sum(reading.notes.operations.values()) <= FEW
        # Hard numbers are meant to overflow; what NumPy and torch say about it is no news.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i, trial in enumerate(trials([np.asarray(x) for x in reading.example], is_small)):
                if reading.ordinary_only and not trial.is_ordinary:
                    found.skipped[trial.name] = reading.ordinary_only
                elif i > 0 and time.perf_counter() - start + cost > BUDGET:
                    found.skipped[trial.name] = "to save time"
                else:
                    found.compare(trial)
    found.note()
    if reading.example and found.is_constant():
        return "not verified: every output is constant on the inputs that were tried"
    return f"verified, largest difference {found.worst:.1e} of an output's scale"


@dataclass
class _Comparison:
    """Runs of the model and of its source on the same inputs."""

    model: ConvertedModule
    reading: Reading
    to: str
    worst: float = 0.0
    tried: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)  # in words
    undefined: dict[str, None] = field(default_factory=dict)  # by the source itself, in words
    seen: list[list[np.ndarray]] = field(default_factory=list)  # outputs of the source
    recorded: list[np.ndarray] = field(default_factory=list)  # outputs, each call with its inputs

    def compare(self, trial: Trial, is_example: bool = False) -> None:
        reading = self.reading
        if is_example:
            assert reading.outputs is not None
            expected = _arrays(reading.outputs())
        else:
            assert reading.run is not None
            try:
                expected = _arrays(reading.run([np.array(x) for x in trial.inputs]))
            except Exception as error:  # of any framework: it has no answer for these inputs
                self.skipped[trial.name] = f"{reading.source} raises {type(error).__name__}"
                return
        inputs = [native(x, self.to, None) for x in trial.inputs]
        try:
            found = _arrays(self.model.on_inputs(inputs))
        except Exception as error:
            if is_example:
                raise self._named(error, inputs) from error
            self._differs(trial, f"it raises {type(error).__name__}: {error}", inputs)
            return
        if len(expected) != len(found):
            raise ConversionError(
                f"{self.model.name}: {len(found)} outputs where {reading.source} gives "
                f"{len(expected)}."
            )
        self.tried.append(trial.name)
        self.seen.append(expected)
        for i, (x, y) in enumerate(zip(found, expected)):
            words = self._compared(x, y)
            if words:
                self._differs(trial, f"output {i} {words}", inputs, is_example, expected)
                return

    def _named(self, error: Exception, inputs: list[Any]) -> Exception:
        """The error with the operation of the source that it comes from."""
        known = self.model.values_of(inputs)
        for node in self.model.graph.nodes:
            try:
                known[node.result.name] = call(node, known)
            except Exception as found:
                place = f" at {node.where}" if node.where else ""
                return NotSupportedError(f"{node.source}{place}, as {self.to} runs it: {found}")
        return error

    def _compared(self, x: np.ndarray, y: np.ndarray) -> str:
        """In words how two arrays differ, or nothing."""
        if x.dtype.name not in (y.dtype.name, _dtype_for(self.to, y.dtype.name)):
            return f"is {x.dtype.name}, differs from {self.reading.source}'s, which is {y.dtype}"
        if x.shape != y.shape:
            return f"has the shape {x.shape}, differs from {self.reading.source}'s, {y.shape}"
        difference = distance(x, y)
        if difference > tolerance(y):
            return f"differs from {self.reading.source}'s by {difference:.1e} of its scale"
        self.worst = max(self.worst, difference)
        return ""

    def _differs(
        self,
        trial: Trial,
        words: str,
        inputs: list[Any],
        is_example: bool = False,
        expected: list[np.ndarray] | None = None,
    ) -> None:
        """Raise with the call that differs; or note where the source leaves the answer open."""
        place = "" if is_example else f" on inputs with {trial.name}"
        reading = self.reading
        if reading.trace is None:
            first = self._first_on_example(inputs) if is_example else ""
            if trial.is_hard and not self._is_small():
                self.differing.append(f"{trial.name}: {words}")
                return
            raise ConversionError(f"{self.model.name}: {words}{place}. {first}".rstrip())
        wrong = ""
        for node, difference, reason in self._single_calls(trial, inputs):
            if reason:
                self.undefined[reason] = None
            elif not wrong:
                where = f" at {node.where}" if node.where else ""
                wrong = (
                    f"The first call that differs is {node.op.__name__}, from {node.source}"
                    f"{where}: {difference}."
                )
        if not wrong and expected is not None and self._recorded_differs(expected):
            if trial.is_hard and self._has_open_operation():
                self.undefined[f"{reading.source} itself gives two answers there"] = None
                return
            wrong = (
                f"Each call is the one that {reading.source} recorded: the recorded program itself "
                "is not what the model computes there."
            )
        if not wrong and (self.undefined or not is_example):
            if not self.undefined:
                self.differing.append(f"{trial.name}: no single call differs, rounding adds up")
            return
        if trial.is_hard and not self._is_small():
            self.differing.append(f"{trial.name}: {wrong}")
            return
        wrong = wrong or "No single call differs: small differences add up."
        raise ConversionError(f"{self.model.name}: {words}{place}. {wrong}")

    def _has_open_operation(self) -> bool:
        names = [name for entry in self.reading.undefined for name in entry.names]
        return any([x.startswith(tuple(names)) for x in self.reading.notes.operations])

    def _recorded_differs(self, expected: list[np.ndarray]) -> bool:
        """Whether what the source recorded gives other outputs than the source."""
        pairs = list(zip(self.recorded, expected))
        return any([distance(x, y) > tolerance(y) for x, y in pairs])

    def _is_small(self) -> bool:
        return sum(self.reading.notes.operations.values()) <= FEW

    def _single_calls(self, trial: Trial, inputs: list[Any]) -> Iterator[tuple[Node, str, str]]:
        """Calls that differ when they are given what the source had there, with the difference and,
        where the source leaves the result open, with the reason."""
        assert self.reading.trace is not None
        expected = self.reading.trace([np.array(x) for x in trial.inputs])
        known = self.model.values_of(inputs)
        nodes, skipped = self.model.graph.nodes, -1
        for i, node in enumerate(nodes):
            if i <= skipped:
                continue
            wanted = expected.get(node.result.name)
            try:
                result = call(node, known)
            except Exception as error:
                # What the source gave for this operation may be the result of a later call.
                same = [j for j in range(i, len(nodes)) if self._first_of(j) <= i]
                skipped = next((j for j in same if nodes[j].result.name in expected), -1)
                wanted = expected.get(nodes[skipped].result.name) if skipped >= i else None
                yield node, f"it raises {type(error).__name__}", self._open(i, known, None, wanted)
                if wanted is None:
                    return
                known[nodes[skipped].result.name] = native(np.asarray(wanted), self.to, None)
                continue
            if wanted is not None and hasattr(result, "dtype"):
                wanted = np.asarray(wanted)
                x = to_numpy(result)
                difference = distance(x, wanted)
                words = ""
                if x.dtype.name != _dtype_for(self.to, wanted.dtype.name):
                    words = f"{x.dtype.name} for {wanted.dtype.name}"
                elif difference > tolerance(wanted):
                    words = f"{difference:.1e} of its scale"
                if words:
                    yield node, words, self._open(i, known, x, wanted)
                    result = native(wanted, self.to, None)
            known[node.result.name] = result
        self.recorded = _arrays(resolved(self.model.graph.outputs, known))

    def _open(self, place: int, known: dict[str, Any], found: Any, wanted: Any) -> str:
        """Why the source itself leaves open what differs in a result, or nothing."""
        node = self.model.graph.nodes[place]
        entries = [
            entry
            for entry in self.reading.undefined
            if any([node.source.startswith(name) for name in entry.names])
        ]
        if not entries or wanted is None or (found is not None and found.shape != wanted.shape):
            return ""
        if found is not None and found.dtype.name != _dtype_for(self.to, wanted.dtype.name):
            return ""
        first = self._first_of(place)
        names = _operands(self.model.graph.nodes[first : place + 1])
        arrays = {name: to_numpy(known[name]) for name in names if hasattr(known[name], "dtype")}

        def again(change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
            values = known | {k: native(change(x), self.to, None) for k, x in arrays.items()}
            for each in self.model.graph.nodes[first : place + 1]:
                values[each.result.name] = call(each, values)
            return to_numpy(values[node.result.name])

        looked_at = Call(list(arrays.values()), found, wanted, again)
        for entry in entries:
            mask = np.broadcast_to(entry.elements(looked_at), wanted.shape)
            # One matrix of a batch is enough to raise.
            is_so = (
                mask.any()
                if found is None
                else (distance(np.where(mask, wanted, found), wanted) <= tolerance(wanted))
            )
            if is_so:
                return f"{self.reading.source} leaves {entry.words} open in {node.source}"
        return ""

    def _first_of(self, place: int) -> int:
        """The first of the calls in a row that one operation of the source became."""
        nodes = self.model.graph.nodes
        mark = nodes[place].source, nodes[place].where
        while place > 0 and (nodes[place - 1].source, nodes[place - 1].where) == mark:
            place -= 1
        return place

    def _first_on_example(self, inputs: list[Any]) -> str:
        if self.reading.values is None:
            return ""
        expected: Mapping[str, Any] = self.reading.values()
        known = self.model.values_of(inputs)
        for node in self.model.graph.nodes:
            result = known[node.result.name] = call(node, known)
            if node.result.name not in expected or not hasattr(result, "dtype"):
                continue
            wanted = np.asarray(expected[node.result.name])
            difference = distance(to_numpy(result), wanted)
            if difference > tolerance(wanted):
                place = f" at {node.where}" if node.where else ""
                return (
                    f"The first call that differs is {node.op.__name__}, from {node.source}"
                    f"{place}: {difference:.1e} of its scale."
                )
        return "No single call differs: small differences add up."

    def is_constant(self) -> bool:
        """Whether no output changed from one input to the next, nor has two different numbers."""
        if len(self.seen) > 1:
            return all([_all_same(outputs) for outputs in zip(*self.seen)])
        return all([_is_one_number(y) for y in self.seen[0]])

    def note(self) -> None:
        lines = self.reading.notes.tried
        lines.append(f"compared on {', '.join(self.tried)}")
        lines += [f"not compared on {name}: {why}" for name, why in self.skipped.items()]
        lines += [f"different on {words}" for words in self.differing]
        lines += list(self.undefined)


def _operands(nodes: Sequence[Node]) -> list[str]:
    """The names of the values that go into some calls and come from none of them, in order."""
    made = {node.result.name for node in nodes}
    names: dict[str, None] = {}
    for node in nodes:
        for x in tree.leaves([list(node.args), node.attributes]):
            if isinstance(x, Value) and x.name not in made:
                names[x.name] = None
    return list(names)


def _arrays(nest: Any) -> list[np.ndarray]:
    return [
        np.asarray(to_numpy(x)) if hasattr(x, "dtype") else np.asarray(x) for x in tree.leaves(nest)
    ]


def _all_same(arrays: Any) -> bool:
    return all([np.array_equal(arrays[0], x, equal_nan=x.dtype.kind in "fc") for x in arrays[1:]])


def _is_one_number(x: np.ndarray) -> bool:
    first = x.reshape(-1)[:1]
    return bool(((x == first) | ((x != x) & (first != first))).all())


def _dtype_for(backend: str, name: str) -> str:
    """The type that an output of this one has on a backend."""
    return name if name not in NARROW or has_64_bits(backend) else NARROW[name]


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """The largest difference of two arrays relative to the largest finite number of the second;
    infinite where shapes, or the places of nan and infinity, differ."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        return float("inf")
    if y.size == 0:
        return 0.0
    kind: Any = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
    if x.dtype.kind in "iub" and y.dtype.kind in "iub":
        kind = np.longdouble  # holds integers of 64 bits
    x, y = x.astype(kind), y.astype(kind)
    finite = np.isfinite(y)
    if not np.array_equal(finite, np.isfinite(x)):
        return float("inf")
    # Which parts of a complex number that is not finite are nan depends on how one multiplies.
    if kind is not np.complex128 and not _same(x[~finite], y[~finite]):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = np.abs(y[finite]).max()
    return float(np.abs(x[finite] - y[finite]).max() / (scale if scale > 0 else 1.0))


def tolerance(expected: np.ndarray) -> float:
    """How far a result may be from an expected one of this type, relative to its scale."""
    if expected.dtype.kind in "iub":
        return 0.0
    return TOLERANCES.get(expected.dtype.name, DEFAULT_TOLERANCE)


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return bool(np.array_equal(x, y, equal_nan=True))
