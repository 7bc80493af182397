"""Order."""

from .record import COUNT, OTHER, Op

# fmt: off
OPS = (
    Op("argsort", COUNT,
       near={"numpy": "numpy.argsort", "jax": "jax.numpy.argsort", "torch": "torch.argsort",
             "tensorflow": "tensorflow.argsort"}),
    Op("sort", OTHER,
       near={"numpy": "numpy.sort", "jax": "jax.numpy.sort", "torch": "torch.sort",
             "tensorflow": "tensorflow.sort"}),
)
