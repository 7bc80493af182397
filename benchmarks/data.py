"""What does a batch cost, compared with torch's DataLoader and grain?

All read the same examples in shuffled order and give batches of the same shapes: torch's loader as
tensors, grain as NumPy arrays, ours as both. What one process does is measured by its processor
time, on one core; what several do, by the clock, with workers that are running already. grain is
measured where it is installed; it reads with 16 threads unless it is told otherwise, so a column
shows it without. Its processes are not compared: they are started for each iteration.
"""

import os

import harness
from harness import QUICK, Report, one_core

CORES = os.sched_getaffinity(0)
one_core()

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from trellis.data import Lines, Loader, MemoryMapped

try:
    import grain
except ImportError:
    grain = None

LIMIT = 1.2
BATCH = 64


class Rows(Dataset):
    """A map-style dataset: pairs of an image and a label."""

    def __init__(self, count, shape):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 256, (count, *shape), "uint8")
        self.labels = rng.integers(0, 10, count)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


def scaled(example):
    image, label = example
    return image.astype("float32") / 255 - 0.5, label


class Scaled(Dataset):
    """The same with the function applied, as torch's datasets do it."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return scaled(self.rows[index])


def every(batches):
    """Use all batches of an epoch."""
    count = 0
    for _ in batches:
        count += 1
    return count


def of_torch(dataset, workers=0):
    loader = DataLoader(
        dataset, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    return lambda: every(loader)


def of_grain(source, fn=None, threads=16):
    data = grain.MapDataset.source(source).shuffle(seed=0)
    if fn is not None:
        data = data.map(fn)
    options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=threads and 16)
    data = data.batch(BATCH).to_iter_dataset(options)
    return lambda: every(data)


def of_ours(source, backend, **options):
    loader = Loader(source, BATCH, shuffle=True, seed=0, backend=backend, **options)
    return lambda: every(loader)


def with_grain(contestants, source, fn=None):
    """The peers, and after them ours."""
    ours = {name: contestants.pop(name) for name in list(contestants) if "trellis" in name}
    if grain is not None:
        contestants["grain"] = of_grain(source, fn)
        contestants["grain, no threads"] = of_grain(source, fn, threads=0)
    return {**contestants, **ours}


def main():
    report = Report("data", "Batches, compared with torch's DataLoader and grain")
    count = 2_000 if QUICK else 10_000
    rows = Rows(count, (32, 32, 3))
    arrays = (rows.images, rows.labels)
    limit = {"trellis to torch": LIMIT}
    report.add(
        f"arrays in memory, {count} x 32 x 32 x 3",
        with_grain(
            {
                "torch": of_torch(TensorDataset(*[torch.from_numpy(x) for x in arrays])),
                "trellis to torch": of_ours(arrays, "torch"),
                "trellis": of_ours(arrays, "numpy"),
            },
            rows,
        ),
        limit=limit,
    )
    report.add(
        "map-style dataset",
        with_grain(
            {
                "torch": of_torch(rows),
                "trellis to torch": of_ours(rows, "torch"),
                "trellis": of_ours(rows, "numpy"),
            },
            rows,
        ),
        limit=limit,
    )
    report.add(
        "map-style dataset and a function",
        with_grain(
            {
                "torch": of_torch(Scaled(rows)),
                "trellis to torch": of_ours(rows, "torch", map=scaled),
                "trellis": of_ours(rows, "numpy", map=scaled),
            },
            rows,
            scaled,
        ),
        limit=limit,
    )
    tokens = [np.arange(64, dtype="int32") + i for i in range(count)]
    report.add(
        "list of small arrays",
        with_grain(
            {
                "torch": of_torch(tokens),
                "trellis to torch": of_ours(tokens, "torch"),
                "trellis": of_ours(tokens, "numpy"),
            },
            tokens,
        ),
        limit=limit,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.npy"
        np.save(path, rows.images)
        mapped = np.load(path, mmap_mode="c")  # torch warns about arrays that are read-only
        report.add(
            "memory-mapped file",
            with_grain(
                {
                    "torch": of_torch(mapped),
                    "trellis to torch": of_ours(MemoryMapped(path), "torch"),
                    "trellis": of_ours(MemoryMapped(path), "numpy"),
                },
                mapped,
            ),
            limit=limit,
        )
        text = Path(folder) / "lines.txt"
        text.write_text("\n".join([f"this is line number {i}" for i in range(count)]))
        lines = Lines(text)
        report.add(
            "lines of text",
            {"torch": of_torch(lines), "trellis": of_ours(lines, "numpy")},
            limit=LIMIT,
        )
    os.sched_setaffinity(0, CORES)
    harness.clock = time.perf_counter
    # Larger examples, as that is what workers are for.
    large = Rows(count // 10, (128, 128, 3))
    for workers in (1, 2):
        ours = {"map": scaled, "workers": workers}
        report.add(
            f"a function in {workers} process(es), {count // 10} x 128 x 128 x 3",
            {
                "torch": of_torch(Scaled(large), workers),
                "trellis to torch": of_ours(large, "torch", worker_kind="process", **ours),
                "trellis": of_ours(large, "numpy", worker_kind="process", **ours),
                "trellis, threads": of_ours(large, "numpy", **ours),
            },
            limit=limit,
            budget=4.0,
        )
    report.save()


if __name__ == "__main__":
    main()
