"""How every contestant is measured: made in a fresh process, checked, and then timed in turns.

`import sizes` and `rss` by their bare names: peers in another environment use this file too.
"""

import ctypes
import gc
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "peers"), str(HERE)]

import rss
from serve import serve

CHECKED = 3


def offer(build):
    """Serve `build(name, mode, path, variant)`, which gives a step."""
    base = rss.held()  # everything is imported

    def make(work, name, mode, path, variant):
        gc.enable()
        step = build(name, mode, path, variant)
        forget_what_drew_the_weights()
        start = time.perf_counter()
        losses = [float(step())]
        first = time.perf_counter() - start
        give_back_free_pages()  # a compiler has used many
        rss.forget_peak()
        losses += [float(step()) for _ in range(CHECKED - 1)]
        peak = rss.peak() - base
        gc.disable()
        return {"losses": losses, "first": first, "memory": peak}, lambda: float(step())

    serve(make, clock=time.perf_counter)


def forget_what_drew_the_weights():
    """Some read the first weights, others draw them: what JAX compiled for that (100 MB of programs
    for a ResNet) is no part of a step's memory."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    give_back_free_pages()


def give_back_free_pages():
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def two_cores():
    """Each framework may use two threads, where the machine has more."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
