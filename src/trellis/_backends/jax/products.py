"""Products of matrices and tensors."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ._promotion import common, pair

matrix_transpose = jnp.matrix_transpose


def matmul(x1: Any, x2: Any, /) -> Any:
    return jnp.matmul(*pair(x1, x2))


def tensordot(x1: Any, x2: Any, /, *, axes: int | Sequence[Sequence[int]] = 2) -> Any:
    return jnp.tensordot(*pair(x1, x2), axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return jnp.vecdot(*pair(x1, x2), axis=axis)


def einsum(subscripts: str, /, *xs: Any) -> Any:
    return jnp.einsum(subscripts, *common(xs))
