"""Shapes: what only moves elements around."""

import operator
from collections.abc import Sequence
from typing import Any

from ..._core.errors import NotSupportedError
from ..._core.typing import Scalar
from ...graph import Value
from .builder import Dims, Size, Tensor, TorchBuilder
from .table import rule


def is_static(shape: Sequence[object] | None) -> bool:
    """Whether all sizes are known before anything runs."""
    return shape is not None and all([isinstance(size, int) for size in shape])


def axes_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """One axis or several as a tuple, counted from the front."""
    dims = [dim] if isinstance(dim, int) else dim
    return tuple([axis % max(ndim, 1) for axis in dims])


@rule("aten.clone", "aten.contiguous", "aten.alias", "aten.lift_fresh_copy", "aten.lift_fresh",
      "aten.lift", "aten.view_copy", "aten.resolve_conj", "aten.resolve_neg", "aten.cpu",
      "aten.cuda", "aten.requires_grad_")  # fmt: skip
def nothing(g: TorchBuilder, x: Tensor) -> Any:
    return x


@rule("aten.sym_constrain_range_for_size")
def checked_size(g: TorchBuilder, x: Tensor, min: object = None, max: object = None) -> Any:
    """A promise about the number, for torch's own compiler."""
    return x


@rule("aten.detach", "aten.detach_copy")
def detach(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.stop_gradient(x) if "float" in (x.dtype or "") else x


@rule("aten.to", "aten._to_copy", "aten.type_as", "aten.to.dtype", "aten.to.dtype_layout",
      "aten.to.other", "aten.float", "aten.double", "aten.half", "aten.bfloat16", "aten.int",
      "aten.long", "aten.bool", "aten._cast_Float", "aten._autocast_to_full_precision",
      "prims.convert_element_type")  # fmt: skip
def to(g: TorchBuilder, x: Tensor, dtype: object = None, other: object = None) -> Any:
    """The type, that of `dtype` or of another tensor, is that of the recorded result."""
    return g.cast(x, g.out.dtype)


@rule("aten.view", "aten.reshape", "aten._unsafe_view", "aten._reshape_alias", "aten.flatten",
      "aten.unflatten", "aten.view_as", "aten.reshape_as", "aten._reshape_copy")  # fmt: skip
def reshape(
    g: TorchBuilder, x: Tensor, shape: Tensor | Dims | Sequence[Size] | str = (), *more: object
) -> Any:
    """What `flatten` and `unflatten` take more than a shape is in the recorded one."""
    wanted = g.out.shape
    if x.shape == wanted:
        return x
    if not is_static(wanted):
        wanted = _open_shape(g, x, shape, wanted)
    return g.t.reshape(x, wanted)


def _open_shape(g: TorchBuilder, x: Tensor, shape: Tensor | Dims | Sequence[Size] | str,
                wanted: Sequence[int | str]) -> tuple[Any, ...]:  # fmt: skip
    """The new shape where sizes are open: one of them may be -1, the others are computed."""
    open_axes = [i for i, size in enumerate(wanted) if not isinstance(size, int)]
    if len(open_axes) == 1:
        return tuple([size if isinstance(size, int) else -1 for size in wanted])
    if isinstance(shape, list) and len(shape) == len(wanted):
        given = list(shape)  # of `view` and `reshape`
    elif isinstance(shape, Value):  # of `view_as`
        given = [g.s.size(shape, i) for i in range(len(wanted))]
    else:
        given = [_size_like(g, x, size) for size in wanted]
    sizes = [w if isinstance(w, int) else s for w, s in zip(wanted, given)]
    if -1 not in sizes:
        unknown = [i for i in open_axes if sizes[i] is None] or open_axes[:1]
        sizes[unknown[0]] = -1
    return tuple(sizes)


def _size_like(g: TorchBuilder, x: Tensor, size: int | str) -> Any:
    """An open size that `x` has too."""
    return g.s.size(x, x.shape.index(size)) if size in x.shape else None


@rule("aten.copy")
def copy(g: TorchBuilder, x: Tensor, source: Tensor) -> Any:
    """`source` in the shape and type of what it is written into."""
    source = g.cast(source, g.out.dtype)
    if source.shape == x.shape:
        return source
    sizes = [n if isinstance(n, int) else g.s.size(x, i) for i, n in enumerate(x.shape)]
    return g.t.broadcast_to(source, tuple(sizes))


@rule("aten.view.dtype", "aten.view_copy.dtype")
def view_dtype(g: TorchBuilder, x: Tensor, dtype: str) -> Any:
    """The same bits as another type."""
    if x.dtype == dtype:
        return x
    return g.s.bit_cast(x, g.dtype(dtype))


@rule("aten.permute", "aten.permute_copy")
def permute(g: TorchBuilder, x: Tensor, dims: Dims) -> Any:
    axes = axes_of(dims, len(x.shape))
    return x if axes == tuple(range(len(axes))) else g.t.permute_dims(x, axes)


@rule("aten.transpose", "aten.swapaxes", "aten.swapdims", "aten.transpose_copy")
def transpose(g: TorchBuilder, x: Tensor, dim0: int, dim1: int) -> Any:
    axes = list(range(len(x.shape)))
    if not axes or dim0 % len(axes) == dim1 % len(axes):
        return x
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return g.t.permute_dims(x, tuple(axes))


@rule("aten.t", "aten.numpy_T", "aten.t_copy")
def reversed_axes(g: TorchBuilder, x: Tensor) -> Any:
    return x if len(x.shape) < 2 else g.t.permute_dims(x, tuple(range(len(x.shape)))[::-1])


@rule("aten.mT", "aten.matrix_H", "aten.mH", "aten.adjoint")
def matrix_transpose(g: TorchBuilder, x: Tensor) -> Any:
    if len(x.shape) < 2:  # `adjoint` lets them pass
        return x
    turned = g.t.matrix_transpose(x)
    is_adjoint = "complex" in (x.dtype or "") and "mT" not in g.source
    return g.t.conj(turned) if is_adjoint else turned


@rule("aten.movedim", "aten.moveaxis")
def movedim(g: TorchBuilder, x: Tensor, source: Dims, destination: Dims) -> Any:
    ndim = len(x.shape)
    return g.t.moveaxis(x, axes_of(source, ndim), axes_of(destination, ndim))


@rule("aten.unsqueeze", "aten.unsqueeze_copy")
def unsqueeze(g: TorchBuilder, x: Tensor, dim: int) -> Any:
    return g.t.expand_dims(x, axis=dim)


@rule("aten.squeeze", "aten.squeeze_copy")
def squeeze(g: TorchBuilder, x: Tensor, dim: Dims | None = None) -> Any:
    dims = range(len(x.shape)) if dim is None else axes_of(dim, len(x.shape))
    axes = tuple([axis for axis in dims if x.shape and x.shape[axis] == 1])
    return g.t.squeeze(x, axis=axes) if axes else x


@rule("aten.expand", "aten.expand_copy", "aten.broadcast_to", "aten.expand_as")
def expand(g: TorchBuilder, x: Tensor, sizes: Tensor | Sequence[Size]) -> Any:
    wanted = g.out.shape
    if x.shape == wanted:
        return x
    if is_static(wanted):
        return g.t.broadcast_to(x, wanted)
    lead = len(wanted) - len(x.shape)
    shape: list[Any] = []
    for i, size in enumerate(wanted):
        if isinstance(size, int):
            shape.append(size)
        elif isinstance(sizes, Value):
            shape.append(g.s.size(sizes, i))
        elif isinstance(sizes[i], Value):
            shape.append(sizes[i])
        else:  # -1: as it is
            shape.append(g.s.size(x, i - lead))
    return g.t.broadcast_to(x, tuple(shape))


@rule("aten.broadcast_tensors")
def broadcast_tensors(g: TorchBuilder, xs: Sequence[Tensor]) -> Any:
    found = g.t.broadcast_arrays(*xs)
    return g.items(found, len(xs))


@rule("aten.cat", "aten.concat", "aten.concatenate")
def cat(g: TorchBuilder, xs: Sequence[Tensor], dim: int = 0) -> Any:
    # torch lets empty vectors pass among arrays of any rank.
    kept = [g.cast(x, g.out.dtype) for x in xs if x.shape != (0,)] or list(xs[:1])
    return kept[0] if len(kept) == 1 else g.t.concat(kept, axis=dim)


@rule("aten.stack")
def stack(g: TorchBuilder, xs: Sequence[Tensor], dim: int = 0) -> Any:
    return g.t.stack([g.cast(x, g.out.dtype) for x in xs], axis=dim)


@rule("aten.hstack", "aten.vstack", "aten.column_stack")
def stack_flat(g: TorchBuilder, xs: Sequence[Tensor]) -> Any:
    xs = [g.cast(x if x.shape else g.noted(g.t.reshape(x, (1,)), (1,), x.dtype), g.out.dtype)
          for x in xs]  # fmt: skip
    if "column" in g.source:
        rows = [x if len(x.shape) > 1 else g.t.expand_dims(x, axis=1) for x in xs]
        return g.t.concat(rows, axis=1)
    if "vstack" in g.source:
        rows = [x if len(x.shape) > 1 else g.t.expand_dims(x, axis=0) for x in xs]
        return g.t.concat(rows, axis=0)
    return g.t.concat(list(xs), axis=0 if len(xs[0].shape) == 1 else 1)


@rule("aten.split", "aten.split_with_sizes", "aten.chunk", "aten.tensor_split", "aten.unsafe_split",
      "aten.unsafe_chunk", "aten.split_copy", "aten.split_with_sizes_copy")  # fmt: skip
def split(
    g: TorchBuilder, x: Tensor, sizes: Size | Sequence[Size] | None = None, dim: int = 0
) -> Any:
    """Pieces by the recorded sizes of the results; the last may be open."""
    if "tensor_split.tensor" in g.source:
        raise NotSupportedError(f"{g.source} cuts where the numbers of a tensor say.")
    axis = dim % len(x.shape)
    pieces, start = [], 0
    for i, out in enumerate(g.outs):
        size = out.shape[axis]
        stop: Any = None if i == len(g.outs) - 1 else _end(g, start, size, sizes, i)
        pieces.append(g.item(x, (slice(None),) * axis + (slice(start or None, stop),)))
        start = stop
    return tuple(pieces)


def _end(
    g: TorchBuilder, start: Size, size: int | str, given: Size | Sequence[Size] | None, i: int
) -> Any:
    if isinstance(size, int) and isinstance(start, int):
        return start + size
    step = size if isinstance(size, int) else given[i] if isinstance(given, list) else given
    return g.call(operator.add, start, step)


@rule("aten.unbind", "aten.unbind_copy")
def unbind(g: TorchBuilder, x: Tensor, dim: int = 0) -> Any:
    axis = dim % len(x.shape)
    return tuple([g.item(x, (slice(None),) * axis + (i,)) for i in range(len(g.outs))])


@rule("aten.repeat", "aten.tile")
def repeat(g: TorchBuilder, x: Tensor, repeats: Sequence[Size]) -> Any:
    if all([isinstance(n, int) and n == 1 for n in repeats]) and len(repeats) == len(x.shape):
        return x
    lead = len(repeats) - len(x.shape)
    longer = g.item(x, (None,) * lead + (...,)) if lead > 0 else x
    return g.t.tile(longer, tuple(repeats))


@rule("aten.repeat_interleave")
def repeat_interleave(g: TorchBuilder, x: Tensor, repeats: Tensor | Size | None = None,
                      dim: Dims | None = None, output_size: object = None) -> Any:  # fmt: skip
    if repeats is None:  # how often each index is wanted
        return g.t.repeat(g.t.arange(x.shape[0], **g.created()), x)
    return g.t.repeat(x, repeats, axis=dim)


@rule("aten.flip")
def flip(g: TorchBuilder, x: Tensor, dims: Dims) -> Any:
    return g.t.flip(x, axis=axes_of(dims, len(x.shape)))


@rule("aten.fliplr", "aten.flipud")
def flip_side(g: TorchBuilder, x: Tensor) -> Any:
    return g.t.flip(x, axis=1 if "lr" in g.source else 0)


@rule("aten.roll")
def roll(g: TorchBuilder, x: Tensor, shifts: Sequence[Size], dims: Sequence[int] = ()) -> Any:
    if not dims:
        return g.t.roll(x, shifts[0])
    return g.t.roll(x, tuple(shifts), axis=tuple(dims))


@rule("aten.pad", "aten.constant_pad_nd", "aten.reflection_pad1d", "aten.reflection_pad2d",
      "aten.reflection_pad3d", "aten.replication_pad1d", "aten.replication_pad2d",
      "aten.replication_pad3d", "aten._pad_circular", "aten._pad_enum")  # fmt: skip
def pad(g: TorchBuilder, x: Tensor, pad: Sequence[Size], mode: str | Scalar | None = None,
        value: str | Scalar | None = None) -> Any:  # fmt: skip
    """The pairs of torch begin with the last axis; negative ones cut off."""
    if "constant_pad" in g.source:
        mode = "constant"
    for word in ("reflect", "replicat", "circular"):
        if word in g.source:
            mode = word
    names = {"replicat": "edge", "replicate": "edge", "circular": "wrap", "reflect": "reflect"}
    pairs: list[tuple[Any, Any]] = [(0, 0)] * len(x.shape)
    for i in range(len(pad) // 2):
        pairs[-1 - i] = (pad[2 * i], pad[2 * i + 1])
    kept: Value = x
    if any([isinstance(n, int) and n < 0 for pair in pairs for n in pair]):
        cuts = [tuple([-n if isinstance(n, int) and n < 0 else 0 for n in pair]) for pair in pairs]
        kept = g.item(x, tuple([slice(low or None, -high or None) for low, high in cuts]))
        pairs = [
            tuple([0 if isinstance(n, int) and n < 0 else n for n in pair])  # type: ignore[misc]
            for pair in pairs
        ]
    if all([pair == (0, 0) for pair in pairs]):
        return kept
    if isinstance(mode, str) and mode in names:
        return g.t.pad(kept, tuple(pairs), mode=names[mode])
    fill = {} if not value else {"constant_values": value}
    return g.t.pad(kept, tuple(pairs), **fill)


@rule("aten.unfold")
def unfold(g: TorchBuilder, x: Tensor, dim: int, size: int, step: int) -> Any:
    return g.t.sliding_window(x, size, axis=dim, step=step)


@rule("aten.as_strided", "aten.as_strided_copy")
def as_strided(g: TorchBuilder, x: Tensor, size: Sequence[Size], stride: Sequence[Size],
               offset: Size | None = None) -> Any:  # fmt: skip
    return g.s.strided(x, tuple(size), tuple(stride), offset=offset or 0)


@rule("aten.pixel_shuffle", "aten.pixel_unshuffle")
def pixel_shuffle(g: TorchBuilder, x: Tensor, factor: int) -> Any:
    name = "pixel_unshuffle" if "unshuffle" in g.source else "pixel_shuffle"
    return getattr(g.F, name)(x, factor, data_format="NCHW")


@rule("aten.channel_shuffle")
def channel_shuffle(g: TorchBuilder, x: Tensor, groups: int) -> Any:
    n, c, *rest = x.shape
    y = g.t.reshape(x, (n, groups, c // groups, *rest))  # type: ignore[operator]
    y = g.t.permute_dims(y, (0, 2, 1, *range(3, len(rest) + 3)))
    return g.t.reshape(y, x.shape)


@rule("aten.meshgrid")
def meshgrid(g: TorchBuilder, xs: Sequence[Tensor], indexing: str = "ij") -> Any:
    found = g.t.meshgrid(*xs, indexing=indexing)
    return g.items(found, len(xs))


@rule("aten.atleast_1d", "aten.atleast_2d")
def atleast(g: TorchBuilder, x: Tensor) -> Any:
    return x if x.shape == g.out.shape else g.t.reshape(x, g.out.shape)
