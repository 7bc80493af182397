"""Runs the tests of POT, tensorly and pyhf over Trellis, from checkouts that the user names.

    python tools/backend_layers.py --pot ../POT --tensorly ../tensorly --pyhf ../pyhf

`examples/backend_layers/` replaces their backends. POT itself must be installed (its solvers are
compiled), and pyhf 0.7; tensorly is imported from its checkout. Nothing is downloaded. Arguments
after `--` go to pytest: `-- -k sinkhorn`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ROOT / "examples" / "backend_layers"
START = "import sys, pytest, {module}; {module}.install(); sys.exit(pytest.main(sys.argv[1:]))"
TENSORLY_NAMES = ("numpy", "pytorch", "jax", "tensorflow")


def command(module: str, tests: Path, options: list[str]) -> list[str]:
    """pytest over a folder of tests, with a layer in place first."""
    quiet = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tests)]
    return [sys.executable, "-c", START.format(module=module), str(tests), *quiet, *options]


def run(name: str, module: str, tests: Path, options: list[str], **variables: str) -> bool:
    """Run one suite; whether it passed."""
    path = [str(LAYERS), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    path.insert(0, variables.pop("first_on_path", ""))
    inside = variables.pop("inside", "")
    variables["PYTHONPATH"] = os.pathsep.join([each for each in path if each])
    print(f"== {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:  # the checkout has an `ot` without solvers
        done = subprocess.run(
            command(module, tests, options),
            cwd=inside or folder,
            env={**os.environ, "JAX_ENABLE_X64": "1", **variables},
            check=False,
        )
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pot", type=Path, help="a checkout of POT")
    parser.add_argument("--tensorly", type=Path, help="a checkout of tensorly")
    parser.add_argument("--pyhf", type=Path, help="a checkout of pyhf, at v0.7.6")
    parser.add_argument("options", nargs="*", help="options of pytest, after --")
    asked = parser.parse_args(arguments)
    passed = []
    if asked.pot:
        tests = asked.pot.resolve() / "test"
        passed.append(run("POT, on all frameworks", "pot_backend", tests, asked.options))
    if asked.tensorly:
        root = asked.tensorly.resolve()
        for name in TENSORLY_NAMES:
            variables = {"first_on_path": str(root), "TENSORLY_BACKEND": name}
            title = f"tensorly, {name}"
            tests = root / "tensorly"
            passed.append(run(title, "tensorly_backend", tests, asked.options, **variables))
    if asked.pyhf:
        tests = asked.pyhf.resolve() / "tests"
        options = ["-o", "addopts=", *asked.options]
        inside = str(tests.parent)  # where its tests look for files
        title = "pyhf, on all frameworks"
        passed.append(run(title, "pyhf_backend", tests, options, inside=inside))
    if not passed:
        print("no checkout of POT, tensorly or pyhf was named: nothing to run")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
