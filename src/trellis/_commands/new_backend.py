"""The sub-command ``trellis new-backend``: the skeleton of a package with a backend."""

import argparse
import re
import sys

SUMMARY = "write the skeleton of a package with a backend"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("name", metavar="NAME", help="the name of the backend, such as mlx")
    parser.add_argument(
        "--framework",
        metavar="MODULE",
        help="the module of the framework, such as mlx.core; by default NAME",
    )
    parser.add_argument(
        "--out", metavar="FOLDER", help="a folder that is not there yet; by default trellis-NAME"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; 0 if it is written, 2 for a mistake in the arguments."""
    from .._core.dispatch import BACKENDS

    name = arguments.name
    framework = arguments.framework or name
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        return _refuse(f"{name!r} is no name of a backend: write lower-case letters, digits and _")
    if name in BACKENDS:
        return _refuse(f"{name} comes with Trellis")
    if not all([part.isidentifier() for part in framework.split(".")]):
        return _refuse(f"--framework {framework!r} is no name of a module")
    out = arguments.out or f"trellis-{name}"
    try:
        files = write(out, name, framework)
    except OSError as error:
        return _refuse(f"{out} cannot be written: {error}")
    print(f"Wrote {len(files)} files. Next:\n")
    print(f"  cd {out}")
    print("  pip install -e '.[test]'")
    print(f"  pytest -p trellis.conformance --pyargs trellis.conformance --backend {name}")
    return 0


def write(out: str, name: str, framework: str) -> list[str]:
    """The files of the skeleton, in a new folder; returns their paths in it."""
    from importlib.resources import files
    from pathlib import Path

    from .. import __version__
    from .._core.packages import INTERFACE

    package = f"src/trellis_{name}"
    places = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "__init__.py": f"{package}/__init__.py",
        "functions.py": f"{package}/functions.py",
        "conformance.toml": f"{package}/conformance.toml",
        "conformance.yml": ".github/workflows/conformance.yml",
    }
    words = {
        "name": name,
        "framework": framework,
        "version": __version__,
        "interface": str(INTERFACE),
    }
    root = Path(out)
    root.mkdir()
    for template, place in places.items():
        text = (files("trellis.conformance") / "skeleton" / f"{template}.txt").read_text("utf-8")
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(places.values())


def _refuse(problem: str) -> int:
    print(f"trellis new-backend: {problem}", file=sys.stderr)
    return 2
