"""The examples in the docstrings of all public modules run and show what they say."""

import doctest
import importlib
import pkgutil

import pytest

import trellis

# Packages about one framework, and what their examples import.
NEEDED = {
    "trellis.convert.adapters.torch_module": ("torch",),
    "trellis.convert.adapters.jax_function": ("jax",),
    "trellis.convert.adapters.flax_module": ("jax",),
    "trellis.convert.adapters.keras_layer": ("tensorflow",),
    "trellis.convert.adapters": ("torch", "jax", "tensorflow"),
    "trellis.convert.weights.back": ("torch",),
    "trellis.convert.torch": ("torch",),
    "trellis.convert.jax": ("jax",),
    "trellis.convert.keras": ("tensorflow",),
    "trellis.convert.onnx": ("onnx",),
    "trellis.convert.tensorflow": ("tensorflow",),
    "trellis.export.onnx": ("torch", "onnx"),
    "trellis.export.saved_model": ("tensorflow",),
    "trellis.export.stablehlo": ("jax",),
    "trellis.export.tensorflow_program": ("tensorflow",),
    "trellis.export.tflite": ("tensorflow",),
    "trellis.export.torch_export": ("torch",),
    "trellis.export.torch_program": ("torch",),
}


def modules():
    """All modules outside of the backends; the private ones hold the public functions."""
    names = ["trellis"]
    for info in pkgutil.walk_packages(trellis.__path__, "trellis."):
        if not info.name.startswith(("trellis._backends", "trellis.cli")):
            names.append(info.name)
    return [pytest.param(name, marks=pytest.mark.needs(*needed_by(name))) for name in names]


def needed_by(name):
    for room, frameworks in NEEDED.items():
        if name == room or name.startswith(f"{room}."):
            return frameworks
    return ()


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
