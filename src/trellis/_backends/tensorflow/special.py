"""Special functions that are TensorFlow's own: where they are as exact, by docs/special.md."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {
    ("expit", kind): tf.math.sigmoid for kind in ("float32", "float64")
}
