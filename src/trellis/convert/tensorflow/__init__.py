"""Functions of TensorFlow as modules."""

from .reader import from_tensorflow as from_tensorflow
