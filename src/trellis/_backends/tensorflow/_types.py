"""The array type of this backend, as signatures name it."""

from typing import TypeAlias

import tensorflow as tf

Tensor: TypeAlias = tf.Tensor
