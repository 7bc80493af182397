"""Recording the suites of other projects, and comparing every cell with what pytest itself says.

``python packages/board/others.py --einops PATH --array-api-extra PATH --narwhals PATH --out
FOLDER``

Each PATH is a checkout, which is not changed; the packages that its tests need must be installed.
Every suite is run with ``-rA`` and ``--board``. Of each test, the line that pytest prints and the
cell of the board must say the same. What differs, and every pass that the board calls hollow, is
listed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from trellis_board import queries
from trellis_board.cells import cell_from_node_id
from trellis_board.outcomes import worst
from trellis_board.records import Cell
from trellis_board.store import Store

CONSTRUCTORS = "pandas,polars[eager],polars[lazy],pyarrow,duckdb,dask"
SAYS = {
    "PASSED": "success",
    "XPASS": "success",
    "SKIPPED": "skipped",
    "XFAIL": "xfailed",
    "FAILED": "failure",
    "ERROR": "error",
}


@dataclass
class Suite:
    """How the tests of a project are run: its sessions, each with a backend if it has one."""

    tests: str
    options: list[str] = field(default_factory=list)
    backends: list[str | None] = field(default_factory=lambda: [None])
    variable: str = ""
    source: str = "."


SUITES = {
    "einops": Suite(
        tests="einops/tests",
        backends=["numpy", "jax", "torch", "tensorflow"],
        variable="EINOPS_TEST_BACKENDS",
    ),
    "array-api-extra": Suite(
        tests="tests/main", options=["--board-backend-arg=library"], source="src"
    ),
    "narwhals": Suite(
        tests="tests",
        options=[
            "--board-backend-arg=constructor,constructor_eager,constructor_pandas_like",
            f"--constructors={CONSTRUCTORS}",
        ],
        source="src",
    ),
}


def run(name: str, suite: Suite, checkout: Path, out: Path) -> dict[Cell, list[str]]:
    """Run and record a suite; returns what pytest said of the tests of each cell."""
    store = out / f"{name}.sqlite"
    for old in out.glob(f"{store.name}*"):
        old.unlink()
    said: dict[Cell, list[str]] = {}
    for backend in suite.backends:
        path = os.pathsep.join([str(checkout / suite.source), *filter(None, sys.path)])
        env = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", "pytest", suite.tests, "-q", "-rA", "--no-fold-skipped"]
        command += ["--tb=no", "-p", "no:cacheprovider", f"--board={store}", "--board-run=1"]
        if backend is not None:
            env[suite.variable] = backend
            command += [f"--board-backend={backend}", f"--board-shard={backend}"]
        done = subprocess.run(
            [*command, *suite.options], cwd=checkout, env=env, capture_output=True, text=True
        )
        (out / f"{name}{f'-{backend}' if backend else ''}.log").write_text(done.stdout)
        recorded = cells_of(store)
        for node_id, word in lines_of(done.stdout):
            said.setdefault(place(node_id, backend, recorded), []).append(SAYS[word])
    return said


def lines_of(text: str) -> list[tuple[str, str]]:
    """The node ids in the summary of ``pytest -rA``, and the word before each."""
    found = []
    for line in text.splitlines():
        match = re.match(rf"({'|'.join(SAYS)}) (\S.*::.*)$", line)
        if match is None:
            continue
        # The reason comes after a dash, which an id may have as well.
        node_id, *rest = match.group(2).split(" - ")
        while rest and "[" in node_id and not node_id.endswith("]"):
            node_id = f"{node_id} - {rest.pop(0)}"
        found.append((node_id, match.group(1)))
    return found


def cells_of(store: Path) -> dict[Cell, queries.CellResult]:
    """The latest cells of the only project of a store."""
    with Store.open(store, create=False).reading() as connection:
        project = queries.find_project(connection, None)
        columns = queries.backend_names(connection, project)
        names = {
            test: (module.name, name)
            for module in queries.modules(connection, project)
            for test, name in module.tests.items()
        }
        return {
            (*names[cell.test_id], columns[cell.backend_id]): cell
            for cell in queries.latest(connection, project)
        }


def place(node_id: str, backend: str | None, recorded: Collection[Cell]) -> Cell:
    """The cell that a node id must be in, as far as its text tells."""
    columns = {cell[2] for cell in recorded} - {"any"}
    module, row, column = cell_from_node_id(node_id, [] if backend else columns)
    if backend is not None:
        return module, row, backend
    if (module, row, column) in recorded:
        return module, row, column
    # A parameter that has the name of a backend, but is not the backend argument.
    return cell_from_node_id(node_id, [])


def report(name: str, said: dict[Cell, list[str]], store: Path) -> tuple[str, bool]:
    """What a board has, what of it is not as pytest says, and whom it accuses."""
    cells = cells_of(store)
    differing = []
    for cell in sorted({*cells, *said}):
        shown = cells[cell].outcome if cell in cells else "no cell"
        told = worst(said[cell]) if cell in said else "nothing"
        if told != ("success" if shown == "hollow" else shown):
            differing.append(f"- {'::'.join(cell)}: pytest says {told}, the board {shown}")
    accused = {cell: result for cell, result in cells.items() if result.outcome == "hollow"}
    rows, columns = {cell[:2] for cell in cells}, {cell[2] for cell in cells}
    counts = Counter(result.outcome for result in cells.values())
    lines = [
        f"## {name}",
        f"{len(rows)} rows x {len(columns)} columns ({', '.join(sorted(columns))}), "
        f"{len(cells)} cells: {', '.join(f'{n} {o}' for o, n in counts.most_common())}.",
        f"{sum(map(len, said.values()))} lines of `pytest -rA`; "
        f"{len(cells) - len(differing)} cells equal, {len(differing)} differ.",
        *differing,
        f"### {len(accused)} called hollow",
        *(f"- {'::'.join(cell)}: {result.message[:60]}" for cell, result in accused.items()),
    ]
    return "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:]) + "\n", not differing


def main() -> int:
    """Do it for all checkouts that are given; 1 if a cell differs from what pytest says."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in SUITES:
        parser.add_argument(f"--{name}", type=Path, help="its checkout")
    parser.add_argument("--out", type=Path, required=True, help="a folder for stores and reports")
    arguments = vars(parser.parse_args())
    out: Path = arguments["out"].resolve()
    out.mkdir(parents=True, exist_ok=True)
    is_equal = True
    for name, suite in SUITES.items():
        checkout = arguments[name.replace("-", "_")]
        if checkout is None:
            print(f"{name}: no checkout given")
            continue
        said = run(name, suite, checkout.resolve(), out)
        text, same = report(name, said, out / f"{name}.sqlite")
        (out / f"{name}.md").write_text(text)
        print(text.partition("###")[0])
        is_equal = is_equal and same
    return 0 if is_equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
