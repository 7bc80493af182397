"""SciPy and scikit-learn over wrapped arrays: a slice of the calls on the page `ecosystem.md`.

In a process of its own: SciPy reads SCIPY_ARRAY_API when it is imported, which Trellis does.
"""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "tools" / "ecosystem" / "run.py"
# Formulas over the namespace: they are differentiable. hilbert and cumulative_simpson write by
# index, on immutable frameworks too.
DIFFERENTIABLE = ["special.logsumexp", "stats.zscore", "fft.rfft", "signal.hilbert"]
DIFFERENTIABLE += ["integrate.cumulative_simpson"]
# SciPy computes these in NumPy: their values return, and their gradients raise.
IN_NUMPY = ["special.ndtr", "stats.ttest_ind"]
SKLEARN = ["decomposition.PCA", "preprocessing.StandardScaler", "linear_model.Ridge"]
SKLEARN += ["metrics.r2_score", "metrics.pairwise.rbf_kernel"]


def _installed(package):
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return (0, 0)
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.mark.skipif(_installed("scipy") < (1, 17), reason="the functions support it since 1.17")
@pytest.mark.skipif(_installed("scikit-learn") < (1, 9), reason="the functions support it in 1.9")
def test_calls(backend):
    if backend not in ("numpy", "jax", "torch", "tensorflow"):
        pytest.skip("the tool makes the arrays of four frameworks")
    names = DIFFERENTIABLE + IN_NUMPY + SKLEARN
    command = [sys.executable, str(PROGRAM), *names, "--framework", backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    calls = json.loads(done.stdout.splitlines()[-1])["calls"]
    found = {**calls["scipy"], **calls["sklearn"]}
    assert len(found) == len(names)
    wrapped = {name: row[f"{backend} wrapped"] for name, row in found.items()}
    assert wrapped == dict.fromkeys(found, "right")
    expected = dict.fromkeys([f"scipy.{name}" for name in DIFFERENTIABLE], "right")
    expected |= dict.fromkeys([f"scipy.{name}" for name in IN_NUMPY], "raised")
    assert {name: row[f"{backend} gradient"] for name, row in calls["scipy"].items()} == expected


def test_what_the_page_says():
    """No result is wrong, and gradients are alike on all four."""
    docs = PROGRAM.parents[2] / "docs"
    data = json.loads((docs / "data" / "ecosystem.json").read_text())
    page = (docs / "ecosystem.md").read_text()
    for part, least in (("scipy", 52), ("sklearn", 32)):
        assert len(data["calls"][part]) >= least
        for row in data["calls"][part].values():
            assert "wrong" not in row.values()
            assert len({word for column, word in row.items() if column.endswith("gradient")}) <= 1
        for counted in data["counts"][part].values():
            assert f"{counted.get('right', 0)} right" in page or "right" not in counted
