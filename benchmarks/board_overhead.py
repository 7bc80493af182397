"""What recording adds to a suite: 20,000 small tests with and without ``--board``.

The tests do next to nothing, so this is the worst case: whatever a test does by itself only makes
the share of the board smaller. Every call is a pytest process of its own; the time is that of its
processor.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import QUICK, Report

MODULE = """
import pytest

BACKENDS = ["numpy", "jax", "torch", "tensorflow"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", range({sizes}))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_{name}(backend, size, dtype):
    values = [float(i) for i in range(size)]
    total = sum(values)
    assert total == size * (size - 1) / 2
    assert dtype.startswith("float")
"""


def make_suite(folder: Path, tests: int) -> None:
    """Modules of a hundred rows on four backends."""
    for number in range(tests // 400):
        text = MODULE.format(sizes=50, name=f"operation_{number}")
        (folder / f"test_module_{number:03}.py").write_text(text)


class Session:
    """A pytest process in the folder of the suite; `sample` gives the seconds of its processor."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        # A store that is new each time: what the second run does is measured in board_ingest.
        self.arguments = arguments

    def __call__(self) -> None:
        self.sample(1)

    def sample(self, repeats: int) -> float:
        before = _children()
        for _ in range(repeats):
            for file in self.folder.glob("board.sqlite*"):
                file.unlink()
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            done = subprocess.run(
                [*command, *self.arguments],
                cwd=self.folder,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            )
            if done.returncode != 0:
                raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        return (_children() - before) / repeats


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """The suite alone is the reference; recording it may take at most a tenth more."""
    tests = 2_000 if QUICK else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_suite(folder, tests)
        plugin = ("-p", "trellis_board.plugin")
        report = Report(
            "board_overhead", f"Recording {tests:,} tests, compared with the suite alone"
        )
        report.add(
            f"{tests:,} tests",
            {
                "pytest": Session(folder),
                "trellis": Session(folder, *plugin, "--board", "board.sqlite"),
            },
            limit=1.1,
            rounds=3,
        )
        report.save()


if __name__ == "__main__":
    main()
