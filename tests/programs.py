"""What JAX compiled in one test is there for the next, and for the next run.

The tests make some thirty thousand programs, most of them a line long; one in three was compiled
before, by another worker or before a worker forgot what it had (memory.py). JAX's own cache gives
them back in a sixth of the time. Its key has the program, the flags and the versions in it; its
folder is build/jax-programs, unless the environment names another.
"""

import contextlib
import functools
import importlib.metadata
import os
import shutil
import threading
from pathlib import Path

FOLDER = "JAX_COMPILATION_CACHE_DIR"
HERE = Path(__file__).resolve().parent.parent / "build" / "jax-programs"
# A run leaves about 20,000 programs. JAX's own limit takes a lock at each of them.
MOST = 100_000

os.environ.setdefault(FOLDER, str(HERE))
# By default only what takes a second to compile is kept.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# XLA compiles thousands of tiny programs once each: optimising them takes longer than they run.
_flags = "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
with contextlib.suppress(importlib.metadata.PackageNotFoundError):
    if importlib.metadata.version("jaxlib").startswith("0.10."):
        # Halves the time of a compilation; XLA ends the process at a flag that it no longer has.
        _flags += " --xla_cpu_use_fusion_emitters=false"
os.environ.setdefault("XLA_FLAGS", _flags)


def stay_few():
    """Begin anew when many versions of the programs have come together."""
    if HERE.is_dir() and sum(1 for _ in os.scandir(HERE)) > MOST:
        shutil.rmtree(HERE, ignore_errors=True)


@functools.cache
def share_contexts():
    """JAX makes a context of MLIR for each program, with all its dialects: a quarter of the time a
    small program takes to compile. Here each thread has one."""
    from jax._src.interpreters import mlir

    make, kept = getattr(mlir, "make_ir_context", None), threading.local()

    def of_this_thread():
        if not hasattr(kept, "context"):
            kept.context = make()
        return kept.context

    if make is not None:
        mlir.make_ir_context = of_this_thread
