"""What does it cost to hand an array to another framework? Zero-copy must not depend on the
size."""

from harness import Report, one_core

one_core()

import itertools

import numpy as np

import trellis
from trellis.interchange import is_zero_copy

SIZES = (10**3, 10**5, 10**7)


def source(backend, size):
    """An array of a backend; JAX shares memory that begins at a multiple of 64 bytes only."""
    raw = np.zeros(size + 16, "float32")
    start = (-raw.ctypes.data % 64) // 4
    return trellis.to_backend(raw[start : start + size], backend)


def main():
    report = Report(
        "interchange", "to_backend of 1,000 to 10,000,000 numbers: constant, not proportional"
    )
    for here, there in itertools.permutations(("numpy", "jax", "torch", "tensorflow"), 2):
        arrays = {f"{size:,}": source(here, size) for size in SIZES}
        shared = [is_zero_copy(x, there) for x in arrays.values()]
        assert all(shared), f"{here} to {there} copies: {shared}"
        for x in arrays.values():
            y = trellis.to_backend(x, there)
            assert trellis.interchange.shares_memory(x, y)
        report.add(
            f"{here} to {there}",
            {
                name: lambda x=x, there=there: trellis.to_backend(x, there)
                for name, x in arrays.items()
            },
            budget=0.6,
        )
    big = np.ones(SIZES[-1], "float32")
    report.add("a copy, for comparison", {f"{n:,}": big[:n].copy for n in SIZES}, budget=0.6)
    worst = max(max(row.ratio(name) for name in row.seconds) for row in report.rows[:-1])
    report.notes.append(
        f"From 1,000 to 10,000,000 numbers the time grows by at most {worst:.2f} times."
    )
    print(report.notes[-1])
    report.save()


if __name__ == "__main__":
    main()
