"""What do saving and loading a checkpoint cost, compared with `torch.save` and raw safetensors?

All write to the same folder. Ours is also flushed to the disk and renamed into place, so that a
crash leaves the previous one whole; `torch.save` and safetensors do neither, so a column shows them
with the same care.
"""

from harness import QUICK, Report, one_core

one_core(by_cpu_time=False)  # the disk takes its time too

import os
import tempfile
from pathlib import Path

import numpy as np
import safetensors.torch
import torch

from trellis.train import load_checkpoint, save_checkpoint


def flushed(path, write):
    """Write beside, flush, rename: what our own saving does."""
    beside = f"{path}.part"
    write(beside)
    with open(beside, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(beside, path)


def state(leaves, width):
    rng = np.random.default_rng(0)
    return {
        f"w{i}": torch.tensor(rng.standard_normal((width, width)).astype("float32"))
        for i in range(leaves)
    }


def main():
    report = Report(
        "checkpoints", "Saving and loading, compared with torch.save and raw safetensors"
    )
    for leaves, width in (
        ((20, 64), (200, 64), (20, 512)) if QUICK else ((20, 64), (200, 64), (20, 1024))
    ):
        w = state(leaves, width)
        size = f"{leaves} x {width} x {width}, {leaves * width * width * 4 / 1e6:.1f} MB"
        with tempfile.TemporaryDirectory() as folder:
            a, b, c = [
                str(Path(folder) / name) for name in ("a.pt", "b.safetensors", "c.safetensors")
            ]
            report.add(
                f"save {size}",
                {
                    "safetensors": lambda: safetensors.torch.save_file(w, b),
                    "safetensors, flushed": lambda: flushed(
                        b, lambda p: safetensors.torch.save_file(w, p)
                    ),
                    "torch.save": lambda: torch.save(w, a),
                    "torch.save, flushed": lambda: flushed(a, lambda p: torch.save(w, p)),
                    "trellis": lambda: save_checkpoint(c, w),
                },
            )
            like = {name: torch.zeros_like(x) for name, x in w.items()}
            loaded = load_checkpoint(c, like)
            for found in (loaded, torch.load(a), safetensors.torch.load_file(b)):
                assert all(torch.equal(found[name], w[name]) for name in w)
            report.add(
                f"load {size}",
                {
                    "safetensors": lambda: safetensors.torch.load_file(b),
                    "torch.save": lambda: torch.load(a),
                    "trellis": lambda: load_checkpoint(c, like),
                },
            )
    report.save()


if __name__ == "__main__":
    main()
