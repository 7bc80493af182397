"""Exporting models: files that other systems run, verified against the model before they are put in
place.

>>> from trellis import export
>>> sorted(name for name in dir(export) if name.startswith("to_"))
['to_onnx', 'to_saved_model', 'to_stablehlo', 'to_tflite', 'to_torch_export']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._core.exports import public_names as _public_names
from .description import Description as Description
from .description import describe as describe

if TYPE_CHECKING:
    from .onnx import to_onnx as to_onnx
    from .saved_model import to_saved_model as to_saved_model
    from .stablehlo import to_stablehlo as to_stablehlo
    from .tflite import to_tflite as to_tflite
    from .torch_export import to_torch_export as to_torch_export

# The file of each name, and the framework that it imports: imported at the first use.
_HOMES = {
    "to_onnx": ("onnx", "torch"),
    "to_saved_model": ("saved_model", "tensorflow"),
    "to_stablehlo": ("stablehlo", "jax"),
    "to_tflite": ("tflite", "tensorflow"),
    "to_torch_export": ("torch_export", "torch"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trellis.export' has no attribute {name!r}")
    from .._core.dispatch import load

    home, framework = _HOMES[name]
    load(framework)  # says what to install
    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    names = [name for name in _public_names(__name__) if name not in ("import_module", "Any")]
    return sorted([*_HOMES, *[name for name in names if name != "TYPE_CHECKING"]])
