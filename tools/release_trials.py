"""Install the wheels of a release in empty environments, without pins, and do there what a user
does first.

    python tools/release_trials.py dist --pythons 3.11 3.13 --extras numpy torch

Each environment is a Python and an extra ("numpy": none), as `pip install trellis-ml[torch]` makes
it; it is removed again. A warning that reaches the user is a failure, too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "requirements"))

from versions import PACKAGES, PYTHONS, interpreter  # noqa: E402

# What torch says of one bugfix release of Python: only another Python answers it.
ABOUT_PYTHON = "Guards may run slower on Python 3.13.0"


def tried(python: str, extra: str, wheels: Path, folder: Path) -> str:
    """What is wrong in the environment of a Python and an extra; "" if nothing is."""
    shutil.rmtree(folder, ignore_errors=True)
    # A path of an own: what is found below it must come from the wheels.
    subprocess.run([python, "-m", "venv", folder], check=True)
    ours, board = sorted(wheels.glob("trellis_ml-*.whl")), sorted(wheels.glob("*_board-*.whl"))
    wanted = [f"{ours[-1]}[{extra}]" if extra != "numpy" else str(ours[-1]), str(board[-1])]
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    done = subprocess.run([*pip, "--disable-pip-version-check", *wanted])
    if done.returncode:
        return "cannot be installed"
    program = ROOT / "tests" / "release_program.py"
    done = subprocess.run(
        [folder / "bin" / "python", program, extra], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        return done.stdout + done.stderr
    lines = done.stderr.splitlines()
    warned = [line for line in lines if "Warning: " in line and ABOUT_PYTHON not in line]
    return "\n".join(warned)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--pythons", nargs="*", default=list(PYTHONS))
    parser.add_argument("--extras", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    options = parser.parse_args()
    failed = 0
    for version in [name.removeprefix("python") for name in options.pythons]:
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: left out, it is not on this machine")
            continue
        for extra in options.extras:
            folder, began = ROOT / "build" / "release" / f"{extra}-py{version}", time.monotonic()
            problem = tried(python, extra, options.wheels.resolve(), folder)
            shutil.rmtree(folder, ignore_errors=True)
            seconds = round(time.monotonic() - began)
            print(f"Python {version}, {extra}: {problem or 'works'} ({seconds} s)", flush=True)
            failed += bool(problem)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
