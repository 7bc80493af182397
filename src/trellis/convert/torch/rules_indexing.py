"""Reading and writing by index."""

import operator
from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from ..._core.typing import Scalar
from ...graph import Value
from .builder import Operand, Size, Tensor, TorchBuilder
from .rules_elementwise import as_bool
from .table import rule

_END = 1 << 62  # torch writes the largest integer for "to the end"


def place(axis: int, item: Size | slice) -> tuple[Any, ...]:
    """The key that takes `item` of an axis, and all of those before it."""
    return (slice(None),) * axis + (item,)


@rule("aten.select", "aten.select_copy")
def select(g: TorchBuilder, x: Tensor, dim: int, index: Size) -> Any:
    return g.item(x, place(dim % len(x.shape), index))


@rule("aten.slice", "aten.slice_copy")
def slice_(g: TorchBuilder, x: Tensor, dim: int = 0, start: Size | None = None,
           end: Size | None = None, step: int = 1) -> Any:  # fmt: skip
    axis = dim % len(x.shape)
    if step == 1 and x.shape == g.out.shape:
        return x
    return g.item(x, place(axis, _slice(start, end, step, x.shape[axis])))


def _slice(start: Size | None, end: Size | None, step: int, size: int | str) -> slice:
    start = None if isinstance(start, int) and start == 0 else start
    if isinstance(end, int) and (end >= _END or (isinstance(size, int) and end >= size)):
        end = None
    return slice(start, end, None if step == 1 else step)


@rule("aten.narrow", "aten.narrow_copy")
def narrow(g: TorchBuilder, x: Tensor, dim: int, start: Size, length: Size) -> Any:
    is_known = isinstance(start, int) and isinstance(length, int)
    end = start + length if is_known else g.call(operator.add, start, length)  # type: ignore[operator]
    return g.item(x, place(dim % len(x.shape), slice(start, end)))


@rule("aten.slice_scatter")
def slice_scatter(g: TorchBuilder, x: Tensor, src: Tensor, dim: int = 0, start: Size | None = None,
                  end: Size | None = None, step: int = 1) -> Any:  # fmt: skip
    if step == 1 and x.shape == src.shape:
        return g.cast(src, x.dtype)
    axis = dim % len(x.shape)
    key = place(axis, _slice(start, end, step, x.shape[axis]))
    return g.s.with_slice(x, key, g.cast(src, x.dtype))


@rule("aten.select_scatter")
def select_scatter(g: TorchBuilder, x: Tensor, src: Tensor, dim: int, index: Size) -> Any:
    return g.s.with_slice(x, place(dim % len(x.shape), index), g.cast(src, x.dtype))


@rule("aten.index", "aten._unsafe_index")
def index(g: TorchBuilder, x: Tensor, indices: Sequence[Tensor | None]) -> Any:
    """x[indices], where None takes a whole axis."""
    given = [(axis, i) for axis, i in enumerate(indices) if i is not None]
    if len(given) == 1 and given[0][1].dtype != "bool":
        axis, only = given[0]
        return g.t.take(x, only, axis=axis)
    return g.s.index(x, tuple(indices))


@rule("aten.index_put", "aten._unsafe_index_put")
def index_put(g: TorchBuilder, x: Tensor, indices: Sequence[Tensor | None], values: Tensor,
              accumulate: bool = False) -> Any:  # fmt: skip
    values = g.cast(values, x.dtype)
    masks = [i for i in indices if i is not None]
    if len(masks) == 1 and masks[0].dtype == "bool" and not accumulate and not values.shape:
        # A mask with one value for all: nothing of unknown length has to be made.
        mask = masks[0]
        wide: Value = mask
        lead = list(indices).index(mask)
        for _ in range(len(x.shape) - lead - len(mask.shape)):
            wide = g.t.expand_dims(wide, axis=-1)
        return g.t.where(wide, values, x)
    return g.s.with_indexed(x, tuple(indices), values, add=accumulate)


@rule("aten.index_select")
def index_select(g: TorchBuilder, x: Tensor, dim: int, indices: Tensor) -> Any:
    return g.t.take(x, indices, axis=dim)


@rule("aten.take")
def take(g: TorchBuilder, x: Tensor, indices: Tensor) -> Any:
    return g.t.take(g.t.reshape(x, (-1,)), indices, axis=0)


@rule("aten.index_add", "aten.index_copy", "aten.index_fill")
def index_write(
    g: TorchBuilder, x: Tensor, dim: int, indices: Tensor, source: Operand, alpha: Scalar = 1
) -> Any:
    source = g.cast(source, x.dtype)
    if alpha != 1:
        source = g.t.multiply(source, alpha)
    reduce = "add" if "add" in g.source else "set"
    return g.t.scatter(x, indices, source, axis=dim, reduce=reduce)


@rule("aten.gather")
def gather(g: TorchBuilder, x: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Any:
    return g.t.take_along_axis(_cut(g, x, dim, index), index, axis=dim)


@rule("aten.take_along_dim")
def take_along_dim(g: TorchBuilder, x: Tensor, index: Tensor, dim: int | None = None) -> Any:
    if dim is None:
        return g.t.take(g.t.reshape(x, (-1,)), g.t.reshape(index, (-1,)), axis=0)
    return g.t.take_along_axis(x, index, axis=dim)


def _cut(g: TorchBuilder, x: Tensor, dim: int, index: Tensor) -> Any:
    """torch reads the beginning of axes along which there are fewer indices than elements."""
    axis = dim % max(len(x.shape), 1)
    sizes = [
        None if i == axis or n == m or not isinstance(m, int) else m
        for i, (n, m) in enumerate(zip(x.shape, index.shape))
    ]
    if not any([size is not None for size in sizes]):
        return x
    return g.item(x, tuple([slice(size) for size in sizes]))


@rule("aten.scatter", "aten.scatter_add", "aten.scatter_reduce")
def scatter(g: TorchBuilder, x: Tensor, dim: int, index: Tensor, src: Operand,
            reduce: str | None = None, include_self: bool = True) -> Any:  # fmt: skip
    """One index for each element of `src`."""
    if "scatter_add" in g.source:
        reduce = "sum"
    if isinstance(src, Value):
        src = _front(g, g.cast(src, x.dtype), index)
    return _scattered(g, x, dim, index, src, reduce, include_self)


def _scattered(g: TorchBuilder, x: Tensor, dim: int, index: Value, src: Operand,
               reduce: str | None, include_self: bool) -> Any:  # fmt: skip
    names = {None: "set", "add": "add", "sum": "add", "multiply": "multiply", "prod": "multiply",
             "amax": "max", "amin": "min"}  # fmt: skip
    if x.dtype == "bool" and reduce is not None:  # sums are "or", products "and"
        wide, values = g.cast(x, "int64"), g.cast(src, "int64")
        how = {"sum": "amax", "add": "amax", "mean": "amax", "prod": "amin", "multiply": "amin"}
        found = _scattered(g, wide, dim, index, values, how.get(reduce, reduce), include_self)
        return g.cast(g.noted(found, x.shape, "int64"), "bool")
    if reduce in names and include_self:
        return g.t.put_along_axis(x, index, src, axis=dim, reduce=names[reduce])
    return g.s.reduced_along_axis(x, index, src, axis=dim, reduce=reduce, include_self=include_self)


@rule("aten.index_reduce")
def index_reduce(g: TorchBuilder, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str,
                 include_self: bool = True) -> Any:  # fmt: skip
    """One index for each slice of `source`."""
    axis = dim % len(x.shape)
    shape = tuple([-1 if i == axis else 1 for i in range(len(source.shape))])
    wide = g.t.broadcast_to(g.t.reshape(index, shape), source.shape)
    return _scattered(g, x, axis, wide, g.cast(source, x.dtype), reduce, include_self)


@rule("aten.put")
def put(g: TorchBuilder, x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Any:
    flat, places, values = [
        g.noted(g.t.reshape(i, (-1,)), None, i.dtype) for i in (x, index, g.cast(source, x.dtype))
    ]
    made = g.s.with_indexed(flat, (places,), values, add=accumulate)
    return g.t.reshape(made, x.shape)


def _front(g: TorchBuilder, src: Tensor, index: Tensor) -> Any:
    """Values without an index are left out."""
    if not src.shape or src.shape == index.shape:
        return src
    return g.item(src, tuple([slice(m if isinstance(m, int) else None) for m in index.shape]))


@rule("aten.masked_scatter")
def masked_scatter(g: TorchBuilder, x: Tensor, mask: Tensor, source: Tensor) -> Any:
    wide = x if x.shape == g.out.shape else g.t.broadcast_to(x, g.out.shape)
    return g.s.with_masked(wide, as_bool(g, mask), g.cast(source, x.dtype))


@rule("aten.masked_select")
def masked_select(g: TorchBuilder, x: Tensor, mask: Tensor) -> Any:
    if x.shape != mask.shape:
        found = g.t.broadcast_arrays(x, mask)
        x, mask = g.items(found, 2)  # type: ignore[assignment]
    return g.s.index(x, (mask,))


@rule("aten.nonzero", "aten.argwhere")
def nonzero(g: TorchBuilder, x: Tensor) -> Any:
    if not x.shape:  # one row or none, without columns
        found = g.t.nonzero(g.t.reshape(x, (1,)))
        return g.item(g.t.expand_dims(g.item(found, 0), axis=1), (slice(None), slice(0, 0)))
    found = g.t.nonzero(x)
    return g.t.stack(list(g.items(found, len(x.shape))), axis=1)


@rule("aten.nonzero_numpy")
def nonzero_numpy(g: TorchBuilder, x: Tensor) -> Any:
    found = g.t.nonzero(x)
    return g.items(found, len(x.shape))


@rule("aten.embedding")
def embedding(g: TorchBuilder, weight: Tensor, indices: Tensor, padding_idx: int = -1,
              scale_grad_by_freq: bool = False) -> Any:  # fmt: skip
    if scale_grad_by_freq:
        raise NotSupportedError(f"{g.source}: scale_grad_by_freq=True has no counterpart here.")
    if padding_idx < 0:
        return g.F.embedding(indices, weight)
    return g.F.embedding(indices, weight, padding_index=padding_idx)


@rule("aten.one_hot")
def one_hot(g: TorchBuilder, x: Tensor, num_classes: int = -1) -> Any:
    return g.t.one_hot(x, g.out.shape[-1], dtype=g.dtype("int64"))


@rule("aten.diagonal", "aten.diagonal_copy", "aten.linalg_diagonal")
def diagonal(g: TorchBuilder, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    ndim = len(x.shape)
    if (dim1 % ndim, dim2 % ndim) == (ndim - 2, ndim - 1):
        return g.linalg.diagonal(x, offset=offset)
    return g.linalg.diagonal(g.t.moveaxis(x, (dim1, dim2), (-2, -1)), offset=offset)


@rule("aten.diag_embed", "aten.diag")
def diag_embed(g: TorchBuilder, x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    if "diag_embed" not in g.source and len(x.shape) == 2:
        return g.linalg.diagonal(x, offset=offset)
    made = g.s.diagonal_matrix(x, offset=offset)
    ndim = len(x.shape) + 1
    if (dim1 % ndim, dim2 % ndim) == (ndim - 2, ndim - 1):
        return made
    return g.t.moveaxis(made, (-2, -1), (dim1, dim2))


@rule("aten.diagonal_scatter")
def diagonal_scatter(g: TorchBuilder, x: Tensor, src: Tensor, offset: int = 0, dim1: int = 0,
                     dim2: int = 1) -> Any:  # fmt: skip
    return g.s.with_diagonal(x, src, offset=offset, axes=(dim1, dim2))


@rule("aten.item", "aten._local_scalar_dense")
def item(g: TorchBuilder, x: Tensor) -> Any:
    return x
