"""Padded steps in recurrent layers: which steps count, and what happens at the others."""

from collections.abc import Sequence
from typing import Any

from .._core.errors import ArgumentError, DtypeError, ShapeError
from .._core.typing import Array, Backend
from ._arguments import shapes_differ


def real_steps(name: str, xp: Backend, x: Array, lengths: Array | None, mask: Array | None,
               batch: Sequence[int | None], steps: int | None,
               time_major: bool) -> Any:  # fmt: skip
    """Which steps are not padding, time first (T, batch...), of the lengths or the mask; or
    None."""
    if mask is not None:
        if lengths is not None:
            raise ArgumentError(f"{name}() takes lengths or mask, not both: they say the same.")
        if xp.dtype_name(mask.dtype) != "bool":
            raise DtypeError(
                f"{name}() expects a bool mask (True at real steps), got "
                f"{xp.dtype_name(mask.dtype)}. Write mask != 0."
            )
        wanted = (steps, *batch) if time_major else (*batch, steps)
        if len(mask.shape) != len(wanted) or shapes_differ(tuple(mask.shape), wanted):
            raise ShapeError(
                f"{name}() expects a mask of shape {wanted} for x {tuple(x.shape)}, got "
                f"{tuple(mask.shape)}."
            )
        if time_major or len(batch) == 0:
            return mask
        return xp.permute_dims(mask, (len(batch), *range(len(batch))))
    if lengths is None:
        return None
    check_lengths_of(name, xp, lengths, batch, steps)
    if steps is None:
        # As many as x has, counted when the program runs.
        line = x if time_major else xp.permute_dims(x, (len(batch), *range(len(batch)), -1))
        line = line[(slice(None), *[0] * (len(batch) + 1))]
        times = xp.cumulative_sum(xp.ones_like(line, dtype="int32"), axis=0) - 1
    else:
        times = xp.arange(steps, dtype="int32", device=xp.device(x))
    times = xp.reshape(times, (-1, *[1] * len(batch)))
    return times < xp.astype(lengths, "int32", copy=False)


def check_lengths_of(
    name: str, xp: Backend, lengths: Array, batch: Sequence[int | None], steps: int | None
) -> None:
    kind = xp.dtype_name(lengths.dtype)
    if not kind.startswith(("int", "uint")):
        raise DtypeError(f"{name}() expects integer lengths, got {kind}.")
    found = tuple(lengths.shape)
    if len(found) != len(batch) or shapes_differ(found, tuple(batch)):
        raise ShapeError(f"{name}() expects lengths of shape {tuple(batch)}, got {found}.")
    if steps is None or 0 in found or not xp.is_concrete(lengths):
        return
    least, most = int(xp.min(lengths)), int(xp.max(lengths))
    if least < 0 or most > steps:
        raise ArgumentError(
            f"{name}() expects lengths from 0 to the {steps} steps of x, got {least} to {most}."
        )


def reversed_within(xp: Backend, x: Array, lengths: Array) -> Any:
    """x (T, batch..., width) with the first `lengths` steps of each row in reverse order."""
    steps = x.shape[0]
    times = xp.arange(steps, dtype="int32", device=xp.device(x))
    times = xp.reshape(times, (-1, *[1] * len(lengths.shape)))
    ends = xp.expand_dims(xp.astype(lengths, "int32", copy=False), axis=0)
    places = xp.where(times < ends, ends - 1 - times, times)
    return xp.take_along_axis(x, xp.expand_dims(places, axis=-1), axis=0)


def padded_lstm(
    xp: Backend, x: Array, h: Array, c: Array, kernel: Array, recurrent_kernel: Array,
    bias: Array | None, keep: Array, lengths: Array | None,
) -> tuple[Any, tuple[Any, Any]]:  # fmt: skip
    """The LSTM over x (T, rows, in) whose steps count where `keep` (T, rows) is True."""
    if lengths is not None:
        x, kernel = _frozen_cells(xp, x, kernel, keep)
        hs, (_, c) = xp.lstm(x, h, c, kernel, recurrent_kernel, bias)
        h = _last_real(xp, hs, h, lengths)
        return xp.where(xp.expand_dims(keep, axis=-1), hs, xp.zeros_like(hs)), (h, c)
    keep = xp.expand_dims(keep, axis=-1)
    a = xp.matmul(xp.where(keep, x, xp.zeros_like(x)), kernel)
    a = a if bias is None else a + bias

    def advance(state: tuple[Any, Any], at: tuple[Any, Any]) -> tuple[Any, Any]:
        (h, c), (a, keep) = state, at
        width = h.shape[-1]
        z = a + xp.matmul(h, recurrent_kernel)
        gates, new = xp.sigmoid(z), xp.tanh(z[..., 2 * width : 3 * width])
        cell = gates[..., width : 2 * width] * c + gates[..., :width] * new
        c = xp.where(keep, cell, c)
        y = gates[..., 3 * width :] * xp.tanh(c)
        return (xp.where(keep, y, h), c), xp.where(keep, y, xp.zeros_like(y))

    (h, c), hs = xp.scan(advance, (h, c), (a, keep))
    return hs, (h, c)


# How far a sigmoid must be pushed to be 0 or 1 exactly, whatever else is added to its argument.
_FAR = 1e4


def _frozen_cells(xp: Backend, x: Array, kernel: Array, keep: Array) -> tuple[Any, Any]:
    """The input of an LSTM with one more feature, 1 at padding, and a kernel under which it shuts
    the input gate and opens the forget gate: the cell then keeps its value, to the last bit.

    So the frameworks' own kernels, which do not support padding, work for padded sequences too.
    """
    keep = xp.expand_dims(keep, axis=-1)
    zero = xp.zeros_like(x)
    padding = xp.astype(xp.logical_not(keep), x.dtype)
    wide = xp.concat([xp.where(keep, x, zero), padding + zero[..., :1]], axis=-1)
    width = kernel.shape[-1] // 4
    pushes = [-_FAR] * width + [_FAR] * width + [0.0] * (2 * width)
    row = xp.asarray([pushes], dtype=kernel.dtype, device=xp.device(kernel))
    return wide, xp.concat([kernel, row], axis=0)


def _last_real(xp: Backend, hs: Array, first: Array, lengths: Array) -> Any:
    """The last real step of hs (T, rows, width); `first` where there is none."""
    ends = xp.reshape(xp.astype(lengths, "int32", copy=False), (1, -1, 1))
    found = xp.take_along_axis(hs, xp.clip(ends - 1, 0, None), axis=0)[0, ...]
    return xp.where(ends[0, ...] > 0, found, first)
