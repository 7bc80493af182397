"""Windows that slide over spatial axes: what convolutions, pooling and patches have in common."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from .._core.errors import ArgumentError, ShapeError
from ._arguments import MOST, per_axis, whole_number

# "SAME", "VALID", one int for all sides, or one (low, high) pair per spatial axis.
Padding: TypeAlias = str | int | Sequence[tuple[int, int]]
Steps: TypeAlias = int | Sequence[int]
Pairs: TypeAlias = tuple[tuple[int, int], ...]


class Windows(NamedTuple):
    """Windows as checked; one entry per spatial axis in each tuple."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Pairs
    outs: tuple[int, ...]  # how many windows there are


def checked_windows(
    name: str,
    sizes: tuple[int, ...],
    window: Steps,
    strides: Steps,
    padding: Padding,
    dilations: Steps,
    ceil_mode: bool = False,
) -> Windows:
    """The windows on an input of spatial `sizes`, with the user's arguments checked."""
    dims = len(sizes)
    window = per_axis(name, "window", window, dims)
    strides = per_axis(name, "strides", strides, dims)
    dilations = per_axis(name, "dilations", dilations, dims)
    return windows_on(name, sizes, window, strides, padding, dilations, ceil_mode)


def windows_on(
    name: str,
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Padding,
    dilations: tuple[int, ...],
    ceil_mode: bool = False,
) -> Windows:
    """The same for clean sizes, strides and dilations; at least one window along every axis.

    With `ceil_mode` a last window that reaches beyond the padded input counts too, if it starts
    within the input or the padding before it.
    """
    spans = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    pairs = _pairs(name, padding, sizes, spans, strides)
    outs = []
    for n, span, s, (low, high) in zip(sizes, spans, strides, pairs, strict=True):
        room = n + low + high - span
        if n < 1 or room < (1 - s if ceil_mode else 0):
            raise ShapeError(
                f"{name}() would have no output: a window spans {span} elements (size {window}, "
                f"dilations {dilations}) and the padded input has {n + low + high}. "
                "Use more padding or a smaller window."
            )
        out = room // s + 1
        if ceil_mode and room % s and out * s < n + low:
            out += 1
        outs.append(out)
    return Windows(window, strides, dilations, pairs, tuple(outs))


def _pairs(
    name: str, padding: Padding, sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]
) -> Pairs:
    """One (low, high) pair per axis; `spans` are those after dilation."""
    kind = padding_kind(name, padding, len(strides))
    if kind == "VALID":
        return ((0, 0),) * len(strides)
    if kind == "SAME":
        return same_padding(sizes, spans, strides)
    return kind  # type: ignore[return-value]


def same_padding(sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> Pairs:
    """What gives ceil(size / stride) windows on each axis; the odd element goes to the end.

    >>> same_padding((5,), (2,), (1,))
    ((0, 1),)
    """
    pairs = []
    for n, span, s in zip(sizes, spans, strides, strict=True):
        total = max((-(-n // s) - 1) * s + span - n, 0)
        pairs.append((total // 2, total - total // 2))
    return tuple(pairs)


def padding_kind(name: str, padding: object, dims: int) -> str | Pairs:
    """ "SAME", "VALID", or one (low, high) pair per axis."""
    if type(padding) is int and 0 <= padding <= MOST:
        return ((padding, padding),) * dims
    if isinstance(padding, str):
        kind = padding.upper()
        if kind not in ("SAME", "VALID"):
            raise ArgumentError(
                f"{name}() knows the paddings 'SAME' and 'VALID', an int, or one (low, high) pair "
                f"per axis, got {padding!r}."
            )
        return kind
    if isinstance(padding, (list, tuple)):
        are_pairs = all([isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in padding])
        if not are_pairs or len(padding) != dims:
            raise ArgumentError(
                f"{name}() expects padding with one (low, high) pair for each of its {dims} "
                f"spatial axes, for example {[(1, 1)] * dims}, got {padding!r}."
            )
        sides: list[Any] = list(padding)
    else:
        sides = [(padding, padding)] * dims
    pairs = []
    for pair in sides:
        low, high = [whole_number(name, "padding", size) for size in pair]
        if low < 0 or high < 0:
            raise ArgumentError(
                f"{name}() expects padding of at least 0 on every side, got {padding!r}."
            )
        pairs.append((low, high))
    return tuple(pairs)
