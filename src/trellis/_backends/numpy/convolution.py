"""Convolution on BLAS, with its own derivatives.

A convolution is bilinear. With T(x, w, g) = <conv(x, w), g> the three functions `_output`,
`_input_gradient` and `_filter_gradient` are the derivatives of T by g, x and w, and each is the
derivative of the other two: so three primitives give derivatives of every order.
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..shared.convolution import ConvSpec, TransposedConvSpec
from ._fused import fused
from ._tape import defvjp, primitive

# Windows are copied for one block of rows at a time: small enough to stay in the cache together
# with the block before, whose memory is still held; large enough for BLAS.
_BLOCK_BYTES = 1 << 19


class _Geometry(NamedTuple):
    """All static numbers of one convolution, one entry per spatial axis."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    outs: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    x_dilations: tuple[int, ...]
    lows: tuple[int, ...]
    groups: int


def conv(x: Any, filters: Any, bias: Any, spec: ConvSpec) -> Any:
    """Cross-correlation; all arguments are checked already."""
    x, filters = _channel_last(x, filters, spec)
    sizes, kernel = tuple(x.shape[1:-1]), tuple(filters.shape[:-2])
    lows = tuple([low for low, _ in spec.padding])
    outs = []
    for i, (n, k, (low, high)) in enumerate(zip(sizes, kernel, spec.padding, strict=True)):
        span = (k - 1) * spec.dilations[i]
        outs.append(((n - 1) * spec.x_dilations[i] + low + high - span) // spec.strides[i] + 1)
    geometry = _Geometry(
        sizes,
        kernel,
        tuple(outs),
        spec.strides,
        spec.dilations,
        spec.x_dilations,
        lows,
        spec.groups,
    )
    y = _with_bias(x, filters, bias, geometry)[0]
    return np.moveaxis(y, -1, 1) if spec.channel_first else y


def conv_transpose(x: Any, filters: Any, bias: Any, spec: TransposedConvSpec) -> Any:
    """The part of a transposed convolution given by the spec; arguments are checked already."""
    x, filters = _channel_last(x, filters, spec)
    kernel, sizes = tuple(filters.shape[:-2]), tuple(x.shape[1:-1])
    ones = (1,) * len(spec.strides)
    geometry = _Geometry(
        spec.outs, kernel, sizes, spec.strides, spec.dilations, ones, spec.starts, spec.groups
    )
    y = _plus(_input_gradient(x, filters, geometry), bias)
    return np.moveaxis(y, -1, 1) if spec.channel_first else y


def _channel_last(x: Any, filters: Any, spec: ConvSpec | TransposedConvSpec) -> tuple[Any, Any]:
    if spec.channel_first:
        x = np.moveaxis(x, 1, -1)
    if spec.filter_first:
        filters = np.permute_dims(filters, (*range(2, filters.ndim), 1, 0))
    return x, filters


def _plus(y: Any, bias: Any) -> Any:
    if bias is None:
        return y
    return _single_sum(y, bias) if y.dtype.itemsize < 4 else y + bias


def _single_sum(y: Any, bias: Any) -> Any:
    # In float32, for the bias's derivative: a sum over the batch.
    return (y.astype(np.float32) + bias.astype(np.float32)).astype(y.dtype)


@primitive
def _output(x: Any, w: Any, geo: _Geometry) -> Any:
    dtype, x, w = _computable(x, w)
    padded = _padded(x, geo)
    y = np.empty((x.shape[0], *geo.outs, w.shape[-1]), x.dtype)
    if _is_depthwise(w, geo):
        y[...] = 0
        for offset, window in _offsets(geo):
            y += padded[window] * w[offset][0]
        return y.astype(dtype, copy=False)
    matrices = _filter_matrices(w, geo)
    for block, columns in _columns(padded, geo, w.shape[-1]):
        if geo.groups == 1:
            np.matmul(columns[0], matrices[0], out=y[block].reshape(-1, y.shape[-1]))
            continue
        y[block] = _from_groups(np.matmul(columns, matrices), y[block].shape)
    return y.astype(dtype, copy=False)


@primitive
def _input_gradient(g: Any, w: Any, geo: _Geometry) -> Any:
    dtype, g, w = _computable(g, w)
    in_group = w.shape[-2]
    channels = in_group * geo.groups
    lengths = geo.sizes if _is_plain(geo) else _lengths(geo)
    padded = np.zeros((g.shape[0], *lengths, channels), g.dtype)
    if _is_depthwise(w, geo):
        for offset, window in _offsets(geo):
            padded[window] += g * w[offset][0]
        return _unpadded(padded, geo).astype(dtype, copy=False)
    matrices = _filter_matrices(w, geo).transpose(0, 2, 1)  # BLAS reads them without a copy
    row = math.prod(geo.kernel) * channels * g.itemsize
    for block in _blocks(g.shape[0], geo.outs, row, w.shape[-1] // geo.groups):
        columns = np.matmul(_to_groups(g[block], geo.groups), matrices)
        rows = g[block].shape[:-1]
        columns = columns.reshape(geo.groups, *rows, *geo.kernel, in_group)
        # The block's own part of the buffer: whole samples, or some rows of one sample.
        own = padded[block[0]][:, block[1].start * geo.strides[0] :]
        if geo.groups == 1 and geo.dilations[-1] == 1:
            _add_runs(own, columns[0], geo)
            continue
        for offset, window in _offsets(geo, rows[1]):
            part = columns[(slice(None),) * (1 + len(rows)) + offset]
            target = own[window]
            target += np.moveaxis(part, 0, -2).reshape(target.shape)
    return _unpadded(padded, geo).astype(dtype, copy=False)


def _add_runs(padded: Any, columns: Any, geo: _Geometry) -> None:
    """Add windows (rows, kernel, channels) at the positions that they were taken from.

    Along the last axis a whole window is contiguous in memory and is added at once: adding few
    channels at a time would be slow. Overlapping windows are added one after another.
    """
    lead, length = len(geo.kernel) - 1, geo.kernel[-1] * padded.shape[-1]
    stride, turns = geo.strides[-1], -(-geo.kernel[-1] // geo.strides[-1])
    runs = columns.reshape(*columns.shape[:-2], length)
    step, item = padded.strides[-2:]
    outer = geo._replace(
        kernel=geo.kernel[:-1],
        outs=geo.outs[:-1],
        strides=geo.strides[:-1],
        dilations=geo.dilations[:-1],
    )
    for offset, window in _offsets(outer, runs.shape[1] if lead else None):
        for turn in range(min(turns, runs.shape[lead + 1])):
            part = runs[(slice(None),) * (lead + 1) + (slice(turn, None, turns), *offset)]
            lines = padded[window][..., turn * stride :, :]
            target = as_strided(
                lines, part.shape, (*lines.strides[:-2], turns * stride * step, item)
            )
            target += part


@primitive
def _filter_gradient(x: Any, g: Any, geo: _Geometry) -> Any:
    dtype, x, g = _computable(x, g)
    padded = _padded(x, geo)
    channels, out_channels = x.shape[-1], g.shape[-1]
    in_group, out_group = channels // geo.groups, out_channels // geo.groups
    if in_group == out_group == 1:
        w = np.empty((*geo.kernel, 1, channels), x.dtype)
        axes = "nijk"[: len(geo.outs) + 1] + "c"
        for offset, window in _offsets(geo):
            w[offset][0] = np.einsum(f"{axes},{axes}->c", padded[window], g)
        return w.astype(dtype, copy=False)
    total = np.zeros((geo.groups, math.prod(geo.kernel) * in_group, out_group), x.dtype)
    for block, columns in _columns(padded, geo, out_channels):
        total += np.matmul(columns.transpose(0, 2, 1), _to_groups(g[block], geo.groups))
    w = total.reshape(geo.groups, *geo.kernel, in_group, out_group)
    return (
        np.moveaxis(w, 0, -2).reshape(*geo.kernel, in_group, out_channels).astype(dtype, copy=False)
    )


defvjp(
    _output,
    lambda ans, x, w, geo: lambda g: _input_gradient(g, w, geo),
    lambda ans, x, w, geo: lambda g: _filter_gradient(x, g, geo),
)
defvjp(
    _input_gradient,
    lambda ans, g, w, geo: lambda x: _output(x, w, geo),
    lambda ans, g, w, geo: lambda x: _filter_gradient(x, g, geo),
)
defvjp(
    _filter_gradient,
    lambda ans, x, g, geo: lambda w: _input_gradient(g, w, geo),
    lambda ans, x, g, geo: lambda w: _output(x, w, geo),
)


# With its bias, for first derivatives, a convolution is one entry on the tape.


def _formula(x: Any, w: Any, bias: Any, geo: _Geometry) -> tuple[Any]:
    return (_plus(_output(x, w, geo), bias),)


def _forward(x: Any, w: Any, bias: Any, geo: _Geometry) -> tuple[tuple[Any], Any]:
    y = _output(x, w, geo)
    if bias is not None:
        y += bias
    return (y,), (x, w, geo)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    (g,), (x, w, geo) = gs, kept
    found = []
    for i in places:
        if i == 0:
            found.append(_input_gradient(g, w, geo))
        else:
            found.append(_filter_gradient(x, g, geo) if i == 1 else _sum_to_channels(g))
    return found


def _sum_to_channels(g: Any) -> Any:
    # By BLAS: `sum` along the first axis goes row by row, and the rows are short.
    rows = math.prod(g.shape[:-1])
    return np.matmul(np.ones(rows, g.dtype), g.reshape(rows, g.shape[-1]))


_with_bias = fused(_forward, _backward, _formula)


def _computable(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The result's dtype, and both arrays in the one to compute in: float32 for halves."""
    dtype = np.result_type(a, b)
    inner = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    return dtype, a.astype(inner, copy=False), b.astype(inner, copy=False)


def _is_depthwise(w: Any, geo: _Geometry) -> bool:
    return w.shape[-2] == 1 and w.shape[-1] == geo.groups


def _lengths(geo: _Geometry) -> tuple[int, ...]:
    """How much of the padded input the windows touch."""
    return tuple(
        [
            (out - 1) * s + (k - 1) * d + 1
            for out, s, k, d in zip(geo.outs, geo.strides, geo.kernel, geo.dilations, strict=True)
        ]
    )


def _placement(geo: _Geometry) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Which elements of the input are used, and their positions in the padded, dilated buffer."""
    taken, places = [slice(None)], [slice(None)]
    for n, length, low, xd in zip(geo.sizes, _lengths(geo), geo.lows, geo.x_dilations, strict=True):
        count = max(0, min(n, -((low - length) // xd)))
        taken.append(slice(0, count))
        places.append(slice(low, low + (count - 1) * xd + 1, xd) if count else slice(0, 0))
    return tuple(taken), tuple(places)


def _is_plain(geo: _Geometry) -> bool:
    """Whether the windows are within the input without padding; some of its end may be unused."""
    if any(geo.lows) or max(geo.x_dilations) > 1:
        return False
    return all([used <= n for used, n in zip(_lengths(geo), geo.sizes, strict=True)])


def _padded(x: Any, geo: _Geometry) -> Any:
    if _is_plain(geo):
        return x
    taken, places = _placement(geo)
    padded = np.zeros((x.shape[0], *_lengths(geo), x.shape[-1]), x.dtype)
    padded[places] = x[taken]
    return padded


def _unpadded(padded: Any, geo: _Geometry) -> Any:
    if _is_plain(geo):
        return padded
    taken, places = _placement(geo)
    x = np.zeros((padded.shape[0], *geo.sizes, padded.shape[-1]), padded.dtype)
    x[taken] = padded[places]
    return x


def _offsets(
    geo: _Geometry, rows: int | None = None
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Every kernel element, and the elements of the padded buffer that it is multiplied with."""
    outs = geo.outs if rows is None else (rows, *geo.outs[1:])
    for offset in product(*[range(k) for k in geo.kernel]):
        window = [slice(None)]
        for at, out, s, d in zip(offset, outs, geo.strides, geo.dilations, strict=True):
            window.append(slice(at * d, at * d + (out - 1) * s + 1, s))
        yield offset, tuple(window)


def _blocks(
    batch: int, outs: tuple[int, ...], row_bytes: int, least: int
) -> Iterator[tuple[slice, slice]]:
    """Parts of (batch, first spatial axis): several whole samples, or some rows of one.

    About `least` positions or more: with as many as there are filters, the columns are no smaller
    than the filters, all of which are read again for every block.
    """
    size = max(_BLOCK_BYTES, row_bytes * least)
    line = max(1, row_bytes * math.prod(outs[1:]))
    samples = max(1, size // (line * outs[0]))
    lines = min(outs[0], max(1, size // line))
    for n in range(0, batch, samples):
        for i in range(0, outs[0], lines):
            yield slice(n, min(n + samples, batch)), slice(i, min(i + lines, outs[0]))


def _columns(
    padded: Any, geo: _Geometry, out_channels: int
) -> Iterator[tuple[tuple[slice, slice], Any]]:
    """Windows of blocks of positions as matrices (groups, positions, kernel * channels)."""
    batch, channels = padded.shape[0], padded.shape[-1]
    in_group = channels // geo.groups
    steps = padded.strides
    spatial = steps[1:-1]
    windows = as_strided(
        padded,
        (geo.groups, batch, *geo.outs, *geo.kernel, in_group),
        (
            steps[-1] * in_group,
            steps[0],
            *[step * s for step, s in zip(spatial, geo.strides, strict=True)],
            *[step * d for step, d in zip(spatial, geo.dilations, strict=True)],
            steps[-1],
        ),
        writeable=False,
    )
    width = math.prod(geo.kernel) * in_group
    row = math.prod(geo.kernel) * channels * padded.itemsize
    for block in _blocks(batch, geo.outs, row, out_channels // geo.groups):
        yield block, windows[:, block[0], block[1]].reshape(geo.groups, -1, width)


def _filter_matrices(w: Any, geo: _Geometry) -> Any:
    in_group, out_channels = w.shape[-2:]
    width = math.prod(geo.kernel) * in_group
    return w.reshape(width, geo.groups, out_channels // geo.groups).transpose(1, 0, 2)


def _to_groups(y: Any, groups: int) -> Any:
    return np.moveaxis(y.reshape(-1, groups, y.shape[-1] // groups), 1, 0)


def _from_groups(y: Any, shape: tuple[int, ...]) -> Any:
    return np.moveaxis(y, 0, 1).reshape(shape)
