"""Order."""

from typing import Any

import jax.numpy as jnp

from ..._core.guards import unordered
from ._types import Array


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if x.dtype.kind == "c":
        raise unordered("argsort")
    return jnp.argsort(x, axis, descending=descending, stable=stable)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    if x.dtype.kind == "c":
        raise unordered("sort")
    return jnp.sort(x, axis, descending=descending, stable=stable)
