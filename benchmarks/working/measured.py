"""How every contestant is measured: made in a fresh process, checked, and then timed in turns.

`import sizes` and `rss` by their bare names: peers in another environment use this file too.
"""

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
        start = time.perf_counter()
        losses = [float(step())]
        first = time.perf_counter() - start
        rss.forget_peak()
        losses += [float(step()) for _ in range(CHECKED - 1)]
        peak = rss.peak() - base
        gc.disable()
        return {"losses": losses, "first": first, "memory": peak}, lambda: float(step())

    serve(make, clock=time.perf_counter)


def two_cores():
    """Each framework may use two threads, where the machine has more."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
