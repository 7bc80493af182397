"""Run the tests of SciPy and scikit-learn that are written for any array library, over wrapped
arrays of each framework and over the frameworks' own arrays.

    python tools/ecosystem/suites.py                     # all: about an hour on two cores
    python tools/ecosystem/suites.py scipy.fft --arrays tensorflow

The tests are those in the installed wheels; `wrapped_arrays.py` gives them the arrays. Without
names the counts are written into docs/data/ecosystem_suites.json and docs/ecosystem.md. With
`--board STORE` the outcomes are recorded on a board too.
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
# Of SciPy all modules with such tests, but for the 10,000 lengths of one test of scipy.signal.
SUITES = {
    **{
        f"scipy.{name}": ["-m", "array_api_backends"]
        for name in ("cluster", "differentiate", "fft", "integrate", "interpolate", "ndimage")
    },
    **{
        f"scipy.{name}": ["-m", "array_api_backends"]
        for name in ("optimize", "spatial.transform", "special", "stats")
    },
    "scipy.signal": ["-m", "array_api_backends", "-k", "not manylens"],
    "sklearn.metrics": ["-k", "array_api"],
    "sklearn.preprocessing": ["-k", "array_api"],
    "sklearn.decomposition": ["-k", "array_api"],
    "sklearn.linear_model": ["-k", "array_api"],
    "sklearn.utils": ["-k", "array_api"],
}


def run(suite, arrays, board=None, seconds=900):
    """The outcomes of one suite: counts by word, and why each failed test did."""
    with tempfile.TemporaryDirectory() as folder:
        counts, config = Path(folder, "counts.json"), Path(folder, "pytest.ini")
        config.write_text("[pytest]\n")  # not that of this project: warnings are no errors
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-c", str(config), "-p", "no:cacheprovider"),
            *("--rootdir", sysconfig.get_paths()["purelib"], "-p", "wrapped_arrays"),
            *("--arrays", arrays, "--counts", str(counts), "--tb=line", "-W", "ignore"),
            *SUITES[_row(suite)],
        ]
        if board:
            name = arrays.replace("native:", "native-")
            command += ["-p", "trellis_board.plugin", "--board", board, "--board-backend", name]
        paths = [str(HERE), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
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
    total = {}
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


def write_page(content):
    """The table of docs/ecosystem.md."""
    sys.path.insert(0, str(ROOT / "tools"))
    from page_tables import filled, table

    columns = content["columns"]
    rows = [
        [name, *[_cell(row.get(c)) for c in columns]] for name, row in content["suites"].items()
    ]
    heads = [c.replace("native:", "own ") if ":" in c else f"wrapped {c}" for c in columns]
    PAGE.write_text(filled(PAGE.read_text(), "suites", table(["", *heads], rows)))


def _cell(counted):
    if counted is None:
        return "not run"
    failed = counted.get("failed", 0)
    return f"{counted.get('passed', 0)}" + (f", {failed} failed" if failed else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("suites", nargs="*", help="such as scipy.fft")
    parser.add_argument("--arrays", action="append", choices=COLUMNS)
    parser.add_argument("--board", metavar="STORE", help="record the outcomes on a board")
    given = parser.parse_args()
    columns = given.arrays or COLUMNS
    table, failures = {}, {}
    for suite in given.suites or SUITES:
        for arrays in columns:
            try:
                total, why = run(suite, arrays, given.board)
            except subprocess.TimeoutExpired:
                print(f"{suite} {arrays}: more than 15 minutes, left out")
                continue
            print(f"{suite} {arrays}: {total}", flush=True)
            table.setdefault(suite, {})[arrays] = total
            failures.setdefault(arrays, {}).update(why)
    content = {"columns": list(columns), "suites": table, "failures": failures}
    if not given.suites and not given.arrays:
        DATA.write_text(json.dumps(content, indent=1) + "\n")
        write_page(content)


if __name__ == "__main__":
    main()
