"""Recording 100,000 results, against one bare sqlite3 transaction of the same rows.

    python benchmarks/board_ingest.py [--results 100000] [--repeats 5]

Both write to a new file in the same folder in turn; the best time of each counts. The bare
transaction knows no names, keys, indexes or history: it is the floor, not a rival.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from trellis.board.records import Part, Result
from trellis.board.store import Store


def make_results(number: int) -> list[Result]:
    """Results over five backends, a hundred modules and a few long error texts."""
    backends = ["numpy", "jax", "torch", "tensorflow", "cupy"]
    tests = max(1, number // len(backends))
    return [
        Result(
            module=f"tests/test_module_{test * 100 // tests:03}",
            test=f"test_operation_{test:06}[float32-shape3]",
            backend=backend,
            outcome="failure" if test % 50 == 0 else "success",
            duration=0.001 * (test % 97),
            comparisons=3,
            message="E  assert 1 == 2\n" * 40 if test % 50 == 0 else "",
            at=1.7e9 + test,
        )
        for test in range(tests)
        for backend in backends
    ]


def bare(path: Path, results: list[Result]) -> None:
    """The floor: one table, one transaction, one `executemany`."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN")
    connection.execute(
        "CREATE TABLE result (module, test, backend, outcome, duration, comparisons, attempts,"
        " message, at, link)"
    )
    rows = (astuple_fast(result) for result in results)
    connection.executemany("INSERT INTO result VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
    connection.execute("COMMIT")
    connection.close()


def astuple_fast(result: Result) -> tuple[object, ...]:
    """`dataclasses.astuple` copies deeply; the floor must not pay for that."""
    return tuple(vars(result).values())


def board(path: Path, results: list[Result]) -> None:
    """The board's own way, from opening the store to the end of its transaction."""
    store = Store.open(path)
    store.for_project("benchmark").record(Part(run="1", shard="1", started=1.7e9, results=results))
    store.close()


def again(path: Path, results: list[Result]) -> None:
    """A second run into a store that has one: all names are known, all indexes are filled."""
    store = Store.open(path)
    store.for_project("benchmark").record(Part(run="2", shard="1", started=1.8e9, results=results))
    store.close()


def seconds(work: Callable[[Path, list[Result]], None], path: Path, results: list[Result]) -> float:
    """How long `work` takes."""
    begun = time.perf_counter()
    work(path, results)
    return time.perf_counter() - begun


def main() -> None:
    """Measure in turn, print the best times and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    results = make_results(arguments.results)
    assert astuple_fast(results[0]) == astuple(results[0])
    times: dict[str, list[float]] = {"bare sqlite3": [], "board": [], "board, second run": []}
    for _ in range(arguments.repeats):
        with tempfile.TemporaryDirectory() as folder:
            floor, ours = Path(folder) / "bare.sqlite", Path(folder) / "board.sqlite"
            times["bare sqlite3"].append(seconds(bare, floor, results))
            times["board"].append(seconds(board, ours, results))
            times["board, second run"].append(seconds(again, ours, results))
    best = {name: min(values) for name, values in times.items()}
    for name, value in best.items():
        ratio = value / best["bare sqlite3"]
        print(f"{name:20} {value:8.3f} s   {ratio:5.2f} x bare   {len(results)} results")


if __name__ == "__main__":
    main()
