"""Triton is loaded with symbols of its own where TensorFlow came first."""

import os
import subprocess
import sys
from types import ModuleType

import pytest

pytestmark = pytest.mark.needs("torch")


@pytest.fixture
def load(tmp_path, monkeypatch):
    """The function, with a Triton that tells the flags it was loaded with."""
    from trellis._backends.torch._triton import load_beside_tensorflow

    (tmp_path / "triton.py").write_text("import sys\nflags = sys.getdlopenflags()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    yield load_beside_tensorflow
    sys.modules.pop("triton", None)


def test_after_tensorflow(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    before = sys.getdlopenflags()
    load()
    assert sys.modules["triton"].flags == os.RTLD_NOW | os.RTLD_DEEPBIND
    assert sys.getdlopenflags() == before


def test_a_triton_that_cannot_be_imported_is_left_alone(load, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    (tmp_path / "triton.py").write_text("raise OSError('no driver')\n")
    before = sys.getdlopenflags()
    load()
    assert "triton" not in sys.modules
    assert sys.getdlopenflags() == before


def test_without_tensorflow_nothing_is_imported(load, monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    load()
    assert "triton" not in sys.modules


@pytest.mark.needs("torch", "tensorflow")
def test_tensorflow_and_then_torch():
    """In a process of its own: with Triton from 3.7 on, it ended there."""
    program = "import trellis; trellis.namespace('tensorflow'); trellis.namespace('torch')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
