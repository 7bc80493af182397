"""One `compile` for all frameworks: jax.jit, torch.compile(fullgraph=True), tf.function."""

from ._array.compilation import Compiled as Compiled
from ._array.compilation import compile as compile
from ._array.compilation import using_compilation as using_compilation
