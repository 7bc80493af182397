"""What JAX compiled in one test is there for the next.

The tests make some thirty thousand programs, most of them a line long; one in three was compiled
before, by another worker or before a worker forgot what it had (memory.py). JAX's own cache gives
them back in a sixth of the time. Its folder lives as long as the run, unless the environment names
one that stays.
"""

import functools
import os
import shutil
import tempfile
import threading

FOLDER = "JAX_COMPILATION_CACHE_DIR"
_made_here = []

if FOLDER not in os.environ:
    # Workers are started by this process and find the variable set.
    _made_here.append(tempfile.mkdtemp(prefix="trellis-tests-"))
    os.environ[FOLDER] = _made_here[0]
# By default only what takes a second to compile is kept.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def remove():
    """The folder, by the process that made it."""
    for folder in _made_here:
        shutil.rmtree(folder, ignore_errors=True)


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
