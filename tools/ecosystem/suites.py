"""Run the tests of SciPy, scikit-learn and array-api-extra that are written for any array library,
over wrapped arrays of each framework and over the frameworks' own arrays.

    python tools/ecosystem/suites.py                     # all: some hours on two cores
    python tools/ecosystem/suites.py scipy.fft --arrays tensorflow
    python tools/ecosystem/suites.py scipy.fft.tests.test_helper --arrays jax    # only prints
    python tools/ecosystem/suites.py scipy.ndimage --every 10    # a tenth of the tests

The tests are those in the installed wheels; `wrapped_arrays.py` gives them the arrays. Suite by
suite and column by column, the counts and the failures are written into
docs/data/ecosystem_suites.json, and the table of docs/ecosystem.md. With `--board STORE` the
outcomes are recorded on a board too.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATA = ROOT / "docs" / "data" / "ecosystem_suites.json"
PAGE = ROOT / "docs" / "ecosystem.md"
COLUMNS = (
    *("native:numpy", "native:torch", "native:jax"),
    *("numpy", "torch", "jax", "tensorflow"),
)
SCIPY = (
    *("cluster", "constants", "differentiate", "fft", "integrate", "interpolate", "linalg"),
    *("ndimage", "optimize", "signal", "spatial.transform", "special", "stats"),
)
SKLEARN = (
    *("decomposition", "linear_model", "metrics", "mixture", "model_selection", "preprocessing"),
    *("tests", "utils"),
)
# All modules with such tests, but for the 10,000 lengths of one test of scipy.signal.
SUITES = {
    **{f"scipy.{name}": ["-m", "array_api_backends", "-k", "not manylens"] for name in SCIPY},
    **{f"sklearn.{name}": ["-k", "array_api"] for name in SKLEARN},
    # Wrapped arrays take the place of this library, so there are no columns of others' own arrays.
    "array_api_extra.tests.main": ["-k", "array_api_strict and not strictest"],
}


def run(suite, arrays, board=None, seconds=900, every=1):
    """The outcomes of one suite: counts by word, and why each failed test did."""
    with tempfile.TemporaryDirectory() as folder:
        counts, config = Path(folder, "counts.json"), Path(folder, "pytest.ini")
        config.write_text("[pytest]\n")  # not that of this project: warnings are no errors
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-c", str(config), "-p", "no:cacheprovider"),
            *("--rootdir", sysconfig.get_paths()["purelib"]),
            *("-p", "outcomes", "-p", "wrapped_arrays"),
            *("--arrays", arrays, "--counts", str(counts), "--tb=line", "-W", "ignore"),
            *(*SUITES[_row(suite)], f"--every={every}"),
        ]
        if board:
            name = arrays.replace("native:", "native-")
            command += ["--board", str(Path(board).resolve()), "--board-backend", name]
        given = os.environ.get("PYTHONPATH", "")  # first: a frozen copy of the sources
        paths = [given, str(HERE), str(HERE.parent), str(ROOT / "src")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        done = subprocess.run(
            [*command, "--pyargs", suite],
            env={**environment, "OMP_NUM_THREADS": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        if not counts.exists():
            raise SystemExit(f"{suite} over {arrays}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        found = json.loads(counts.read_text())
    total = {"every": every} if every > 1 else {}
    for counted in found["files"].values():
        for word, number in counted.items():
            total[word] = total.get(word, 0) + number
    return total, found["failures"]


def _row(suite):
    """The row of the table that a module belongs to."""
    fits = [name for name in SUITES if f"{suite}.".startswith(f"{name}.")]
    if not fits:
        raise SystemExit(f"There is no suite {suite!r}, there are {', '.join(SUITES)}.")
    return fits[0]


def write(suite, arrays, total, failures, path):
    """One cell of the table, with the names of the failed tests, into the data."""
    content = json.loads(path.read_text()) if path.exists() else {"suites": {}, "failures": {}}
    cells = content["suites"].setdefault(suite, {})
    cells[arrays] = total
    prefix = f"{suite.replace('.', '/')}/"
    kept = content["failures"].get(arrays, {})
    kept = {test: why for test, why in kept.items() if not test.startswith(prefix)}
    content["failures"][arrays] = {**kept, **failures}
    # In the order of this file, whatever came first.
    suites = {
        name: {column: content["suites"][name][column] for column in COLUMNS if column in row}
        for name, row in ((name, content["suites"].get(name, {})) for name in SUITES)
        if row
    }
    failed = {name: content["failures"][name] for name in COLUMNS if name in content["failures"]}
    content = {"suites": suites, "failures": failed}
    path.write_text(json.dumps(content, indent=1) + "\n")
    return content


def write_page(content):
    """The table of docs/ecosystem.md."""
    sys.path.insert(0, str(ROOT / "tools"))
    from page_tables import filled, table

    run_ones = {column for row in content["suites"].values() for column in row}
    columns = [column for column in COLUMNS if column in run_ones]
    rows = [
        [name, *[_cell(row.get(c)) for c in columns]] for name, row in content["suites"].items()
    ]
    heads = [c.replace("native:", "own ") if ":" in c else f"wrapped {c}" for c in columns]
    PAGE.write_text(filled(PAGE.read_text(), "suites", table(["", *heads], rows)))


def _cell(counted):
    if counted is None:
        return "not run"
    failed = counted.get("failed", 0)
    text = f"{counted.get('passed', 0)}" + (f", {failed} failed" if failed else "")
    return text + (f" (1 test in {counted['every']})" if "every" in counted else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("suites", nargs="*", help="such as scipy.fft")
    parser.add_argument("--arrays", action="append", choices=COLUMNS)
    parser.add_argument("--board", metavar="STORE", help="record the outcomes on a board")
    parser.add_argument("--every", type=int, default=1, help="run every N-th test")
    parser.add_argument("--seconds", type=int, default=900, help="the limit of one suite")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    for suite in given.suites or SUITES:
        for arrays in given.arrays or COLUMNS:
            if suite.startswith("array_api_extra") and ":" in arrays:
                continue
            try:
                total, why = run(suite, arrays, given.board, given.seconds, given.every)
            except subprocess.TimeoutExpired:
                print(f"{suite} {arrays}: more than {given.seconds} seconds, left out", flush=True)
                continue
            print(f"{suite} {arrays}: {total}", flush=True)
            if suite not in SUITES:  # a part of one
                print(json.dumps(why, indent=1))
                continue
            content = write(suite, arrays, total, why, given.data)
            if given.data == DATA:
                write_page(content)


if __name__ == "__main__":
    main()
