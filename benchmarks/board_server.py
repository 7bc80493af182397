"""How long the board's store, server and page take with 10,000 tests x 6 backends x 8 runs.

    python benchmarks/board_server.py [--tests 10000] [--runs 8] [--keep FOLDER]

Every answer is the first one of a new process, with nothing cached. Seconds are CPU seconds of this
process unless they say otherwise, so that a busy machine does not change them much.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trellis_board.records import Part, Result
from trellis_board.store import Store

BACKENDS = ["numpy", "jax", "torch", "tensorflow", "cupy", "mlx"]

COLD = """
import sys, time
from starlette.testclient import TestClient
from trellis_board.server import make_app
from trellis_board.store import Store
client = TestClient(make_app(Store.open(sys.argv[1])))
wall, cpu = time.perf_counter(), time.process_time()
answer = client.get(sys.argv[2])
assert answer.status_code == 200, answer.text
print(time.perf_counter() - wall, time.process_time() - cpu, len(answer.content))
"""


def part(number: int, tests: int) -> Part:
    """One run: 1 % of the cells fail at random, a few are always red."""
    chance = random.Random(number)
    results = []
    for i in range(tests):
        for backend in BACKENDS:
            red = chance.random() < 0.01 or i % 499 == 0
            results.append(
                Result(
                    f"module_{i // 250:02}",
                    f"test_op_{i:05}",
                    backend,
                    "failure" if red else "success",
                    duration=0.01,
                    comparisons=3,
                    message="E   assert 1 == 2\n" * 20 if red else "",
                )
            )
    started = time.time() - 86400 * (100 - number)
    return Part(str(number), "a", started, commit=f"{number:040x}", branch="main", results=results)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--keep", type=Path, help="leave store and page in this folder")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "board.sqlite"
    path.unlink(missing_ok=True)
    store = Store.open(path)
    for number in range(arguments.runs):
        made = part(number, arguments.tests)
        begun = time.process_time()
        store.for_project("large").record(made)
        print(f"push of run {number}: {time.process_time() - begun:.2f} s")
    last = arguments.runs - 1
    for name, address in (
        ("overview", "/p/large/data/overview.json"),
        ("badge", "/p/large/badges/all.svg"),
        ("cells", "/api/v1/projects/large/cells"),
        ("diff", f"/api/v1/projects/large/diff?base={last - 1}&head={last}"),
        ("health", "/p/large/data/health.json"),
        ("feed", "/p/large/feed.xml"),
        ("history of a module", "/p/large/data/history-1.json"),
    ):
        command = [sys.executable, "-c", COLD, str(path), address]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        wall, cpu, size = float(told[0]), float(told[1]), int(told[2])
        print(f"cold {name}: {wall:.2f} s on the clock, {cpu:.2f} s CPU, {size / 1e6:.2f} MB")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [
            *(sys.executable, "-m", "trellis_board", "html"),
            *("--store", str(path), "--out", str(folder / "page")),
        ],
        check=True,
        env=os.environ,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"html, the whole command: {spent:.2f} s CPU")
    print(f"store: {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
