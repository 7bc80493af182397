"""docs/ledger.md says what the frameworks do now: every expression on it is run again."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_the_ledger_is_true():
    import ledger

    written = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    for said, found in zip(written.splitlines(), ledger.page().splitlines(), strict=True):
        assert said == found, "run: python tools/docs/ledger.py"


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_differences_between_our_own_backends_are_said():
    """If our four did not agree, the page would say so."""
    import ledger

    assert ledger.answer_of_trellis("tr.backend_of(A(1.0))") == (
        "numpy (JAX: jax; PyTorch: torch; TensorFlow: tensorflow)"
    )
    assert ledger.answer("1 / 0") == "raises ZeroDivisionError"
