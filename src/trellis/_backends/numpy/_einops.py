"""einops inside gradients on NumPy: it recognises ndarrays by type, and traced arrays by this file.

Trellis never imports einops. When a gradient starts and the program has imported einops, a subclass
of its NumPy backend is created, which is how einops finds its backends.
"""

import sys
from typing import Any

from ..._core.errors import TracingError
from ._helpers import NATIVE
from ._private import einops_backend
from ._tape import TracedArray

__all__ = ["explain", "introduce"]

_floats = frozenset([NATIVE[name] for name in ("float16", "bfloat16", "float32", "float64")])
_introduced: list[Any] = []


def introduce() -> None:
    """Register traced arrays with einops, if it is imported."""
    if not _introduced and "einops" in sys.modules:
        _make_backend()


def explain(error: RuntimeError) -> None:
    """After an error of einops: raise ours, if einops was first imported while the function ran."""
    if not _introduced and "einops" in sys.modules and "einops" in str(error):
        _make_backend()
        raise TracingError(
            "einops was imported for the first time inside a function that is being differentiated "
            "on the numpy backend, when it was too late to introduce the function's arrays to it. "
            "Write `import einops` before the gradient is asked for; the next call will work."
        ) from error


def _make_backend() -> None:
    base: Any = einops_backend()
    if base is None:
        return

    class TracedBackend(base):
        """NumPy's functions, which traced arrays implement themselves."""

        framework_name = "trellis"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, TracedArray)

        def is_float_type(self, x: Any) -> bool:
            return x.dtype in _floats

    _introduced.append(TracedBackend)
