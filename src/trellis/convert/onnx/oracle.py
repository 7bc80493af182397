"""What the source computes: by onnxruntime where it is installed, else by ONNX's own evaluator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..verify import distance, tolerance

# onnxruntime's sigmoid, for one, is off by a tenth where its results are of size 1e-7.
_TINY = 1e-5


class Oracle:
    """Runs the original model; `why` explains why it could not."""

    def __init__(
        self, source: str | Path | bytes | onnx.ModelProto, proto: onnx.ModelProto
    ) -> None:
        # A path, for external data in its folder; otherwise the bytes, before anything is changed.
        is_path = isinstance(source, (str, Path))
        self._source: Any = str(source) if is_path else proto.SerializeToString()
        self.why = ""

    def outputs(self, example: Mapping[str, Any]) -> list[Any] | None:
        """The outputs on the example, or None."""
        for run in (_with_onnxruntime, _with_reference):
            try:
                found = run(self._source, example)
            except Exception as error:
                self.why = (str(error).strip().splitlines() or [repr(error)])[0]
                continue
            if found is not None:
                return found
        return None

    def optimized_outputs(self, example: Mapping[str, Any]) -> list[Any] | None:
        """The same by onnxruntime with all that it does to make a model faster: how far that is
        from the plain outputs tells how well the model is conditioned."""
        try:
            return _with_onnxruntime(self._source, example, optimized=True)
        except Exception:
            return None

    def values(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Intermediate results by name, as many as there are."""
        try:
            is_path = isinstance(self._source, str)
            model = onnx.load(self._source) if is_path else onnx.load_from_string(self._source)
            known = {info.name for info in model.graph.output}
            names = [name for node in model.graph.node for name in node.output]
            names = [name for name in names if name and name not in known]
            model.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, names))
            found = _with_onnxruntime(model.SerializeToString(), example)
        except Exception:
            return {}
        return dict(zip(names, (found or [])[-len(names) :]))


def excused(
    oracle: Oracle, example: Mapping[str, Any], expected: list[Any], found: list[Any]
) -> str:
    """Why outputs that differ are no sign of a wrong conversion, in words; "" if they are."""
    if len(found) != len(expected):
        return ""
    pairs = [(x, y) for x, y in zip(found, expected) if distance(x, y) > tolerance(y)]
    if not all([y.dtype.kind == "f" and x.shape == y.shape for x, y in pairs]):
        return ""
    sizes = [float(np.abs(y).max()) for _, y in pairs]
    if max(sizes) < _TINY and max([np.abs(x).max() for x, _ in pairs]) < 2 * _TINY:
        return f"not verified: outputs no larger than {max(sizes):.0e} are too small to compare"
    again = oracle.optimized_outputs(example)
    if again is None:
        return ""
    own = [distance(x, y) for x, y in zip(again, expected)]
    ours = [distance(x, y) for x, y in zip(found, expected)]
    if all([a <= max(tolerance(y), 2 * b) for a, b, y in zip(ours, own, expected)]):
        return (
            f"verified as far as onnxruntime agrees with itself: it differs by {max(own):.1e} of "
            f"an output's scale when it optimizes, the converted model by {max(ours):.1e}"
        )
    return ""


def _with_onnxruntime(
    source: str | Path | bytes | onnx.ModelProto,
    example: Mapping[str, Any],
    optimized: bool = False,
) -> list[Any] | None:
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    )
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(example)))


def _with_reference(
    source: str | Path | bytes | onnx.ModelProto, example: Mapping[str, Any]
) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(source).run(None, dict(example)))
