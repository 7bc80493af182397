"""Run the public suite of the Array API standard over the namespaces of Trellis, over wrapped
arrays, and over the libraries that others use.

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    python tools/ecosystem/public_suite.py --checkout ../array-api-tests
    python tools/ecosystem/public_suite.py --checkout ../array-api-tests --columns torch
    python tools/ecosystem/public_suite.py --checkout ../array-api-tests --only isin  # only prints

The checkout is the user's, nothing is downloaded. Column by column, the counts and the names of the
failed tests are written into docs/data/array_api_suite.json, and the table of docs/array_api.md.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data" / "array_api_suite.json"
PAGE = ROOT / "docs" / "array_api.md"
VERSION = "2025.12"
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow")

_NATIVE = 'import trellis; xp = trellis.namespace("{}")'
_WRAPPED = (
    "from trellis.array_api.array import namespace_over; " + _NATIVE + "; xp = namespace_over(xp)"
)
# What is imported in the place of the array library, for each column of the table.
COLUMNS = {
    **{name: _NATIVE.format(name) for name in FRAMEWORKS},
    **{f"wrapped {name}": _WRAPPED.format(name) for name in FRAMEWORKS},
    "peer numpy": "import array_api_compat.numpy as xp",
    "peer torch": "import array_api_compat.torch as xp",
    "peer jax": "import jax.numpy as xp",
    "peer tensorflow": "import tensorflow.experimental.numpy as xp; "
    "xp.experimental_enable_numpy_behavior(); xp.bool = xp.bool_",
}
PEERS = ("array-api-compat", "array-api-compat", "jax.numpy", "tf.experimental.numpy")


def run(checkout, column, examples, seconds, only=None):
    """The outcomes of the suite: how many tests by word, and the names of the failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"),
            *("--disable-deadline", f"--max-examples={examples}", "-W", "ignore"),
            *(f"--junitxml={report}", "array_api_tests"),
            *(("-k", only) if only else ()),
        ]
        variables = {
            "ARRAY_API_TESTS_MODULE": f"exec('{COLUMNS[column]}')",
            "ARRAY_API_TESTS_VERSION": VERSION,
            "JAX_ENABLE_X64": "1",
            "OMP_NUM_THREADS": "1",
        }
        paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        # The paths of the caller come first: a frozen copy of the sources, for a long run.
        variables["PYTHONPATH"] = os.pathsep.join(reversed(paths))
        done = subprocess.run(
            command,
            cwd=checkout,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        if not report.exists():
            raise SystemExit(f"{column}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return {"examples": examples, **outcomes(ElementTree.parse(report))}


def outcomes(report):
    """The counts, and why each failed test did, of a report in JUnit's format."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = {}
    for case in report.iter("testcase"):
        problem = case.find("failure")
        problem = case.find("error") if problem is None else problem
        word = "failed" if problem is not None else "passed"
        word = "skipped" if case.find("skipped") is not None else word
        counts[word] += 1
        if problem is not None:
            module = case.get("classname").rpartition(".")[2]
            failures[f"{module}::{case.get('name')}"] = problem.get("message", "")[:160]
    return {**counts, "failures": failures}


def write_page(content):
    """The tables of docs/array_api.md."""
    sys.path.insert(0, str(ROOT / "tools"))
    from page_tables import filled, table

    rows = []
    for kind, label in (("", "Trellis"), ("wrapped ", "wrapped arrays"), ("peer ", "others")):
        cells = []
        for name, peer in zip(FRAMEWORKS, PEERS, strict=True):
            found = content.get(f"{kind}{name}")
            text = "not run" if found is None else _cell(found)
            cells.append(f"{peer} {text}" if kind == "peer " else text)
        rows.append([label, *cells])
    heads = ["", "NumPy", "torch", "JAX (64 bits)", "TensorFlow"]
    page = filled(PAGE.read_text(), "public suite", table(heads, rows))
    names = [[name, each["failed"], _named(each)] for name, each in content.items()]
    heads = ["column", "failed", "tests"]
    PAGE.write_text(filled(page, "public suite failures", table(heads, names)))


def _cell(found):
    return f"{found['passed']} / {found['passed'] + found['failed']} ({found['examples']})"


def _named(found):
    """The failed tests, by the files of the suite; cases of one test are counted.

    >>> _named({"failures": {"a::test_x[f(1)]": "", "a::test_x[f(2)]": "", "a::test_y": ""}})
    'a: `x[f]` (2), `y`'
    """
    files = {}
    for name in found["failures"]:
        file, _, test = name.partition("::")
        test = re.match(r"(?:test_)?([^[(]*(?:\[[\w-]+)?)", test)[1]
        test += "]" if "[" in test else ""
        counted = files.setdefault(file, {})
        counted[test] = counted.get(test, 0) + 1
    texts = []
    for file, counted in sorted(files.items()):
        tests = [f"`{test}`" + (f" ({n})" if n > 1 else "") for test, n in counted.items()]
        texts.append(f"{file}: {', '.join(tests)}")
    return "; ".join(texts) or "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--columns", nargs="*", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--max-examples", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=7200, help="the limit of a column")
    parser.add_argument("--only", help="the tests that pytest finds by this expression (-k)")
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    for column in given.columns:
        checkout, options = given.checkout.resolve(), (given.seconds, given.only)
        found = run(checkout, column, given.max_examples, *options)
        print(column, {word: found[word] for word in ("passed", "failed", "skipped")}, flush=True)
        if given.only:
            print(json.dumps(found["failures"], indent=1))
            continue
        content = json.loads(given.data.read_text()) if given.data.exists() else {}
        content = {name: found if name == column else content.get(name) for name in COLUMNS}
        content = {name: value for name, value in content.items() if value is not None}
        given.data.write_text(json.dumps(content, indent=1) + "\n")
        if given.data == DATA:
            write_page(content)


if __name__ == "__main__":
    main()
