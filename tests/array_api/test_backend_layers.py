"""The layers of examples/backend_layers, over stand-ins of what they import of their libraries."""

import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import trellis
from trellis.testing import assert_close

LAYERS = Path(__file__).resolve().parents[2] / "examples" / "backend_layers"


class _Backend:
    """tensorly registers its backends by their names."""

    def __init_subclass__(cls, backend_name, **options):
        super().__init_subclass__(**options)


@pytest.fixture
def tensorly(monkeypatch, backend):
    manager, core = types.ModuleType("tensorly.backend"), types.ModuleType("tensorly.backend.core")
    manager.BackendManager, core.Backend = object, _Backend
    for module in (types.ModuleType("tensorly"), manager, core):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.syspath_prepend(str(LAYERS))
    monkeypatch.delitem(sys.modules, "tensorly_backend", raising=False)
    module = importlib.import_module("tensorly_backend")
    layer = type("Layer", (module.TrellisBackend,), {"framework": backend}, backend_name=backend)
    yield layer()
    sys.modules.pop("tensorly_backend", None)


@pytest.mark.parametrize("dtype", [np.float32, np.int32], ids=["float32", "int32"])
def test_tensorly_takes_types_of_numpy(dtype, tensorly, backend):
    """TensorFlow's users of tensorly pass them."""
    for name, arguments in (("zeros", ((2, 3),)), ("ones", (3,)), ("eye", (2,)), ("eye", (2, 3))):
        found = getattr(tensorly, name)(*arguments, dtype=dtype)
        assert trellis.backend_of(found) == backend
        assert_close(found, getattr(np, name)(*arguments, dtype=dtype), backend=backend)
