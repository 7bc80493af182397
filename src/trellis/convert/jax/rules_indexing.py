"""Primitives of JAX that read and write at computed places."""

from collections.abc import Sequence
from typing import Any

import jax

from ...graph import Value
from ..rules import Rules
from .builder import JaxBuilder, Number

indexing_rules = Rules()


def _axes(axes: Sequence[Any]) -> tuple[int, ...]:
    return tuple([int(i) for i in axes])


def _mode(mode: object, default: str) -> str:
    """What happens outside of the array: "clip" or "fill" (drop, when writing). Where the source
    promises that nothing is outside, XLA clips what it reads and drops what it writes."""
    text = str(mode).lower()
    return "clip" if "clip" in text else default if "promise" in text else "fill"


@indexing_rules("gather")
def gather(
    g: JaxBuilder,
    x: Value,
    indices: Value,
    *,
    dimension_numbers: jax.lax.GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    mode: object,
    fill_value: float | None = None,
) -> Value:
    """Whole slices along one axis are a `take`; everything else is XLA's gather."""
    numbers, sizes = dimension_numbers, _axes(slice_sizes)
    starts = _axes(numbers.start_index_map)
    offsets = _axes(numbers.offset_dims)
    x_shape, n_batch = x.shape or (), len(indices.shape or ()) - 1
    batching = _axes(numbers.operand_batching_dims)
    if len(starts) == 1 and _axes(numbers.collapsed_slice_dims) == starts and not batching:
        axis = starts[0]
        is_whole = all([n == m for i, (n, m) in enumerate(zip(sizes, x_shape)) if i != axis])
        in_place = tuple(range(axis, axis + n_batch))
        rest = tuple([i for i in range(len(g.out[0].shape)) if i not in in_place])
        if is_whole and rest == offsets:
            places = g.t.squeeze(indices, axis=n_batch)
            return g.s.take_within(
                x, places, axis=axis, outside=_mode(mode, "clip"), fill=_fill(fill_value)
            )
    return g.s.gather_slices(
        x, indices, sizes,
        offset_axes=offsets,
        collapsed_axes=_axes(numbers.collapsed_slice_dims),
        start_axes=starts,
        batch_axes=batching,
        index_batch_axes=_axes(numbers.start_indices_batching_dims),
        outside=_mode(mode, "clip"), fill=_fill(fill_value),
    )  # fmt: skip


def _fill(value: float | None) -> Any:
    return None if value is None else float(value)


@indexing_rules("scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max")
@indexing_rules("scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter-sub")
def scatter(
    g: JaxBuilder,
    x: Value,
    indices: Value,
    updates: Value,
    *,
    dimension_numbers: jax.lax.ScatterDimensionNumbers,
    mode: object,
) -> Value:
    numbers = dimension_numbers
    word = g.source.replace("_", "-").partition("-")[2]
    reduce = {"": "set", "mul": "multiply", "sub": "add"}.get(word, word)
    if word == "sub":
        updates = g.t.negative(updates)
    return g.s.scatter_slices(
        x, indices, updates,
        window_axes=_axes(numbers.update_window_dims),
        inserted_axes=_axes(numbers.inserted_window_dims),
        start_axes=_axes(numbers.scatter_dims_to_operand_dims),
        batch_axes=_axes(numbers.operand_batching_dims),
        index_batch_axes=_axes(numbers.scatter_indices_batching_dims),
        reduce=reduce, outside=_mode(mode, "fill"),
    )  # fmt: skip


@indexing_rules("dynamic_slice")
def dynamic_slice(
    g: JaxBuilder, x: Value, *starts: Value | Number, slice_sizes: Sequence[Any]
) -> Value:
    return g.s.dynamic_slice(x, list(starts), g.shape(slice_sizes))


@indexing_rules("dynamic_update_slice")
def dynamic_update_slice(g: JaxBuilder, x: Value, update: Value, *starts: Value | Number) -> Value:
    return g.s.dynamic_update_slice(x, update, list(starts))
