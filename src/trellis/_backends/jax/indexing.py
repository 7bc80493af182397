"""Elements by position: reading, functional updates, sums by segment."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core.dtypes import fitted, refuse_dropping
from ..._core.errors import ShapeError, TracingError
from ..._core.shapes import only_axis
from ._helpers import is_abstract
from ._promotion import cast
from ._types import Array


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Any:
    return jnp.take(x, indices, axis=only_axis("take", x.ndim) if axis is None else axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Any:
    return jnp.take_along_axis(x, indices, axis=axis)


def index_set(x: Array, idx: Any, value: Any) -> Any:
    """`x` with `x[idx]` replaced by `value`."""
    value, mask = _value_and_mask(x, idx, value)
    if mask is not None:
        return jnp.where(mask, jnp.asarray(value, x.dtype), x)
    return x.at[idx].set(value)


def index_add(x: Array, idx: Any, value: Any) -> Any:
    """`x` with `value` added at `x[idx]`, once per time that a position occurs in `idx`."""
    value, mask = _value_and_mask(x, idx, value)
    if mask is not None:
        return jnp.where(mask, x + jnp.asarray(value, x.dtype), x)
    return x.at[idx].add(value)


def index_multiply(x: Array, idx: Any, value: Any) -> Any:
    """`x` with `x[idx]` multiplied by `value`, once per time that a position occurs in `idx`."""
    value, mask = _value_and_mask(x, idx, value)
    if mask is not None:
        return jnp.where(mask, x * jnp.asarray(value, x.dtype), x)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return x.at[idx].multiply(value)
    # JAX has no gradient for a product with repeated positions, so the factors are collected first.
    positions = jnp.arange(x.size).reshape(x.shape)[idx]
    factors = jnp.broadcast_to(jnp.asarray(value, x.dtype), positions.shape)
    return x * _collected_product(factors.ravel(), positions.ravel(), x.size).reshape(x.shape)


def index_min(x: Array, idx: Any, value: Any) -> Any:
    """`x` with the smaller of `x[idx]` and `value` at `x[idx]`."""
    value, mask = _value_and_mask(x, idx, value)
    if mask is not None:
        return jnp.where(mask, jnp.minimum(x, jnp.asarray(value, x.dtype)), x)
    return x.at[idx].min(value)


def index_max(x: Array, idx: Any, value: Any) -> Any:
    """`x` with the larger of `x[idx]` and `value` at `x[idx]`."""
    value, mask = _value_and_mask(x, idx, value)
    if mask is not None:
        return jnp.where(mask, jnp.maximum(x, jnp.asarray(value, x.dtype)), x)
    return x.at[idx].max(value)


def _check_static(x: Array, idx: Any) -> None:
    """JAX writes nothing where a plain number is out of range; numbers can be looked at."""
    parts = idx if isinstance(idx, tuple) else (idx,)
    for part, size in zip(parts, x.shape, strict=False):
        if type(part) is int and not -size <= part < size:
            raise ShapeError(f"Index {part} is out of range for an axis of {size} elements.")
        if type(part) not in (int, slice):
            return  # the places of the rest depend on it


def _fitted(value: Any, x: Array) -> Any:
    """The value to write, in the type of the array it is written to."""
    if not hasattr(value, "dtype"):
        return jnp.asarray(fitted(value, x.dtype.name), x.dtype)
    if value.dtype.kind == "c" and x.dtype.kind != "c":
        raise refuse_dropping(value.dtype.name, x.dtype.name)
    return cast(value, x.dtype)


def _value_and_mask(x: Array, idx: Any, value: Any) -> tuple[Any, Any]:
    """The value in the type of `x`; and, where one value serves all places of a mask, the mask in
    the shape of `x`, which needs no dynamic shape.
    """
    _check_static(x, idx)
    value = _fitted(value, x)
    mask = idx[0] if isinstance(idx, tuple) and len(idx) == 1 else idx
    serves_all = _is_mask(mask) and mask.ndim > 0 and jnp.ndim(value) == 0
    if not serves_all or mask.shape != x.shape[: mask.ndim]:
        _refuse_abstract_masks(idx)
        return value, None
    return value, jnp.reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim))


def _is_mask(part: Any) -> bool:
    return hasattr(part, "dtype") and part.dtype.kind == "b"


def _refuse_abstract_masks(idx: Any) -> None:
    for part in idx if isinstance(idx, tuple) else (idx,):
        if _is_mask(part) and is_abstract(part):
            raise TracingError(
                "A boolean mask with one value per place has a size that jax.jit cannot know. "
                "Write where(mask, values_of_full_shape, x), or give a single number as value."
            )


def _collected_product(factors: Any, positions: Any, size: int) -> Any:
    return _product_at(factors, positions, jnp.ones(size, factors.dtype))


@jax.custom_jvp
def _product_at(factors: Any, positions: Any, start: Any) -> Any:
    return start.at[positions].multiply(factors)


@_product_at.defjvp
def _(primals: Any, tangents: Any) -> Any:
    factors, positions, start = primals
    product = _product_at(factors, positions, start)
    # The product of the other factors at the same place, right even where one or more of them are
    # 0.
    is_zero = factors == 0
    zeros_there = (
        jnp.zeros(start.shape, "int32").at[positions].add(is_zero.astype("int32"))[positions]
    )
    nonzero = jnp.where(is_zero, jnp.ones_like(factors), factors)
    without_zeros = _product_at(nonzero, positions, start)[positions]
    none_left = zeros_there - is_zero == 0
    others = jnp.where(none_left, without_zeros / nonzero, jnp.zeros_like(factors))
    return product, jnp.zeros_like(start).at[positions].add(others * tangents[0])


def update_slice(x: Array, values: Array, start: Any, /, *, axis: int) -> Any:
    return lax.dynamic_update_slice_in_dim(x, values, start, axis)


def segment_sum(x: Array, segment_ids: Any, /, *, num_segments: int) -> Any:
    return jax.ops.segment_sum(x, segment_ids, num_segments)
