"""How programs of each framework write what is not an operation: imports, types, casts, arrays."""

from .._ops.source import Dialect

_NO_WIDE = ("bool", "uint16", "uint32", "uint64")

DIALECTS = {
    "numpy": Dialect(
        "np",
        {"np": "import numpy as np", "scipy": "import scipy.special"},
        cast="{0}.astype({1})",
        array="np.array({0}, dtype={1})",
        packed="{0}",
        bool_name="bool_",
        types_missing=("bfloat16",),
    ),
    "jax": Dialect(
        "jnp",
        {"jax": "import jax", "jnp": "import jax.numpy as jnp"},
        cast="{0}.astype({1})",
        array="jnp.array({0}, dtype={1})",
        packed="jnp.array({0})",
        bool_name="bool_",
    ),
    "torch": Dialect(
        "torch",
        {"torch": "import torch", "F": "import torch.nn.functional as F"},
        cast="{0}.to({1})",
        array="torch.tensor({0}, dtype={1})",
        packed="torch.from_numpy({0})",
        number="torch.tensor({0}, dtype={1})",
        no_products=_NO_WIDE,
        index="{0}.long()",
    ),
    "tensorflow": Dialect(
        "tf",
        {"tf": "import tensorflow as tf"},
        cast="tf.cast({0}, {1})",
        array="tf.constant({0}, dtype={1})",
        packed="tf.constant({0})",
        number="tf.constant({0}, {1})",
        no_products=("int8", "int16", "uint8", *_NO_WIDE),
        casts_counts=True,
        item_function="getitem",
    ),
}
