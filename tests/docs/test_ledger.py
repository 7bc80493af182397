"""docs/ledger.md says what the frameworks do now: every expression on it is run again."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_the_ledger_is_true():
    """In a process of its own: its rows would leave 600 MB in that of the other tests."""
    written = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "docs" / "ledger.py"), "--print"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    answers = done.stdout.rstrip("\n").splitlines()
    for said, found in zip(written.splitlines(), answers, strict=True):
        assert said == found, "run: python tools/docs/ledger.py"


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_differences_between_our_own_backends_are_said():
    """If our four did not agree, the page would say so."""
    import ledger

    assert ledger.answer_of_trellis("tr.backend_of(A(1.0))") == (
        "numpy (JAX: jax; PyTorch: torch; TensorFlow: tensorflow)"
    )
    assert ledger.answer("1 / 0") == "raises ZeroDivisionError"
