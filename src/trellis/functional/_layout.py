"""Where the channels are: the names of data formats, and arrays in the shape that fits an axis."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._core.errors import ArgumentError, ShapeError
from .._core.typing import Array, Backend

# Name of a format: whether the channels come before the spatial axes.
LETTERS: dict[int, dict[str, bool]] = {
    1: {"NWC": False, "NCW": True},
    2: {"NHWC": False, "NCHW": True},
    3: {"NDHWC": False, "NCDHW": True},
}
WORDS = {"channel_last": False, "channel_first": True}


def all_formats(dims: int) -> dict[str, bool]:
    """The formats of arrays with `dims` spatial axes, by letters and by words."""
    return {**LETTERS.get(dims, {}), **WORDS}


def is_first(name: str, what: str, value: object, formats: Mapping[str, bool]) -> bool:
    """Whether the channels come first in the format `value`; a format that is not known raises."""
    if not isinstance(value, str) or value not in formats:
        raise ArgumentError(
            f"{name}() knows the {what}s {', '.join(map(repr, formats))}, got {value!r}."
        )
    return formats[value]


def is_channel_first(name: str, data_format: str, x: Array) -> bool:
    """Whether the channels of `x` come before its spatial axes, however many those are."""
    return is_first(name, "data_format", data_format, all_formats(len(x.shape) - 2))


def check_rank(name: str, x: Array, dims: int, data_format: str) -> None:
    """Raise unless `x` has `dims` spatial axes, a batch and channels."""
    if len(x.shape) != dims + 2:
        raise ShapeError(
            f"{name}() expects x with {dims + 2} axes ({data_format}), got shape {tuple(x.shape)} "
            f"with {len(x.shape)}."
        )


def spatial_sizes(name: str, x: Array, channel_first: bool) -> tuple[int, ...]:
    """The sizes between batch and channels, which must be known while tracing."""
    shape = tuple(x.shape)
    sizes = shape[2:] if channel_first else shape[1:-1]
    if any([size is None for size in sizes]):
        raise ShapeError(
            f"{name}() needs known spatial sizes while tracing, got {shape}. "
            "Give tf.function a signature with them."
        )
    return sizes


def checked_planes(name: str, x: Array, data_format: str) -> tuple[bool, tuple[int, ...]]:
    """Whether channels come first, and the sizes of the 1 to 3 spatial axes, none of them empty."""
    if not 3 <= len(x.shape) <= 5:
        raise ShapeError(
            f"{name}() expects x of 3 to 5 axes, batch, 1 to 3 spatial axes and channels, "
            f"got {tuple(x.shape)}."
        )
    first = is_channel_first(name, data_format, x)
    sizes = spatial_sizes(name, x, first)
    if min(sizes) < 1:
        raise ShapeError(
            f"{name}() expects at least one element along every spatial axis, got {tuple(x.shape)}."
        )
    return first, sizes


def spatial_pairs(pairs: Sequence[tuple[int, int]], channel_first: bool) -> list[tuple[int, int]]:
    """Pads for all axes out of those for the spatial ones."""
    return [(0, 0), (0, 0), *pairs] if channel_first else [(0, 0), *pairs, (0, 0)]


def along(xp: Backend, x: Array, axes: tuple[int, ...], ndim: int) -> Any:
    """`x`, one axis for each of `axes`, in the shape that broadcasts against `ndim` axes."""
    shape = [1] * ndim
    for axis, size in zip(axes, x.shape, strict=True):
        shape[axis] = -1 if size is None else size  # open: it is known when the program runs
    return xp.reshape(x, tuple(shape))
