"""What the source computes: by onnxruntime where it is installed, else by ONNX's own evaluator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx


class Oracle:
    """Runs the model as it came; `why` says in words why it could not."""

    def __init__(self, source: Any, proto: onnx.ModelProto) -> None:
        # A path keeps external data beside it; otherwise the bytes, before anything is changed.
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


def _with_onnxruntime(source: Any, example: Mapping[str, Any]) -> list[Any] | None:
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(example)))


def _with_reference(source: Any, example: Mapping[str, Any]) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(source).run(None, dict(example)))
