"""Distinct elements. The results have as many elements as there are values, so jax.jit refuses
them.
"""

from typing import Any

import jax.numpy as jnp

from ..._core.results import UniqueAllResult
from ._helpers import refuse_abstract
from ._types import Array

_INSTEAD = "sort(x), which keeps the shape"


def unique_all(x: Array, /) -> UniqueAllResult[Any]:
    refuse_abstract(x, "unique_all", _INSTEAD)
    found = jnp.unique_all(x)
    # JAX's values have lost the gradient; picked from `x` they keep it.
    values = jnp.ravel(x)[found.indices]
    return UniqueAllResult(values, found.indices, found.inverse_indices, found.counts)
