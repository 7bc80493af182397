"""Triton beside TensorFlow: torch's compiler imports it, and that would end the process.

TensorFlow 2.20 and later puts the LLVM that it contains where libraries look for symbols first, and
Triton 3.7 and later, which contains another LLVM, would find TensorFlow's. Loaded with
RTLD_DEEPBIND, it finds its own. The other order is harmless.
"""

import contextlib
import os
import sys
from importlib import import_module
from importlib.util import find_spec


def load_beside_tensorflow() -> None:
    """Import Triton, if it is installed and TensorFlow came first."""
    deep = getattr(os, "RTLD_DEEPBIND", None)  # the C library of GNU has it
    if deep is None or "tensorflow" not in sys.modules or "triton" in sys.modules:
        return
    if find_spec("triton") is None:
        return
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | deep)
    try:
        # A Triton that cannot be imported is what torch's compiler looks for itself.
        with contextlib.suppress(Exception):
            import_module("triton")
    finally:
        sys.setdlopenflags(before)
