"""The conformance kit as an author of a backend runs it: in a process and a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import trellis

SOURCE = Path(trellis.__file__).parents[1]


def kit(folder, backend, *options, path=()):
    """The kit, run in a folder; its exit code and what it printed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "trellis.conformance",
        "-p",
        "no:cacheprovider",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, SOURCE]))}
    done = subprocess.run(
        [*command, "--backend", backend, "--pyargs", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
