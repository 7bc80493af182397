"""Whether a converted model computes what its source does, and where it first does not."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._array.interchange import to_numpy
from .._core import tree
from .._core.errors import ConversionError
from ..graph import Node, run
from .module import ConvertedModule, native
from .reading import Reading

# The widest difference, over the scale of the outputs, that rounding alone makes: sums are taken in
# another order. A wrong operation is off by far more.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float16": 2e-2, "bfloat16": 1e-1}
DEFAULT_TOLERANCE = 1e-4


def verify(model: ConvertedModule, reading: Reading, to: str) -> str:
    """Compare the outputs on the example inputs; returns in words what was found.

    Differences are taken relative to the largest number of the output, so that numbers near zero
    do not decide. Raises with the first call that differs.
    """
    if reading.outputs is None:
        return "not verified: no example inputs"
    expected = [np.asarray(x) for x in tree.leaves(reading.outputs())]
    inputs = [native(x, to, None) for x in reading.example]
    found = [
        to_numpy(x) if hasattr(x, "dtype") else np.asarray(x)
        for x in tree.leaves(model.on_inputs(inputs))
    ]
    if len(expected) != len(found):
        raise ConversionError(
            f"{model.name}: {len(found)} outputs where {reading.source} gives {len(expected)}."
        )
    worst = 0.0
    for i, (x, y) in enumerate(zip(found, expected)):
        difference = distance(x, y)
        worst = max(worst, difference)
        if difference > tolerance(y):
            raise ConversionError(
                f"{model.name}: output {i} differs from {reading.source}'s by {difference:.1e} of "
                f"its scale. {_first_difference(reading, inputs, model)}"
            )
    if all([_is_constant(y) for y in expected]):
        return "not verified: every output is constant on the example inputs"
    return f"verified, largest difference {worst:.1e} of an output's scale"


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """The largest difference of two arrays relative to the largest finite number of the second;
    infinite where shapes, or the places of nan and infinity, differ."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        return float("inf")
    if y.size == 0:
        return 0.0
    kind = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
    x, y = x.astype(kind), y.astype(kind)
    finite = np.isfinite(y)
    if not (np.array_equal(finite, np.isfinite(x)) and _same(x[~finite], y[~finite])):
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


def _first_difference(reading: Reading, inputs: list[Any], model: ConvertedModule) -> str:
    if reading.values is None:
        return ""
    expected: Mapping[str, Any] = reading.values()
    found: list[str] = []

    def see(node: Node, result: Any) -> None:
        if found or node.result.name not in expected or not hasattr(result, "dtype"):
            return
        wanted = np.asarray(expected[node.result.name])
        difference = distance(to_numpy(result), wanted)
        if difference > tolerance(wanted):
            place = f" at {node.where}" if node.where else ""
            found.append(
                f"The first call that differs is {node.op.__name__}, from {node.source}{place}: "
                f"{difference:.1e} of its scale."
            )

    run(model.graph, model.values_of(inputs), see)
    return found[0] if found else "No single call differs: small differences add up."


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return bool(np.array_equal(x, y, equal_nan=True))


def _is_constant(x: np.ndarray) -> bool:
    return x.size < 2 or bool(np.ptp(np.nan_to_num(np.abs(x.astype(np.complex128)))) == 0)
