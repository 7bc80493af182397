"""Models of frameworks from their own files, for the command line."""

from pathlib import Path
from typing import Any


def torch_program(path: Path) -> Any:
    """The ExportedProgram of an archive of torch.export."""
    from .._core.dispatch import load

    load("torch")
    import torch

    return torch.export.load(path)


def keras_model(path: Path) -> Any:
    """A model that Keras has saved; in its safe mode, which runs no code of the file."""
    import keras

    return keras.models.load_model(path, compile=False, safe_mode=True)


def served_function(path: Path) -> Any:
    """The signature of a SavedModel that is served; it keeps what it was loaded with."""
    from .._core.dispatch import load

    load("tensorflow")
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures["serving_default"]
    signature.loaded = loaded
    return signature
