"""Recording the suites of other projects, and comparing every cell with what pytest itself says.

``python packages/board/others.py --checkouts FOLDER --out FOLDER``

The first folder has checkouts called as in `SUITES`, which are not changed; those that are absent
are left out. The packages that their tests need must be installed. Every suite is run with
``--junitxml`` and ``--board``. Of each test, the XML and the cell of the board must say the same.
What differs, every pass that the board calls hollow, and the green tests whose only comparison must
be read to be believed, are listed in ``NAME.md``. All boards become one site, in ``site``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from others_few import to_be_read

from trellis_board import queries
from trellis_board.outcomes import worst
from trellis_board.records import Cell
from trellis_board.store import Store

HERE = Path(__file__).resolve().parent
FOUR = ["numpy", "jax", "torch", "tensorflow"]


@dataclass
class Suite:
    """How the tests of a project are run: its sessions, each with a backend if it has one."""

    tests: list[str]
    part: list[str] = field(default_factory=list)
    """Those of the tests that take minutes, for ``--part``; all, if there are none."""
    options: list[str] = field(default_factory=list)
    backends: list[str | None] = field(default_factory=lambda: [None])
    variable: str = ""
    source: str = "."


SUITES = {
    "autoray": Suite(tests=["tests"]),
    "anyio": Suite(
        tests=["tests"],
        options=["--board-backend-arg=anyio_backend", "-m", "not network"],
        source="src",
    ),
    "tensorly": Suite(
        tests=["tensorly"],
        part=["tensorly/tests", "tensorly/tenalg", "tensorly/metrics", "tensorly/random"],
        # Of a name that it does not know it makes NumPy; the board then calls every test hollow.
        backends=["numpy", "jax", "pytorch", "tensorflow"],
        variable="TENSORLY_BACKEND",
    ),
    "pyhf": Suite(
        tests=["tests"],
        part=[
            *("tests/test_tensor.py", "tests/test_backends.py", "tests/test_probability.py"),
            *("tests/test_backend_consistency.py", "tests/test_interpolate.py"),
            *("tests/test_paramviewer.py", "tests/test_tensorviewer.py", "tests/test_pdf.py"),
            *("tests/test_events.py", "tests/test_calculator.py", "tests/test_constraints.py"),
            *("tests/test_compat.py", "tests/test_custom_mods.py", "tests/test_public_api_repr.py"),
        ],
        # These need notebooks, or a process for each test.
        options=["--ignore=tests/test_notebooks.py", "--ignore=tests/test_scripts.py"],
        source="src",
    ),
    "POT": Suite(
        tests=["test"],
        part=[
            *("test/test_backend.py", "test/test_ot.py", "test/test_utils.py"),
            *("test/test_1d_solver.py", "test/test_gaussian.py", "test/test_weak.py"),
        ],
        # Its tests call asserts of the library: nx.assert_same_dtype_device.
        options=["--board-backend-arg=nx", "-o", "board_helpers=ot.backend"],
    ),
    "einops": Suite(tests=["einops/tests"], backends=[*FOUR], variable="EINOPS_TEST_BACKENDS"),
    "array-api-extra": Suite(
        tests=["tests/main"],
        part=[
            *("tests/main/test_at.py", "tests/main/test_helpers.py", "tests/main/test_linalg.py"),
            *("tests/main/test_set.py", "tests/main/test_indexing.py"),
            *("tests/main/test_manipulation.py", "tests/main/test_deprecation.py"),
        ],
        options=["--board-backend-arg=library"],
        source="src",
    ),
    "httpcore": Suite(tests=["tests"], options=["--board-backend-arg=anyio_backend"]),
    "starlette": Suite(
        tests=["tests"],
        # An anyio that is newer than this commit warns.
        options=["--board-backend-arg=anyio_backend", "-o", "filterwarnings=ignore"],
    ),
    "opt_einsum": Suite(
        tests=["opt_einsum/tests"], options=["--ignore=opt_einsum/tests/test_paths.py"]
    ),
    "narwhals": Suite(
        tests=["tests"],
        part=["tests/frame", "tests/series_only", "tests/selectors_test.py"],
        options=[
            "--board-backend-arg=constructor,constructor_eager,constructor_pandas_like",
            "--constructors=pandas,polars[eager],pyarrow",
            # These need minutes for each example, or a package of their own.
            *("--ignore=tests/hypothesis", "--ignore=tests/ibis_test.py"),
        ],
        source="src",
    ),
}


def run(
    name: str, suite: Suite, tests: list[str], checkout: Path, out: Path
) -> dict[Cell, list[str]]:
    """Run and record a suite; returns what pytest said of the tests of each cell."""
    store = out / f"{name}.sqlite"
    for old in (*out.glob(f"{store.name}*"), *out.glob(f"{name}*.xml")):
        old.unlink()
    said: dict[Cell, list[str]] = {}
    for backend in suite.backends:
        log = out / f"{name}{f'-{backend}' if backend else ''}.log"
        path = os.pathsep.join([str(checkout / suite.source), str(HERE), *filter(None, sys.path)])
        env = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", "pytest", *tests, "-q", "--tb=short"]
        command += ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "others_cells"]
        command += [f"--junitxml={log.with_suffix('.xml')}", "-o", "junit_family=xunit1"]
        command += ["--continue-on-collection-errors", f"--board={store}", "--board-run=1"]
        command += [f"--board-project={name}"]
        if backend is not None:
            env[suite.variable] = backend
            command += [f"--board-backend={backend}", f"--board-shard={backend}"]
        with log.open("w") as lines:
            subprocess.run(
                [*command, *suite.options], cwd=checkout, env=env, stdout=lines, stderr=lines
            )
        if not log.with_suffix(".xml").is_file():
            print(f"{name}: pytest did not come to an end; {log} says why")
            continue
        for cell, outcome in told_by(log.with_suffix(".xml")):
            said.setdefault(cell, []).append(outcome)
    return said


def told_by(xml: Path) -> Iterator[tuple[Cell, str]]:
    """The cell and the outcome of each test in pytest's own XML."""
    for case in ET.parse(xml).iter("testcase"):
        cells = [
            json.loads(each.get("value", ""))
            for each in case.iter("property")
            if each.get("name") == "board-cell"
        ]
        if cells:  # a module that was not collected has none
            module, row, column = cells[-1]
            yield (module, row, column), _outcome(case)


def _outcome(case: ET.Element) -> str:
    skipped = case.find("skipped")
    if case.find("error") is not None:
        return "error"
    if case.find("failure") is not None:
        return "failure"
    if skipped is not None:
        return "xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"
    return "success"


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


def report(name: str, said: dict[Cell, list[str]], store: Path, checkout: Path) -> tuple[str, bool]:
    """What a board has, what of it is not as pytest says, whom it accuses, and what to read."""
    cells = cells_of(store)
    differing = []
    for cell in sorted({*cells, *said}):
        shown = cells[cell].outcome if cell in cells else "no cell"
        told = worst(said[cell]) if cell in said else "nothing"
        if told != ("success" if shown == "hollow" else shown) and cell[1] != "(collection)":
            differing.append(f"- {'::'.join(cell)}: pytest says {told}, the board {shown}")
    accused = {cell: result for cell, result in cells.items() if result.outcome == "hollow"}
    rows, columns = {cell[:2] for cell in cells}, {cell[2] for cell in cells}
    few = [
        cell[:2]
        for cell, result in cells.items()
        if result.outcome == "success" and (result.comparisons or 0) <= 1
    ]
    unread = to_be_read(checkout, few)
    counts = Counter(result.outcome for result in cells.values())
    lines = [
        f"## {name}",
        f"{len(rows)} rows x {len(columns)} columns ({', '.join(sorted(columns))}), "
        f"{len(cells)} cells: {', '.join(f'{n} {o}' for o, n in counts.most_common())}.",
        f"{sum(map(len, said.values()))} tests in pytest's XML; "
        f"{len(cells) - len(differing)} cells equal, {len(differing)} differ.",
        *differing,
        f"### {len(accused)} called hollow",
        *(f"- {'::'.join(cell)}: {result.message}" for cell, result in accused.items()),
        f"### {len(set(few))} green with one comparison or none, {len(unread)} functions to read",
        *(f"- {each}" for each in unread),
    ]
    return "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:]) + "\n", not differing


def main() -> int:
    """Do it for all checkouts that are there; 1 if a cell differs from what pytest says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkouts", type=Path, required=True, help="a folder of checkouts")
    parser.add_argument("--only", action="append", choices=[*SUITES], help="of these projects")
    parser.add_argument("--out", type=Path, required=True, help="a folder for stores and reports")
    parser.add_argument("--part", action="store_true", help="minutes instead of an hour or two")
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    is_equal = True
    for name in arguments.only or SUITES:
        checkout = arguments.checkouts.resolve() / name
        if not checkout.is_dir():
            print(f"{name}: there is no {checkout}")
            continue
        suite = SUITES[name]
        tests = suite.part if arguments.part and suite.part else suite.tests
        said = run(name, suite, tests, checkout, out)
        if not (out / f"{name}.sqlite").is_file():
            is_equal = False
            continue
        text, same = report(name, said, out / f"{name}.sqlite", checkout)
        (out / f"{name}.md").write_text(text)
        print(text.partition("###")[0])
        is_equal = is_equal and same
    write_site(out)
    return 0 if is_equal else 1


def write_site(out: Path) -> None:
    """All boards of a folder as one site with a front page."""
    every = out / "all" / "boards.sqlite"
    shutil.rmtree(every.parent, ignore_errors=True)
    every.parent.mkdir()
    stores = [str(store) for name in SUITES if (store := out / f"{name}.sqlite").is_file()]
    board = [sys.executable, "-m", "trellis_board"]
    subprocess.run([*board, "merge", *stores, "--store", str(every)], check=True)
    site = ["--all", "--out", str(out / "site"), "--store", str(every)]
    subprocess.run([*board, "html", *site], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
