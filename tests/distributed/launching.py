"""Starts the ranks of a test, as `trellis run` on the command line does."""

import json
import os
import subprocess
import sys
from pathlib import Path

# Ranks compile the same programs at the same moment: they would read what is half written.
LEFT_OUT = ("PMI", "COV_", "JAX_COMPILATION_CACHE")
PROGRAM = Path(__file__).with_name("rank_program.py")


def environment():
    """Ranks take the library from where this process has it, and no variables of launchers."""
    source = Path(sys.modules["trellis"].__file__).parents[1]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LEFT_OUT)}
    kept.pop("RANK", None)
    return {**kept, "PYTHONPATH": str(source), "TF_CPP_MIN_LOG_LEVEL": "3"}


def command(size, *arguments, options=()):
    return [sys.executable, "-m", "trellis.cli", "run", "-n", str(size), *options, *arguments]


def run(size, *arguments, options=(), timeout=240):
    """A finished launcher: its exit code and what it printed."""
    return subprocess.run(
        command(size, *[str(a) for a in arguments], options=options),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_task(task, backend, size, folder, *, options=(), **given):
    """A task of `rank_program.py` in `size` processes."""
    return run(size, PROGRAM, task, backend, folder, json.dumps(given), options=options)


def records(folder, size):
    return [json.loads((folder / f"curve-{rank}.json").read_text()) for rank in range(size)]


def processes_with(mark):
    """The processes whose command line has this text, this one excepted."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if mark in line:
                found.append(int(entry.name))
    return found
