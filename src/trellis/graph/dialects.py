"""How the programs of each framework write what is no operation: imports, types, casts, arrays."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """One framework's way of writing programs. The forms have a hole for each text they take."""

    module: str  # the name below which its data types are
    imports: dict[str, str]  # the lines that import what programs mention, by its name in them
    cast: str  # a value, a data type
    array: str  # nested lists of numbers, a data type
    packed: str  # a NumPy array
    number: str = "{0}"  # a number and a data type, where an array is wanted
    bool_name: str = "bool"
    types_missing: tuple[str, ...] = ()
    # Types whose products it has no kernel for.
    no_products: tuple[str, ...] = ()
    # Whether counts and indices come in a type of its own choice.
    casts_counts: bool = False
    # The function that takes elements by arrays of indices, where brackets do not, and what
    # brackets want as an index.
    item_function: str = ""
    index: str = "{0}"


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
