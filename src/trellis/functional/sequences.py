"""Sequences of different lengths as one array: padding, and masks of the real steps."""

from collections.abc import Sequence
from typing import Any, Literal

from .._core.dispatch import named_xp, xp_of, xp_of_all
from .._core.dtypes import fitted
from .._core.errors import ArgumentError, DtypeError, ShapeError, TracingError
from .._core.explain import explain
from .._core.guards import check_scalar
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import one_of
from .._core.typing import A, Array, Scalar
from ._arguments import whole_number


def length_mask(lengths: A, length: int | None = None, /) -> A:
    """True at the first `lengths` of `length` positions: bools of shape (..., length). Without
    `length` it is the longest of `lengths`, which is not known in a compiled function.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.length_mask(np.array([1, 3]))
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    try:
        if isinstance(lengths, dict):
            return call_leafwise(length_mask, (lengths, length), {})
        xp = xp_of(lengths)
        kind = xp.dtype_name(lengths.dtype)
        if not kind.startswith(("int", "uint")):
            raise DtypeError(f"length_mask() expects integer lengths, got {kind}.")
        if length is None:
            if not xp.is_concrete(lengths):
                raise TracingError(
                    "length_mask() cannot know the longest row while a function is compiled: "
                    "write length_mask(lengths, length)."
                )
            length = max(0, int(xp.max(lengths))) if 0 not in tuple(lengths.shape) else 0
        length = whole_number("length_mask", "length", length, 0)
        places = xp.arange(length, dtype="int32", device=xp.device(lengths))
        return places < xp.expand_dims(xp.astype(lengths, "int32", copy=False), axis=-1)
    except Exception as error:
        return explain(error, length_mask)


def pad_sequences(
    sequences: Sequence[Any],
    /,
    *,
    length: int | None = None,
    value: Scalar = 0,
    side: Literal["right", "left"] = "right",
    backend: str | None = None,
) -> tuple[Array, Array]:
    """Sequences (T, ...) as one array (batch, length, ...), filled up with `value`, and their
    lengths.

    They are arrays of one framework, or lists of numbers, which become arrays of `backend` or the
    default one.
    `length` is that of the longest unless given; a longer sequence than that raises.

    >>> from trellis import functional as F
    >>> tokens, lengths = F.pad_sequences([[5, 6, 7], [8]])
    >>> tokens
    array([[5, 6, 7],
           [8, 0, 0]])
    >>> lengths
    array([3, 1], dtype=int32)
    """
    try:
        one_of("pad_sequences", "side", side, ("right", "left"))
        check_scalar(value)
        if not isinstance(sequences, (list, tuple)) or len(sequences) == 0:
            raise ArgumentError("pad_sequences() expects a list of at least one sequence.")
        if has_nest(*sequences):
            options = {"length": length, "value": value, "side": side, "backend": backend}
            return call_leafwise(pad_sequences, (sequences,), options)
        arrays = [x for x in sequences if hasattr(x, "dtype")]
        xp: Any = xp_of_all(*arrays) if arrays and backend is None else named_xp(backend)
        filled = [i for i, x in enumerate(sequences) if hasattr(x, "dtype") or len(x) > 0]
        parts = [xp.asarray(sequences[i]) for i in filled]
        for part in parts:
            if len(part.shape) == 0 or tuple(part.shape[1:]) != tuple(parts[0].shape[1:]):
                raise ShapeError(
                    "pad_sequences() expects sequences that differ in their first axis alone, got "
                    f"shapes {[tuple(each.shape) for each in parts]}."
                )
        lengths = [0] * len(sequences)
        for i, part in zip(filled, parts, strict=True):
            lengths[i] = part.shape[0]
        most = max(lengths)
        length = most if length is None else whole_number("pad_sequences", "length", length, 0)
        if most > length:
            raise ShapeError(
                f"pad_sequences() expects sequences of at most {length} steps, got one of {most}. "
                "Cut it first, or give a larger length."
            )
        if not parts:
            parts = [xp.zeros((0,))]
        like = parts[0]
        fill = fitted(value, xp.dtype_name(like.dtype))
        rows, by_place = [], dict(zip(filled, parts, strict=False))
        for i, n in enumerate(lengths):
            missing = xp.full(
                (length - n, *like.shape[1:]), fill, dtype=like.dtype, device=xp.device(like)
            )
            row = [xp.astype(by_place[i], like.dtype, copy=False)] if n > 0 else []
            pair = [*row, missing] if side == "right" else [missing, *row]
            rows.append(xp.concat(pair, axis=0) if len(pair) > 1 else missing)
        counted = xp.asarray(lengths, dtype="int32", device=xp.device(like))
        return xp.stack(rows, axis=0), counted
    except Exception as error:
        return explain(error, pad_sequences)
