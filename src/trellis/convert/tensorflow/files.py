"""Functions of TensorFlow from their files."""

from pathlib import Path
from typing import Any

import tensorflow as tf


def served_function(path: Path) -> Any:
    """The signature of a SavedModel that is served; it keeps what it was loaded with."""
    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures["serving_default"]
    signature.loaded = loaded
    return signature
