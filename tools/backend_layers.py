"""Runs the tests of POT, tensorly and pyhf over Trellis, from checkouts that the user names.

    python tools/backend_layers.py --pot ../POT --tensorly ../tensorly --pyhf ../pyhf
    python tools/backend_layers.py --pot ../POT --frameworks numpy torch --record -- -k sinkhorn
    python tools/backend_layers.py --tensorly ../tensorly --frameworks jax --every 5 --record
    python tools/backend_layers.py --pot ../POT --own --files test_da.py  # with POT's own

`examples/backend_layers/` replaces their backends. POT itself must be installed (its solvers are
compiled), and pyhf 0.7; tensorly is imported from its checkout. Nothing is downloaded. Arguments
after `--` go to pytest. With `--record` the counts and the failures, file by file, are written into
docs/data/backend_layers.json and the table of docs/replace_backend.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ROOT / "examples" / "backend_layers"
DATA = ROOT / "docs" / "data" / "backend_layers.json"
PAGE = ROOT / "docs" / "replace_backend.md"
START = "import sys, pytest, {module}; {module}.install(); sys.exit(pytest.main(sys.argv[1:]))"
START_OWN = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
FRAMEWORKS = ("numpy", "torch", "jax", "tensorflow")
TENSORLY_NAMES = {"torch": "pytorch"}
POT_NAMES = {"tensorflow": "tf"}
WORDS = ("passed", "failed", "skipped", "xfailed")


def command(module: str, root: Path, files: list[str], options: list[str]) -> list[str]:
    """pytest over a folder of tests, or over files in it, with a layer in place first if any."""
    start = START.format(module=module) if module else START_OWN
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "outcomes", "--rootdir", str(root)]
    tests = [str(root / file) for file in files or [""]]
    return [sys.executable, "-c", start, *tests, *quiet, *options]


def run(
    name: str, module: str, root: Path, files: list[str], options: list[str], **variables: str
) -> tuple[bool, dict[str, Any]]:
    """Run one suite; whether it passed, and the outcomes."""
    given = os.environ.get("PYTHONPATH", "")  # first: a frozen copy of the sources, for a long run
    path = [given, str(LAYERS), str(Path(__file__).parent), str(ROOT / "src")]
    path.insert(0, variables.pop("first_on_path", ""))
    inside = variables.pop("inside", "")
    variables["PYTHONPATH"] = os.pathsep.join([each for each in path if each])
    print(f"== {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:  # the checkout has an `ot` without solvers
        counts = Path(folder, "counts.json")
        done = subprocess.run(
            command(module, root, files, [*options, f"--counts={counts}"]),
            cwd=inside or folder,
            env={**os.environ, "JAX_ENABLE_X64": "1", **variables},
            check=False,
        )
        found = json.loads(counts.read_text()) if counts.exists() else {}
    return done.returncode == 0, found


def record(
    suite: str, found: dict[str, Any], every: int, name: str = "", version: str = ""
) -> None:
    """The outcomes of a run in the place of older ones of the same files."""
    content = json.loads(DATA.read_text()) if DATA.exists() else {}
    files = content.setdefault(suite, {"version": version, "files": {}})["files"]
    content[suite]["version"] = version
    for file, frameworks in found.get("frameworks", {}).items():
        for framework, counted in frameworks.items():
            own = {value: key for key, value in POT_NAMES.items()}.get(framework, framework)
            cell: dict[str, Any] = {"every": every} if every > 1 else {}
            cell |= {word: counted[word] for word in WORDS if word in counted}
            failures = found["failures"].items()
            why = {x: text for x, text in failures if x.partition("::")[0] == file}
            if "failed" in counted:
                cell["failures"] = why
            files.setdefault(file, {})[name or own or "no one"] = cell
    content[suite]["files"] = {file: files[file] for file in sorted(files)}
    DATA.write_text(json.dumps(content, indent=1) + "\n")
    write_page(content)


def write_page(content: dict[str, Any]) -> None:
    """The table of docs/replace_backend.md."""
    sys.path.insert(0, str(ROOT / "tools"))
    from page_tables import filled, table

    rows = []
    for suite, each in content.items():
        for framework in (*FRAMEWORKS, "no one", "all"):
            cells = [x[framework] for x in each["files"].values() if framework in x]
            if not cells:
                continue
            parts = {x.get("every", 1) for x in cells}
            part = "all" if parts == {1} else f"1 in {', '.join(map(str, sorted(parts)))}"
            sums = [sum([x.get(word, 0) for x in cells]) for word in WORDS]
            rows.append([f"{suite} {each['version']}", framework, len(cells), part, *sums])
    head = ["suite", "framework", "files", "tests", "passed", "failed", "skipped"]
    page = filled(PAGE.read_text(), "suites", table([*head, "expected failures"], rows))
    PAGE.write_text(page)


def version_of(checkout: Path, package: str) -> str:
    """What the checkout says of itself in the file of its package."""
    text = (checkout / package / "__init__.py").read_text()
    lines = [line for line in text.splitlines() if line.startswith("__version__")]
    return lines[0].partition("=")[2].strip(" \"'") if lines else ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pot", type=Path, help="a checkout of POT")
    parser.add_argument("--tensorly", type=Path, help="a checkout of tensorly")
    parser.add_argument("--pyhf", type=Path, help="a checkout of pyhf, at v0.7.6")
    parser.add_argument("--frameworks", nargs="*", choices=FRAMEWORKS, default=list(FRAMEWORKS))
    parser.add_argument("--files", nargs="*", default=[], help="paths in the folder of tests")
    parser.add_argument("--own", action="store_true", help="with the library's own backends")
    parser.add_argument("--every", type=int, default=1, help="run every N-th test")
    parser.add_argument("--record", action="store_true", help="write the data and the page")
    parser.add_argument("options", nargs="*", help="options of pytest, after --")
    asked = parser.parse_args(arguments)
    passed = []

    def take(suite: str, good: bool, found: dict[str, Any], **about: str) -> None:
        passed.append(good)
        if asked.record:
            record(f"{suite}, its own" if asked.own else suite, found, asked.every, **about)

    options = [f"--every={asked.every}", *asked.options]
    if asked.pot:
        root = asked.pot.resolve()
        only = ",".join([POT_NAMES.get(name, name) for name in asked.frameworks])
        chosen = ["--by=nx", f"--only={only}", *options]
        layer = "" if asked.own else "pot_backend"
        found = run(f"POT, {only}", layer, root / "test", asked.files, chosen)
        take("POT", *found, version=version_of(root, "ot"))
    if asked.tensorly:
        root = asked.tensorly.resolve()
        for name in asked.frameworks:
            backend = TENSORLY_NAMES.get(name, name)
            variables = {"first_on_path": str(root), "TENSORLY_BACKEND": backend}
            layer = "" if asked.own else "tensorly_backend"
            given = (layer, root / "tensorly", asked.files, options)
            found = run(f"tensorly, {name}", *given, **variables)
            take("tensorly", *found, name=name, version=version_of(root, "tensorly"))
    if asked.pyhf:
        root = asked.pyhf.resolve()
        chosen = ["-o", "addopts=", *options]
        given = ("" if asked.own else "pyhf_backend", root / "tests", asked.files, chosen)
        # Its tests look for files there.
        found = run("pyhf, on all frameworks", *given, inside=str(root))
        take("pyhf", *found, name="all", version="0.7.6")
    if not passed:
        print("no checkout of POT, tensorly or pyhf was named: nothing to run")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
