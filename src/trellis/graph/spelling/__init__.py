"""How each framework spells the calls of a graph.

A spelling is a line with holes, by the names of the interface: `{x}` is an argument, `{axis?}` is
`, axis=...` where it differs from its default, `{axis?dim}` the same under the framework's own
name. Where one line does not do, the spelling is `None`: then a function of the same name in the
file `_plain.py` of the framework's backend is copied into the source.
"""

from . import numpy_like, tensorflow_lines, torch_lines
from .shared_lines import NOWHERE, Lines

LINES: dict[str, Lines] = {
    "numpy": {**NOWHERE, **numpy_like.numpy_lines()},
    "jax": {**NOWHERE, **numpy_like.jax_lines()},
    "torch": {**NOWHERE, **torch_lines.lines()},
    "tensorflow": {**NOWHERE, **tensorflow_lines.lines()},
}
IMPORTS = {
    "numpy": {"np": "import numpy as np", "scipy": "import scipy.special"},
    "jax": {"jax": "import jax", "jnp": "import jax.numpy as jnp"},
    "torch": {"torch": "import torch", "F": "import torch.nn.functional as F"},
    "tensorflow": {"tf": "import tensorflow as tf"},
}
"""The lines that import what spellings mention, by its name in them."""

PRODUCTS = ("einsum", "linear", "matmul", "tensordot", "vecdot")
NO_PRODUCTS: dict[str, tuple[str, ...]] = {
    "numpy": (),
    "jax": (),
    "torch": ("bool", "uint16", "uint32", "uint64"),
    "tensorflow": ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64"),
}
"""Types whose products a framework has no kernel for."""
