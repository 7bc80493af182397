"""64-bit types, on a framework that must be asked for them."""

import contextlib
import sys
from typing import Any


def wide_types(backend: str) -> contextlib.AbstractContextManager[Any]:
    """A context in which the backend has float64 and int64; JAX alone must be asked for them."""
    framework: Any = sys.modules.get(backend)
    return framework.enable_x64(True) if backend == "jax" else contextlib.nullcontext()
