"""Special functions that are TensorFlow's own: where they are as exact, by docs/special.md."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

# In float32 it is 2.7 units of the last place off, and the formula 1.2.
SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {("expit", "float64"): tf.math.sigmoid}
