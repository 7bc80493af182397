"""One contestant in our own environment: worker.py native | trellis    backend"""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from working.measured import offer, two_cores

two_cores()

import numpy as np


def main(who, backend):
    if backend == "torch" and "compiled" in sys.argv:
        # What torch.compile imports is no part of a step's memory.
        importlib.import_module("torch._inductor.compile_fx")
    if who == "native":
        module = importlib.import_module(f"working.with_{backend}")

        def build(name, mode, path, variant):
            with np.load(path) as stored:
                return module.step(name, mode, {key: stored[key] for key in stored}, variant)
    else:
        import trellis
        from working import with_trellis

        trellis.zeros(1, backend=backend)  # its modules are loaded at the first use

        def build(name, mode, path, variant):
            return with_trellis.step(backend, name, mode, variant)

    offer(build)


if __name__ == "__main__":
    main(*sys.argv[1:3])
