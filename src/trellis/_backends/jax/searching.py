"""Finding elements."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..._core.guards import not_bools, unordered
from ._helpers import refuse_abstract
from ._promotion import common, ordered_pair
from ._types import Array
from .casting import default_int


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("argmax")
    return jnp.argmax(x, axis, keepdims=keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    if x.dtype.kind == "c":
        raise unordered("argmin")
    return jnp.argmin(x, axis, keepdims=keepdims)


def count_nonzero(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Any:
    return jnp.count_nonzero(x, axis, keepdims=keepdims)


def nonzero(x: Array, /) -> tuple[Any, ...]:
    refuse_abstract(x, "nonzero", "work with a mask: where(x != 0, a, b)")
    return jnp.nonzero(x)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    x1, x2 = ordered_pair("searchsorted", x1, x2)
    return jnp.searchsorted(x1, x2, side, sorter).astype(default_int())


def topk(x: Array, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """The `k` largest (or smallest) along `axis`, in order, and their positions; ties by lower
    position.
    """
    if x.dtype.kind == "c":
        raise unordered("topk")
    if largest:
        order = x
        if x.dtype.kind not in "biu":  # XLA's total order has -0 below 0, and -nan below all
            order = jnp.where(x == 0, 0, jnp.where(jnp.isnan(x), jnp.nan, x))
        _, indices = jax.lax.top_k(jnp.moveaxis(jax.lax.stop_gradient(order), axis, -1), k)
        indices = jnp.moveaxis(indices.astype(default_int()), -1, axis)
    else:
        order = jnp.argsort(x, axis, stable=True)
        indices = jax.lax.slice_in_dim(order, 0, k, axis=axis)
    return jnp.take_along_axis(x, indices, axis), indices


def where(condition: Array, x1: Any, x2: Any, /) -> Any:
    if condition.dtype.kind != "b":
        raise not_bools(condition.dtype)
    return jnp.where(condition, *common((x1, x2)))
