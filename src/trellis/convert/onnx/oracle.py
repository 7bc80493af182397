"""What the source computes: by onnxruntime where it is installed, else by ONNX's own evaluator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ..._core.errors import ConversionError
from ..apart import INSTEAD
from ..verify import distance, tolerance
from .child import child
from .files import external_size

# onnxruntime's sigmoid, for one, is off by a tenth where its results are of size 1e-7.
_TINY = 1e-5


class Oracle:
    """Runs the original model, in a child process; `why` explains why it could not."""

    def __init__(
        self, source: str | Path | bytes | onnx.ModelProto, proto: onnx.ModelProto, folder: Any
    ) -> None:
        # A path, for external data in its folder; otherwise the bytes, before anything is changed.
        is_path = isinstance(source, (str, Path))
        self._source: Any = str(source) if is_path else proto.SerializeToString()
        self._beside = external_size(proto, folder)
        self.why = ""

    def outputs(self, example: Mapping[str, Any]) -> list[Any] | None:
        """The outputs on the example, or None."""
        try:
            return self._run(example)  # type: ignore[no-any-return]
        except (RuntimeError, TypeError) as error:
            self.why = str(error).splitlines()[0]
            return None
        except ConversionError as error:
            raise ConversionError(f"{error} {INSTEAD}") from None

    def optimized_outputs(self, example: Mapping[str, Any]) -> list[Any] | None:
        """The same by onnxruntime with all that it does to make a model faster: how far that is
        from the plain outputs tells how well the model is conditioned."""
        try:
            return self._run(example, optimized=True)  # type: ignore[no-any-return]
        except (RuntimeError, TypeError, ConversionError):
            return None

    def values(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Intermediate results by name, as many as there are."""
        try:
            return self._run(example, values=True)  # type: ignore[no-any-return]
        except (RuntimeError, TypeError, ConversionError):
            return {}

    def _run(self, example: Mapping[str, Any], **options: bool) -> Any:
        return child.run("onnxruntime", self._source, dict(example), beside=self._beside, **options)


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
