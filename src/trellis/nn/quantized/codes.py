"""Matrices as small integers and one scale for a group of them: made on the host, once for all
frameworks, and restored by the arrays' framework.

An integer times a scale of 11 bits has at most 19 bits: the product is exact in float32, and
rounded once where the result is narrower. So the restored weights have the same bits everywhere.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._array.casting import astype
from ..._array.elementwise import floor
from ..._array.manipulation import reshape, stack
from ..._core.typing import Array

_NORMAL, _LARGEST = 2.0**-14, 65504.0  # what float16 holds with all its bits


class Packed(NamedTuple):
    """Integers of a matrix, two to a byte where they have 4 bits, and the scales of its groups."""

    codes: Any
    scales: Any


def packed(w: Any, bits: int, group: int | None) -> Packed:
    """A NumPy matrix in groups along the last axis; None is one group for each row."""
    w = np.asarray(w).astype(np.float32)
    rows, width = w.shape
    group = width if group is None else min(group, width)
    group += group % 2 if bits == 4 else 0
    count = -(-width // group)
    parts = np.zeros((rows, count * group), np.float32)
    parts[:, :width] = w
    parts = parts.reshape(rows, count, group)
    # The number of the largest size becomes -8, whatever its sign: no code is lost.
    at = np.argmax(np.abs(parts), axis=2)[..., None]
    largest = np.take_along_axis(parts, at, axis=2)[..., 0]
    scales = largest / np.float32(-8) if bits == 4 else np.abs(largest) / np.float32(127)
    sizes = np.abs(scales[scales != 0])
    if sizes.size == 0 or (sizes.min() >= _NORMAL and sizes.max() <= _LARGEST):
        scales = scales.astype(np.float16)
    whole = scales.astype(np.float32)[..., None]
    lowest, highest = (-8, 7) if bits == 4 else (-127, 127)
    quotients = np.divide(parts, whole, out=np.zeros_like(parts), where=whole != 0)
    codes = np.clip(np.rint(quotients), lowest, highest).astype(np.int8).reshape(rows, -1)
    if bits == 8:
        return Packed(codes, scales)
    halves = (codes + 8).astype(np.uint8)
    return Packed(halves[:, 0::2] | (halves[:, 1::2] << 4), scales)


def restored(codes: Array, scales: Array, bits: int, width: int, dtype: str) -> Any:
    """The matrix, in any framework; `width` is the length of its rows."""
    numbers = astype(codes, "float32")
    if bits == 4:
        # Exact in float32, and understood by every exporter, which shifts of bytes are not.
        high = floor(numbers * 0.0625)
        low = numbers - high * 16.0
        numbers = stack([low, high], axis=-1) - 8.0
        numbers = reshape(numbers, (codes.shape[0], 2 * codes.shape[1]))
    rows, count = scales.shape
    scales = astype(scales, "float32")
    if count == 1:
        whole = numbers * scales
    else:
        parts = reshape(numbers, (rows, count, numbers.shape[1] // count))
        whole = reshape(parts * reshape(scales, (rows, count, 1)), (rows, numbers.shape[1]))
    whole = whole if whole.shape[1] == width else whole[:, :width]
    return whole if dtype == "float32" else astype(whole, dtype)
