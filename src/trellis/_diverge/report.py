"""Comparing two recordings call by call, and saying what was found."""

import difflib
import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core.dispatch import load
from .._core.files import replace_file
from ..convert.verify import distance
from .picture import picture
from .recording import NO_CALL, Call, Recording

# The widest difference over the scale of a result that rounding alone makes in a call or two, as
# convert.verify has it: sums are taken in another order.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float16": 2e-2, "bfloat16": 1e-1}
DEFAULT_TOLERANCE = 1e-4


@dataclass
class Difference:
    """A call whose result on one framework differs from the first one's."""

    number: int
    call: Call
    backend: str
    kinds: list[str]  # "value", "gradient", "dtype", "shape", "nan"
    size: float  # relative to the largest number of the result
    detail: str = ""

    def __str__(self) -> str:
        call = self.call
        place = f" at {call.where}" if call.where else ""
        inside = f" in {call.module}" if call.module else ""
        used = f" with {', '.join(call.variables)}" if call.variables else ""
        size = "" if math.isinf(self.size) else f"worst difference {self.size:.1e} of its scale"
        shape = ""
        if call.outputs:
            x = np.asarray(call.outputs[0])
            shape = f"({x.dtype.name}, shape {x.shape})"
        words = " ".join([part for part in (size, shape) if part])
        kinds = " and ".join(self.kinds)
        detail = f": {self.detail}" if self.detail else ""
        return (
            f"call {self.number}: {call.name}{place}{inside}{used}: {words}, {kinds}, "
            f"on {self.backend}{detail}"
        )


@dataclass
class Step:
    """How far one call is from the first framework's."""

    number: int
    call: Call
    size: float  # of the value; nan where there is nothing to compare
    tolerance: float


@dataclass
class Report:
    """What `diverge` found. `str(report)` describes it, `draw` draws it."""

    first: str  # what the others are compared with
    others: list[str]
    mode: str
    differences: list[Difference] = field(default_factory=list)
    steps: dict[str, list[Step]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    count: int = 0  # of calls

    @property
    def is_same(self) -> bool:
        """Whether no call differs."""
        return not self.differences

    def __str__(self) -> str:
        names = ", ".join(self.others)
        head = f"{self.count} calls, {names} against {self.first}, {self.mode}"
        if not self.differences:
            worst = max(
                [s.size for steps in self.steps.values() for s in steps if math.isfinite(s.size)]
                + [0.0]
            )
            lines = [f"{head}: no call differs; the worst difference is {worst:.1e} of its scale"]
        else:
            lines = [f"{head}: {len(self.differences)} differ", str(self.differences[0])]
            if len(self.differences) > 1:
                worst_one = max(self.differences, key=lambda d: d.size)
                lines.append(f"the largest is {worst_one}")
        return "\n".join([*lines, *self.remarks])

    def _repr_html_(self) -> str:
        """What notebooks show: the picture, and the words below it."""
        from .._core import html  # for notebooks only

        return self.draw() + html.text(self)

    def draw(self, path: str | os.PathLike[str] | None = None) -> str:
        """The difference along the calls as an SVG picture, for light and dark pages; written to
        `path` if there is one."""
        text = picture(self)
        if path is not None:
            replace_file(path, [text.encode()])
        return text


def compare(
    recordings: list[Recording],
    *,
    mode: str = "accumulated",
    tolerance: float | None = None,
    labels: list[str] | None = None,
) -> Report:
    """The report on recordings of one program: the first one against each other one."""
    first, *others = recordings
    names = labels or [recording.backend for recording in recordings]
    report = Report(names[0], names[1:], mode, count=len(first.calls))
    for name, other in zip(names[1:], others, strict=True):
        report.steps[name] = []
        for number, one, two, is_whole in _pairs(first.calls, other.calls, report, name):
            _compare_calls(report, name, number, one, two, tolerance, is_whole, first, other)
    report.differences.sort(key=lambda found: found.number)
    return report


def _compare_calls(
    report: Report, name: str, number: int, one: Call, two: Call, tolerance: float | None,
    is_whole: bool, first: Recording, other: Recording,
) -> None:  # fmt: skip
    if one.remark or two.remark:
        reason = one.remark or two.remark
        if reason != NO_CALL:
            report.remarks.append(f"call {number}: {one.name} is not compared: {reason}")
        report.steps[name].append(Step(number, one, math.nan, 0.0))
        return
    kinds: dict[str, str] = {}
    size = 0.0
    allowed = 0.0
    xs, ys = one.outputs, two.outputs
    if not is_whole:  # another way to the same result: compare what both have
        xs, ys = xs[:1], ys[:1]
    if len(xs) != len(ys):
        kinds["shape"] = f"{len(ys)} results where there are {len(xs)}"
    for x, y in zip(xs, ys):
        found, allow = _of_arrays(x, y, tolerance, kinds, first, other)
        size, allowed = max(size, found), max(allowed, allow)
    if is_whole and len(one.gradients) == len(two.gradients):
        for x, y in zip(one.gradients, two.gradients):
            slope: dict[str, str] = {}
            found, _ = _of_arrays(x, y, tolerance, slope, first, other)
            if slope:
                kinds.setdefault("gradient", slope.get("shape", ""))
                size = max(size, found)
    report.steps[name].append(Step(number, one, size, allowed))
    if kinds:
        detail = "; ".join([text for text in kinds.values() if text])
        report.differences.append(Difference(number, one, name, list(kinds), size, detail))


def _of_arrays(
    x: np.ndarray, y: np.ndarray, tolerance: float | None, kinds: dict[str, str], first: Recording,
    other: Recording,
) -> tuple[float, float]:  # fmt: skip
    x, y = np.asarray(x), np.asarray(y)
    allowed = _tolerance(x, y) if tolerance is None or x.dtype.kind in "biu" else tolerance
    if x.shape != y.shape:
        kinds["shape"] = f"{y.shape} instead of {x.shape}"
        return math.inf, allowed
    if x.dtype != y.dtype and not _is_narrowed(x.dtype, y.dtype, {first.backend, other.backend}):
        kinds["dtype"] = f"{y.dtype.name} instead of {x.dtype.name}"
    nans = [np.isnan(a) if a.dtype.kind in "fc" else np.zeros(a.shape, bool) for a in (x, y)]
    if x.dtype.name != "bfloat16" and not np.array_equal(nans[0], nans[1]):
        kinds["nan"] = f"{int(nans[1].sum())} nan instead of {int(nans[0].sum())}"
        return math.inf, allowed
    size = distance(y, x)
    if size > allowed:
        kinds["value"] = _worst_place(x, y)
    return size, allowed


def _tolerance(x: np.ndarray, y: np.ndarray) -> float:
    """By the coarser of both types."""
    names = (x.dtype.name, y.dtype.name)
    if all([a.dtype.kind in "biu" for a in (x, y)]):
        return 0.0
    return max([TOLERANCES.get(name, DEFAULT_TOLERANCE) for name in names])


def _is_narrowed(one: Any, two: Any, backends: set[str]) -> bool:
    """JAX has 32-bit integers where the others have 64-bit ones."""
    if one.kind != two.kind or one.kind not in "iu":
        return False
    return not all([load(name).ABILITIES.is_always_64_bit for name in backends])


def _worst_place(x: np.ndarray, y: np.ndarray) -> str:
    if x.dtype.kind not in "fc" or x.size == 0:
        return ""
    kind = "complex128" if x.dtype.kind == "c" else "float64"
    gap = np.abs(x.astype(kind) - y.astype(kind))
    gap = np.where(np.isnan(gap), 0, gap)
    place = np.unravel_index(int(np.argmax(gap)), x.shape)
    at = ", ".join([str(int(i)) for i in place])
    return f"at [{at}] {y[place]:.6g} instead of {x[place]:.6g}"


# Which calls belong together ----------------------------------------------------------------------


def _pairs(
    ones: list[Call], twos: list[Call], report: Report, name: str
) -> list[tuple[int, Call, Call, bool]]:
    """Calls of two runs that belong together. Where a public function is made of other calls on
    one framework than on another, the last ones do: both give its result."""
    if [_key(call) for call in ones] == [_key(call) for call in twos]:
        return [(i, *pair, True) for i, pair in enumerate(zip(ones, twos, strict=True))]
    found: list[tuple[int, Call, Call, bool]] = []
    left, right = _groups(ones), _groups(twos)
    keys = [[_group_key(group) for group in side] for side in (left, right)]
    matcher = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag != "equal":
            alone = [calls[0][1].name for calls in left[a0:a1]]
            other = [calls[0][1].name for calls in right[b0:b1]]
            report.remarks.append(
                f"{report.first} calls {', '.join(alone) or 'nothing'} where {name} calls "
                f"{', '.join(other) or 'nothing'}; these are not compared"
            )
            continue
        for these, those in zip(left[a0:a1], right[b0:b1], strict=True):
            if [call.op for _, call in these] == [call.op for _, call in those]:
                steps = zip(these, those, strict=True)
                found += [(number, x, y, True) for (number, x), (_, y) in steps]
            else:
                found.append((these[-1][0], these[-1][1], those[-1][1], False))
    return found


def _key(call: Call) -> tuple[str, str, str, str]:
    return call.op, call.public, call.where, call.module


def _groups(calls: list[Call]) -> list[list[tuple[int, Call]]]:
    found: list[list[tuple[int, Call]]] = []
    for i, call in enumerate(calls):
        if found and call.public and found[-1][-1][1].group == call.group:
            found[-1].append((i, call))
        else:
            found.append([(i, call)])
    return found


def _group_key(group: list[tuple[int, Call]]) -> tuple[str, str]:
    call = group[0][1]
    return call.public or call.op, call.module
