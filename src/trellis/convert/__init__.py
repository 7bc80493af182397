"""Converting models and weights: a model of another framework becomes a module that runs on any of
the four, and a Trellis model can train in their loops.

>>> from trellis import convert
>>> sorted(name for name in dir(convert) if name.startswith("from_"))
['from_jax', 'from_keras', 'from_onnx', 'from_tensorflow', 'from_torch']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters import as_flax as as_flax
    from .adapters import as_jax as as_jax
    from .adapters import as_keras_layer as as_keras_layer
    from .adapters import as_torch_module as as_torch_module
    from .jax import from_jax as from_jax
    from .keras import from_keras as from_keras
    from .module import ConvertedModule as ConvertedModule
    from .onnx import from_onnx as from_onnx
    from .rules import rule as rule
    from .tensorflow import from_tensorflow as from_tensorflow
    from .torch import from_torch as from_torch
    from .weights.back import state_dict as state_dict
    from .weights.gguf import read_gguf as read_gguf
    from .weights.loading import load_keras_weights as load_keras_weights
    from .weights.loading import load_torch_weights as load_torch_weights
    from .weights.report import WeightsReport as WeightsReport

# Where each name lives, imported when it is first used: readers import a framework, and who loads
# weights needs no reader.
_HOMES = {
    "ConvertedModule": "module",
    "WeightsReport": "weights.report",
    "as_flax": "adapters",
    "as_jax": "adapters",
    "as_keras_layer": "adapters",
    "as_torch_module": "adapters",
    "from_jax": "jax",
    "from_keras": "keras",
    "from_onnx": "onnx",
    "from_tensorflow": "tensorflow",
    "from_torch": "torch",
    "load_keras_weights": "weights.loading",
    "load_torch_weights": "weights.loading",
    "read_gguf": "weights.gguf",
    "rule": "rules",
    "state_dict": "weights.back",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trellis.convert' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
