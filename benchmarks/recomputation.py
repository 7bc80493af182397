"""Peak memory and time of a training step with and without `nn.Checkpoint`: 24 layers of a GPT.

python benchmarks/recomputation.py            # the table of docs/learn/memory.md
python benchmarks/recomputation.py torch 1 eager    # one measurement, in this process
"""

import os
import resource
import subprocess
import sys
import time

import numpy as np

import trellis
from trellis import nn

LAYERS, WIDTH, LENGTH, BATCH, WORDS = 24, 256, 128, 8, 1000
ROWS = ["numpy eager", "torch eager", "jax eager", "tensorflow eager", "jax compiled",
        "tensorflow compiled"]  # fmt: skip


class GPT(trellis.Module):
    def __init__(self, layers: int, with_checkpoints: bool, **options):
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = []
        for _ in range(layers):
            layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.1)
            self.layers.append(nn.Checkpoint(layer) if with_checkpoints else layer)
        self.out = nn.Linear(WIDTH, WORDS)
        super().__init__(**options)

    def _forward(self, x):
        y = self.words(x)
        for layer in self.layers:
            y = layer(y, is_causal=True)
        return self.out(y)


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def step_of(backend: str, is_compiled: bool, model: GPT, batch: int):
    tokens = np.random.default_rng(0).integers(0, WORDS, (batch, LENGTH))
    x = trellis.asarray(tokens, dtype="int32", backend=backend)

    def step(v, key):
        def loss(v):
            with trellis.random.stream(key):
                return trellis.mean(trellis.functional.cross_entropy(model(x, v=v), x))

        return trellis.value_and_grad(loss)(v)

    return trellis.compile(step) if is_compiled else step


def measure(backend: str, is_compiled: bool, with_checkpoints: bool) -> None:
    trellis.seed(0)
    model = GPT(LAYERS, with_checkpoints, backend=backend)
    small = GPT(1, with_checkpoints, backend=backend)
    # What the framework itself loads at its first step does not count.
    step_of(backend, is_compiled, small, 1)(small.v, trellis.random.key(0, backend=backend))
    step, before, seconds = step_of(backend, is_compiled, model, BATCH), peak(), []
    for i in range(2):
        start = time.perf_counter()
        value, _ = step(model.v, trellis.random.key(i, backend=backend))
        print(f"loss {float(value):.6f}", file=sys.stderr)
        seconds.append(time.perf_counter() - start)
    print(f"{peak() - before:.0f} {min(seconds):.2f}")


def main() -> None:
    if len(sys.argv) > 2:
        measure(sys.argv[1], "compiled" in sys.argv, sys.argv[2] == "1")
        return
    print("| | memory | with `nn.Checkpoint` | time | with `nn.Checkpoint` |")
    print("|---|---|---|---|---|")
    # Freed arrays go back to the system at once: what is counted are arrays, not gaps between them.
    surroundings = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    for row in ROWS:
        backend, kind = row.split()
        found = []
        for flag in "01":
            program = [sys.executable, __file__, backend, flag, kind]
            found.append(
                subprocess.check_output(
                    program, stderr=subprocess.DEVNULL, env=surroundings
                ).split()
            )
        (plain, before), (saved, after) = [[x.decode() for x in pair] for pair in found]
        print(f"| {row} | {plain} MB | {saved} MB | {before} s | {after} s |", flush=True)


if __name__ == "__main__":
    main()
