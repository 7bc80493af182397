"""Prompts as one array, padded on the left."""

from typing import Any, NamedTuple

import numpy as np

from .._array.interchange import to_numpy
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from .._core.kinds import shown


class Prompts(NamedTuple):
    """`tokens` (batch, T) of int32; `starts` (batch,): the first real token of each row."""

    tokens: Any
    starts: Any
    is_single: bool


def as_prompts(prompts: object, prompt_mask: object, pad_token: int) -> Prompts:
    """Lists of tokens, of any lengths, or an array (batch, T) whose mask is True at real tokens."""
    rows, is_single = _rows(prompts, prompt_mask)
    if len(rows) == 0 or min([len(row) for row in rows]) == 0:
        raise ShapeError("generate() needs at least one token in each prompt, got none.")
    width = max([len(row) for row in rows])
    tokens = np.full((len(rows), width), pad_token, dtype=np.int32)
    starts = np.zeros(len(rows), dtype=np.int32)
    for i, row in enumerate(rows):
        starts[i] = width - len(row)
        tokens[i, starts[i] :] = row
    if tokens.min() < 0:
        raise ArgumentError(f"generate() expects tokens from 0 up, got {tokens.min()}.")
    return Prompts(tokens, starts, is_single)


def _rows(prompts: object, prompt_mask: object) -> tuple[list[Any], bool]:
    if hasattr(prompts, "dtype"):
        tokens = _integers(to_numpy(prompts))
        if tokens.ndim not in (1, 2):
            raise ShapeError(
                f"generate() expects prompts of shape (batch, T) or (T,), got {tokens.shape}."
            )
        rows = tokens if tokens.ndim == 2 else tokens[None]
        if prompt_mask is None:
            return list(rows), tokens.ndim == 1
        mask = np.asarray(to_numpy(prompt_mask) if hasattr(prompt_mask, "dtype") else prompt_mask)
        if mask.shape != tokens.shape:
            raise ShapeError(
                f"generate() expects a prompt_mask of shape {tokens.shape}, got {mask.shape}."
            )
        mask = (mask != 0).reshape(rows.shape)
        return [row[keep] for row, keep in zip(rows, mask, strict=True)], tokens.ndim == 1
    if prompt_mask is not None:
        raise ArgumentError("prompt_mask belongs to an array; lists of tokens have their lengths.")
    if isinstance(prompts, str) or not isinstance(prompts, (list, tuple)):
        raise ArgumentTypeError(
            "generate() expects lists of tokens or an array of them for prompts, got "
            f"{shown(prompts)}. Encode text with a tokenizer first."
        )
    is_single = len(prompts) > 0 and all([hasattr(token, "__index__") for token in prompts])
    parts = [prompts] if is_single else prompts
    rows = [_integers(np.asarray(to_numpy(x) if hasattr(x, "dtype") else x)) for x in parts]
    for row in rows:
        if row.ndim != 1:
            raise ShapeError(
                f"generate() expects a list of tokens in each prompt, got {row.shape}."
            )
    return rows, is_single


def _integers(tokens: Any) -> Any:
    if tokens.dtype.kind not in "iu" and tokens.size > 0:
        raise DtypeError(f"generate() expects integer tokens, got {tokens.dtype}.")
    return tokens.astype(np.int64)
