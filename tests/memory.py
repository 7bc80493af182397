"""The memory of a worker stays small: compiled programs are forgotten now and then."""

import ctypes
import gc
import os
import sys
from pathlib import Path

MEGABYTE = 2**20


class Memory:
    """What this process holds, and how far it has grown since it last forgot what it compiled.

    Forgetting takes a second, and what the next test needs must be compiled again: it is done when
    the process is large, not after each file.
    """

    large = 1700 * MEGABYTE
    step = 300 * MEGABYTE

    def __init__(self):
        self.floor = 0

    def release_if_grown(self):
        if resident() > max(self.large, self.floor + self.step):
            forget_compiled_programs()
            self.floor = resident()


def resident():
    """The resident memory of this process in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGESIZE")


def forget_compiled_programs():
    if "jax" in sys.modules:
        import jax

        jax.clear_caches()
    if "torch._dynamo" in sys.modules:
        import torch

        torch._dynamo.reset()
    if "tensorflow" in sys.modules:
        from tensorflow.python.eager import context

        context.context().clear_kernel_cache()
    gc.collect()
    if sys.platform == "linux":
        # The allocator keeps freed pages otherwise.
        ctypes.CDLL(None).malloc_trim(0)
