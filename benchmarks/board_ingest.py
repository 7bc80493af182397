"""Recording 100,000 results, against one bare sqlite3 transaction of the same rows.

Both write to a new file in the same folder in turn. The bare transaction knows no names, keys,
indexes or history: it is the floor, not a rival.
"""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from harness import QUICK, Report

from trellis_board.records import Part, Result
from trellis_board.store import Store


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
    store.for_project("benchmark").record(Part(run="2", shard="1", started=1.71e9, results=results))
    store.close()


def main() -> None:
    """Each call writes a new file; the floor is the reference."""
    results = make_results(20_000 if QUICK else 100_000)
    assert astuple_fast(results[0]) == astuple(results[0])
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()

        def fresh(work: Callable[[Path, list[Result]], None]) -> None:
            path = Path(folder) / f"{next(numbers)}.sqlite"
            work(path, results)
            for file in Path(folder).glob(f"{path.name}*"):
                file.unlink()

        kept = Path(folder) / "kept.sqlite"
        board(kept, results)
        report = Report(
            "board_ingest", f"Recording {len(results):,} results, compared with a bare transaction"
        )
        report.add(
            f"{len(results):,} results",
            {
                "bare sqlite3": lambda: fresh(bare),
                "trellis": lambda: fresh(board),
                "trellis, again into the same file": lambda: again(kept, results),
            },
            rounds=5,
        )
        report.save()


if __name__ == "__main__":
    main()
