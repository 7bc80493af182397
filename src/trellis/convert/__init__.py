"""Converting models and weights: a model of another framework becomes a module that runs on any of
the four, and a Trellis model can train in their loops.

>>> from trellis import convert
>>> sorted(name for name in dir(convert) if name.startswith("from_"))
['from_jax', 'from_keras', 'from_onnx', 'from_tensorflow', 'from_torch']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._core.exports import public_names as _public_names
from ..nn.module.loading import WeightsReport as WeightsReport
from .adapters import as_flax as as_flax
from .adapters import as_jax as as_jax
from .adapters import as_keras_layer as as_keras_layer
from .adapters import as_torch_module as as_torch_module
from .module import ConvertedModule as ConvertedModule
from .rules import rule as rule
from .weights import load_keras_weights as load_keras_weights
from .weights import load_torch_weights as load_torch_weights
from .weights_back import state_dict as state_dict

if TYPE_CHECKING:
    from .jax import from_jax as from_jax
    from .keras import from_keras as from_keras
    from .onnx import from_onnx as from_onnx
    from .tensorflow import from_tensorflow as from_tensorflow
    from .torch import from_torch as from_torch

# Names whose files import a framework: imported at their first use.
_HOMES = {
    "from_jax": "jax",
    "from_keras": "keras",
    "from_onnx": "onnx",
    "from_tensorflow": "tensorflow",
    "from_torch": "torch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trellis.convert' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    names = [name for name in _public_names(__name__) if name not in ("import_module", "Any")]
    return sorted([*_HOMES, *[name for name in names if name != "TYPE_CHECKING"]])
