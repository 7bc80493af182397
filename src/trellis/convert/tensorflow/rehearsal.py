"""What a child process does with a SavedModel before this process loads it."""

from typing import Any

import tensorflow as tf


def run(source: str, inputs: Any, options: dict[str, Any]) -> None:
    """Load it, and run the served function on the inputs."""
    signature = tf.saved_model.load(source).signatures["serving_default"]
    if inputs:
        signature(**{name: tf.constant(x) for name, x in inputs.items()})
