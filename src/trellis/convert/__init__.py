"""Models from anywhere: a model of one framework becomes a module that runs on any of the four.

>>> from trellis import convert
>>> sorted(name for name in dir(convert) if name.startswith("from_"))  # doctest: +ELLIPSIS
['from_jax', 'from_keras', 'from_onnx', 'from_tensorflow', 'from_torch']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .module import ConvertedModule as ConvertedModule
from .rules import rule as rule

if TYPE_CHECKING:
    from .jax import from_jax as from_jax
    from .keras import from_keras as from_keras
    from .onnx import from_onnx as from_onnx
    from .tensorflow import from_tensorflow as from_tensorflow
    from .torch import from_torch as from_torch

# Where a name lives whose file imports a framework: opened when somebody asks for it.
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
    return sorted([*_HOMES, "ConvertedModule", "rule"])
