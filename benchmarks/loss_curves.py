"""Do the four frameworks draw one loss curve over a long run, also when the run moves from one to
another?

No times here: differences, relative to the loss of NumPy at the same step. The network goes through
convolution, batch norm, dropout, attention and an LSTM. Then every pair of frameworks: half of the
steps on one, saved, loaded on the other, and on to the end.
"""

import sys
import tempfile
from itertools import permutations
from pathlib import Path

import jax
import numpy as np
from harness import QUICK, Report

# The same program as in the short test.
from trellis.conformance.test_training import OPTIMIZERS, TOLERANCES, curve

BACKENDS = ("numpy", "jax", "torch", "tensorflow")
STEPS = 40 if QUICK else 200
MOVED = 20 if QUICK else 100


def difference(found, expected):
    return float(np.max(np.abs(found - expected) / np.abs(expected)))


def main():
    report = Report(
        "loss_curves", f"One loss curve on four frameworks: {STEPS} steps, and moved half-way"
    )
    too_far = []

    def note(what, apart, allowed):
        report.notes.append(f"{what}: at most {apart:.1e} apart, allowed {allowed:g}")
        print(report.notes[-1], flush=True)
        if apart > allowed:
            too_far.append(what)

    for dtype in TOLERANCES:
        with jax.enable_x64(dtype == "float64"):
            for optimizer in OPTIMIZERS:
                expected = curve("numpy", optimizer, dtype, STEPS)[0]
                for backend in BACKENDS[1:]:
                    found = curve(backend, optimizer, dtype, STEPS)[0]
                    apart = difference(found, expected)
                    note(f"{optimizer}, {dtype}, {backend} and numpy", apart, TOLERANCES[dtype])
    whole = {backend: curve(backend, "adam", "float32", MOVED)[0] for backend in BACKENDS}
    for first, second in permutations(BACKENDS, 2):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.safetensors"
            curve(first, "adam", "float32", MOVED // 2, path)
            moved = curve(second, "adam", "float32", MOVED, path)[0]
        apart = max(difference(moved, whole[first]), difference(moved, whole[second]))
        note(
            f"{MOVED // 2} steps on {first}, {MOVED // 2} on {second}", apart, TOLERANCES["float32"]
        )
    report.save()
    if too_far:
        sys.exit("too far apart: " + "; ".join(too_far))


if __name__ == "__main__":
    main()
