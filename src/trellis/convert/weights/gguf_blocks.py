"""The blocks of GGUF's formats as float32 arrays: each block has a scale, and small integers.

The formulas are those of ggml, one product after another in float32: the bits are the same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_NIBBLES = np.array([0, 4], np.uint8).reshape(1, 1, 2, 1)


class Blocks(NamedTuple):
    """A format: how many numbers a block has, how many bytes, and what they say."""

    name: str
    numbers: int
    bytes: int
    restore: Callable[[Any], Any]  # from (blocks, bytes) to (blocks, numbers)


def _f32(blocks: Any) -> Any:
    return blocks.view("<f4")


def _f16(blocks: Any) -> Any:
    return blocks.view("<f2").astype(np.float32)


def _bf16(blocks: Any) -> Any:
    return (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32)


def _q8_0(blocks: Any) -> Any:
    scale = _halves(blocks[:, :2])
    return blocks[:, 2:].view(np.int8).astype(np.float32) * scale


def _q4_0(blocks: Any) -> Any:
    scale = _halves(blocks[:, :2])
    codes = _nibbles(blocks[:, 2:], 16).reshape(len(blocks), 32)
    return scale * (codes.astype(np.int8) - np.int8(8)).astype(np.float32)


def _q4_k(blocks: Any) -> Any:
    """Eight groups of 32, each with a scale and a lowest value of 6 bits, in two units."""
    unit, low_unit = _halves(blocks[:, :2]), _halves(blocks[:, 2:4])
    first, second, high = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([first & 0x3F, (high & 0x0F) | ((first >> 2) & 0x30)], axis=1)
    lows = np.concatenate([second & 0x3F, (high >> 4) | ((second >> 2) & 0x30)], axis=1)
    scales, lows = unit * scales.astype(np.float32), low_unit * lows.astype(np.float32)
    codes = _nibbles(blocks[:, 16:], 32).reshape(len(blocks), 8, 32).astype(np.float32)
    return (scales[..., None] * codes - lows[..., None]).reshape(len(blocks), 256)


def _halves(pair: Any) -> Any:
    return np.ascontiguousarray(pair).view("<f2").astype(np.float32)


def _nibbles(codes: Any, size: int) -> Any:
    """All low halves of `size` bytes, then all high halves, and so on."""
    return (codes.reshape(len(codes), -1, 1, size) >> _NIBBLES) & np.uint8(0x0F)


# By ggml's numbers.
BLOCKS = {
    0: Blocks("F32", 1, 4, _f32),
    1: Blocks("F16", 1, 2, _f16),
    2: Blocks("Q4_0", 32, 18, _q4_0),
    8: Blocks("Q8_0", 32, 34, _q8_0),
    12: Blocks("Q4_K", 256, 144, _q4_k),
    30: Blocks("BF16", 1, 2, _bf16),
}
# Those that are known and not read, for a message that helps.
OTHERS = {
    3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 14: "Q6_K",
    15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL",
    21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


def restore(data: Any, number: int, shape: tuple[int, ...]) -> Any:
    """The array of that shape from its bytes; overflow of a damaged scale is infinity."""
    blocks = BLOCKS[number]
    rows = np.ascontiguousarray(data).reshape(-1, blocks.bytes)
    with np.errstate(over="ignore", invalid="ignore"):
        return blocks.restore(rows).reshape(shape)
