"""The tests against other versions: `python requirements/versions.py --only 'torch-*'`.

Each environment is built anew below build/versions: a framework at its lowest, pinned, newest or
newest pre-release version, on a Python that this machine has. In it every test runs with its first
rows (`--slice`): conformance rows, the README's program, compilation, converters, exports, two
processes. The results are a board with versions as columns (build/versions/page); `--write` stores
their counts in docs/data/versions.json, and from these the tables in docs/stability.md and
docs/board/versions.md. `--doors` turns off each private function of the framework in turn instead.
"""

import argparse
import datetime
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from lowest import ROOT, constraints

OUT = ROOT / "build" / "versions"
KEPT = ROOT / "docs" / "data" / "versions.json"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What an environment needs beside Trellis and its tests. Flax asks for a new JAX.
PACKAGES = {
    "numpy": [],
    "torch": ["torch", "transformers>=5"],
    "jax": ["jax", "jaxlib", "optax", "flatbuffers"],
    "tensorflow": ["tensorflow-cpu"],
}
EVERYTHING = f"{ROOT}[test,export,models]"


@dataclass(frozen=True)
class Environment:
    """A framework of one kind of version, on one Python."""

    backend: str
    kind: str
    python: str

    @property
    def name(self) -> str:
        return f"{self.backend}-{self.kind}-py{self.python}"

    @property
    def folder(self) -> Path:
        return OUT / self.name


def environments(pythons: list[str]) -> list[Environment]:
    """The lowest and the pinned versions on the oldest Python, the newest ones on each, and
    pre-releases on the newest Python."""
    found = []
    for backend in PACKAGES:
        found += [Environment(backend, kind, pythons[0]) for kind in ("lowest", "pinned")]
        found += [Environment(backend, "newest", python) for python in pythons]
        found.append(Environment(backend, "pre", pythons[-1]))
    return found


def interpreter(version: str) -> str | None:
    """A Python of that version: by name, or among those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (f"python{version}", *sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)):
        try:
            done = subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return str(path)
    return None


def measured_versions(name: str) -> dict[str, str]:
    """The framework and the NumPy that an environment was last measured with."""
    for x in json.loads(KEPT.read_text()):
        if x["name"] == name:
            return {"numpy": x["numpy_version"], x["backend"]: x["version"]}
    raise SystemExit(f"{name} was never measured: docs/data/versions.json does not have it")


def install(environment: Environment, is_measured: bool = False) -> None:
    """Build an environment, perhaps with the versions it was last measured with; what is there
    already stays."""
    folder = environment.folder
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    path = interpreter(environment.python)
    assert path is not None, environment
    subprocess.run([path, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    options: list[str | Path] = []
    if environment.kind == "lowest" or is_measured:
        chosen = measured_versions(environment.name) if is_measured else None
        limits = folder / "constraints.txt"
        limits.write_text("\n".join(constraints(environment.backend, chosen)))
        options += ["--constraint", limits]
    elif environment.kind == "pinned":
        options += ["--constraint", ROOT / "requirements" / "pins.txt"]
    packages = list(PACKAGES[environment.backend]) or ["numpy"]
    if environment.kind == "pre":  # of the framework, and of nothing else
        packages[0] += ">=0.dev0"
    own = ["--editable", ROOT / "packages" / "board"]
    # Of ONNX and its companions only new versions are pinned, which ask for new ones of others.
    own += ["--editable", f"{ROOT}[test]" if environment.kind == "lowest" else EVERYTHING]
    subprocess.run([*pip, *options, *packages, *own], check=True)
    (folder / "ready").touch()


def tested(environment: Environment, workers: int, options: list[str]) -> list[ElementTree.Element]:
    """Run pytest in an environment; returns the tests of its report."""
    python, report = environment.folder / "bin" / "python", environment.folder / "report.xml"
    command = [python, "-m", "pytest", "-n", str(workers), "--dist", "loadgroup"]
    command += ["--alone", environment.backend, "--junitxml", report, *options]
    with (environment.folder / "tests.log").open("w") as log:
        subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    return list(ElementTree.parse(report).iter("testcase"))


def outcome_of(case: ElementTree.Element) -> int:
    """0 if a test of a report passed, 1 if it failed, 2 if it was skipped."""
    kinds = {child.tag for child in case}
    return 1 if kinds & {"failure", "error"} else 2 if "skipped" in kinds else 0


def run_without_private_functions(environment: Environment, workers: int) -> dict[str, bool]:
    """Turn each private function of the framework off in turn, and all of them, which has the name
    of the framework: whether all tests passed."""
    options = ["--long", "tests/contract/test_private_doors.py", "-k", "door_shut or doors_shut"]
    works: dict[str, bool] = {}
    for case in tested(environment, workers, options):
        name = re.sub(r"^.*\[|\]$", "", case.get("name", ""))
        works[name] = works.get(name, True) and outcome_of(case) == 0
    return works


def run(environment: Environment, step: int, workers: int) -> dict:
    """Run the tests in an environment; returns what is kept of them."""
    python = environment.folder / "bin" / "python"
    about = json.loads(subprocess.check_output([python, "-c", _ABOUT, environment.backend]))
    began = time.monotonic()
    # One test compares the pages with these results.
    options = ["--slice", str(step), "--ignore", "tests/contract/test_promises.py"]
    options += ["--board", str(OUT / "board.sqlite"), "--board-project", "versions"]
    options += ["--board-columns", "version", "--board-columns", "python"]
    modules: dict[str, list[int]] = {}
    failures = []
    for case in tested(environment, workers, options):
        outcome = outcome_of(case)
        modules.setdefault(module_of(case), [0, 0, 0])[outcome] += 1
        if outcome == 1:
            failures.append(f"{case.get('classname')}::{case.get('name')}")
    return {
        **vars(environment),
        **about,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "slice": step,
        "seconds": round(time.monotonic() - began),
        "modules": modules,  # passed, failed, skipped
        "failures": failures,
    }


def run_again(environment: Environment, old: dict, workers: int) -> dict:
    """Run only what failed in an environment, after it was mended; returns the result with that."""
    began = time.monotonic()
    nodes = []
    for failure in old["failures"]:
        module, _, name = failure.partition("::")
        nodes.append(f"{module.replace('.', '/')}.py::{name}")
    result = {**old, "modules": {key: list(x) for key, x in old["modules"].items()}}
    result["failures"] = []
    for case in tested(environment, workers, nodes):
        outcome = outcome_of(case)
        counts = result["modules"][module_of(case)]
        counts[1] -= 1
        counts[outcome] += 1
        if outcome == 1:
            result["failures"].append(f"{case.get('classname')}::{case.get('name')}")
    result["seconds"] += round(time.monotonic() - began)
    return result


def module_of(case: ElementTree.Element) -> str:
    """The package of tests that a test of a report is in."""
    # A file that was skipped as a whole is a test without a class, with the file's name.
    place = case.get("classname") or case.get("name", "")
    return re.sub(r"^tests\.|\.test_.*$", "", place)


_ABOUT = """
import importlib, json, sys, numpy
module = importlib.import_module(sys.argv[1])
versions = {"version": module.__version__.partition("+")[0], "numpy_version": numpy.__version__}
print(json.dumps(versions | {"python_version": sys.version.split()[0]}))
"""


def totals(result: dict) -> list[int]:
    """How many tests passed, failed, and were skipped."""
    return [sum(counts) for counts in zip(*result["modules"].values())]


def stability_table(results: list[dict]) -> str:
    """One line for each environment."""
    lines = [
        "| framework | version | Python | NumPy | passed | failed | skipped "
        "| without private functions | measured |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for x in results:
        passed, failed, skipped = totals(x)
        doors = [works for name, works in x.get("doors", {}).items() if name != x["backend"]]
        without = f"{sum(doors)} of {len(doors)}" if doors else ""
        lines.append(
            f"| {x['backend']} ({x['kind']}) | {x['version']} | {x['python_version']} "
            f"| {x['numpy_version']} | {passed:,} | {failed} | {skipped} | {without} "
            f"| {x['date']} |"
        )
    return "\n".join(lines)


def board_table(results: list[dict]) -> str:
    """Packages of tests as rows, versions as columns: how many of the tests that ran passed."""
    columns = [f"{x['backend']} {x['version']}, Python {x['python']}" for x in results]
    lines = ["| tests | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    ran = {module for x in results for module, (*told, _) in x["modules"].items() if any(told)}
    for module in sorted(ran):
        cells = []
        for x in results:
            passed, failed, _ = x["modules"].get(module, (0, 0, 0))
            cells.append(f"{passed} of {passed + failed}" if passed + failed else "")
        lines.append(f"| {module} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write() -> None:
    """Bring what was measured into the documentation."""
    kept = {x["name"]: x for x in json.loads(KEPT.read_text())} if KEPT.exists() else {}
    for path in OUT.glob("*.json"):
        old, new = kept.get(path.stem, {}), json.loads(path.read_text())
        kept[path.stem] = {"name": path.stem, **new}
        if "doors" in old and old["version"] == new["version"]:
            kept[path.stem]["doors"] = old["doors"]
    for path in OUT.glob("*.doors"):
        if path.stem in kept:
            kept[path.stem]["doors"] = json.loads(path.read_text())
    order = [e.name for e in environments(list(PYTHONS))]
    results = sorted(kept.values(), key=lambda x: order.index(x["name"]))
    KEPT.write_text(json.dumps(results, indent=1) + "\n")
    for page, table in pages(results).items():
        page.write_text(filled(page.read_text(), table))


def pages(results: list[dict]) -> dict[Path, str]:
    """The tables, and the pages that they are in."""
    docs = ROOT / "docs"
    return {
        docs / "stability.md": stability_table(results),
        docs / "board" / "versions.md": board_table(results),
    }


def filled(page: str, table: str) -> str:
    """A page with the table between its marks."""
    before, _, rest = page.partition("<!-- measured -->\n")
    return f"{before}<!-- measured -->\n{table}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", default="*", help="names of environments: 'torch-*', '*-lowest-*'"
    )
    parser.add_argument("--slice", type=int, default=20, help="every N-th row of each test")
    parser.add_argument(
        "--again",
        action="store_true",
        help="run only what failed, in an environment that is still there",
    )
    parser.add_argument(
        "--doors",
        action="store_true",
        help="instead of the tests, turn each private function of the framework off in turn",
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--measured",
        action="store_true",
        help="not what is the newest today: the versions in docs/data/versions.json, and pins",
    )
    parser.add_argument("--list", action="store_true", help="list the environments and stop")
    parser.add_argument("--remove", action="store_true", help="remove each environment afterwards")
    parser.add_argument("--write", action="store_true", help="write the tables in docs/")
    options = parser.parse_args()
    missing = [version for version in PYTHONS if interpreter(version) is None]
    chosen = [e for e in environments(list(PYTHONS)) if fnmatch.fnmatch(e.name, options.only)]
    failed = 0
    for environment in chosen:
        if environment.python in missing:
            print(f"{environment.name}: left out, there is no Python {environment.python} here")
            continue
        if options.list:
            print(environment.name)
            continue
        try:
            install(environment, options.measured)
        except subprocess.CalledProcessError:
            print(f"{environment.name}: cannot be installed")
            failed += 1
            continue
        if options.doors:
            turned_off = run_without_private_functions(environment, options.workers)
            (OUT / f"{environment.name}.doors").write_text(json.dumps(turned_off))
            failures = [f"without {name}" for name, works in turned_off.items() if not works]
            count = len(turned_off) - (environment.backend in turned_off)
            print(f"{environment.name}: {count} private functions turned off in turn, and all")
        else:
            kept = OUT / f"{environment.name}.json"
            if options.again:
                result = run_again(environment, json.loads(kept.read_text()), options.workers)
            else:
                result = run(environment, options.slice, options.workers)
            kept.write_text(json.dumps(result))
            failures = result["failures"]
            counts = "{} passed, {} failed, {} skipped".format(*totals(result))
            print(f"{environment.name}: {result['version']}: {counts} in {result['seconds']} s")
        for failure in failures:
            print(f"  {failure}")
        failed += bool(failures)
        if options.remove:
            shutil.rmtree(environment.folder)
    if options.write:
        write()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
