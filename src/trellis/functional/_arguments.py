"""What the functions of this room share: precision, reductions, checks of values, layouts."""

from collections.abc import Callable, Sequence
from typing import Any

from .._core.dispatch import xp_of, xp_of_all
from .._core.dtypes import COMPLEX, FLOATING, default_dtype
from .._core.errors import ArgumentError, DtypeError, ShapeError
from .._core.shapes import normal_axes
from .._core.tree import call_leafwise
from ._checks import as_floats

_PRECISE = ("float32", "float64")

DATA_FORMATS = {
    "NWC": (1, False),
    "NCW": (1, True),
    "NHWC": (2, False),
    "NCHW": (2, True),
    "NDHWC": (3, False),
    "NCDHW": (3, True),
    "channel_last": (None, False),
    "channel_first": (None, True),
}


# Precision -------------------------------------------------------------------------------------------


def applied(name: str, formula: Callable[..., Any], x: Any, *options: Any) -> Any:
    """`formula(xp, x, *options)`, element by element, computed in float32 at least; leaf by leaf in nests.

    The result has the dtype of `x`; integers become the default float.
    """
    if isinstance(x, dict):
        return call_leafwise(lambda leaf: applied(name, formula, leaf, *options), (x,), {})
    xp = xp_of(x)
    kind = xp.dtype_name(x.dtype)
    if kind in _PRECISE:
        return formula(xp, x, *options)
    y, kind = precise(name, xp, x)
    return xp.astype(formula(xp, y, *options), kind, copy=False)


def precise(name: str, xp: Any, x: Any) -> tuple[Any, str]:
    """`x` in float32 or float64 to compute with, and the name of the dtype that the result has."""
    kind = xp.dtype_name(x.dtype)
    if kind in _PRECISE:
        return x, kind
    if kind in COMPLEX:
        raise DtypeError(f"{name}() computes with real numbers, got an array of {kind}.")
    if kind not in FLOATING:
        kind = str(default_dtype())
    return xp.astype(x, kind if kind in _PRECISE else "float32"), kind


def all_precise(name: str, xp: Any, *arrays: Any) -> tuple[list[Any], str]:
    """Several arrays in one dtype to compute with (None passes), and the name of the result's dtype."""
    found = as_floats(name, xp, *arrays)
    kind = xp.dtype_name(found[0].dtype)
    if kind in _PRECISE:
        return found, kind
    return [x if x is None else xp.astype(x, "float32") for x in found], kind


def parameter(xp: Any, x: Any, like: Any) -> Any:
    """A scale or an offset in the dtype that `like` is computed in; None passes."""
    if x is None or x.dtype == like.dtype:
        return x
    return xp.astype(x, like.dtype)


# Axes, layouts, reductions ---------------------------------------------------------------------------


def number(xp: Any, value: Any, like: Any) -> Any:
    """A constant array of one element, in the dtype and on the device of `like`."""
    return xp.asarray(value, dtype=like.dtype, device=xp.device(like))


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes in rising order, each once."""
    axes = tuple(sorted(normal_axes(axis, ndim)))
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis={axis!r} names an axis twice in an array of {ndim} axes.")
    return axes


def along(xp: Any, x: Any, axes: tuple[int, ...], ndim: int) -> Any:
    """`x`, one axis for each of `axes`, in the shape that broadcasts against an array of `ndim` axes."""
    shape = [1] * ndim
    for axis, size in zip(axes, x.shape, strict=True):
        shape[axis] = size
    return xp.reshape(x, tuple(shape))


def is_channel_first(name: str, data_format: Any, ndim: int, dims: int | None = None) -> bool:
    """Whether the channels come before the spatial axes; a format for another number of axes raises."""
    known = [
        key
        for key, (of, _) in DATA_FORMATS.items()
        if of is None or of == (ndim - 2 if dims is None else dims)
    ]
    if dims is not None:
        known = [key for key in known if DATA_FORMATS[key][0] is not None]
        if ndim != dims + 2 and data_format in known:
            raise ShapeError(
                f"{name}() expects x with {dims + 2} axes ({data_format}), got {ndim}."
            )
    if not isinstance(data_format, str) or data_format not in known:
        raise ArgumentError(
            f"{name}() knows the data_formats {', '.join(map(repr, known))} for x with {ndim} axes, got {data_format!r}."
        )
    return DATA_FORMATS[data_format][1]


def spatial_sizes(name: str, x: Any, channel_first: bool) -> tuple[int, ...]:
    """The sizes between batch and channels, which must be known while tracing."""
    shape = tuple(x.shape)
    sizes = shape[2:] if channel_first else shape[1:-1]
    if any([size is None for size in sizes]):
        raise ShapeError(
            f"{name}() needs known spatial sizes while tracing, got {shape}. Give tf.function a signature with them."
        )
    return sizes


def same_shape(name: str, **arrays: Any) -> None:
    """Raise unless the arrays have one shape; a size not known while tracing fits any."""
    labels = list(arrays)
    first = tuple(arrays[labels[0]].shape)
    for label in labels[1:]:
        shape = tuple(arrays[label].shape)
        fits = len(shape) == len(first)
        if fits:
            fits = all(
                [a is None or b is None or a == b for a, b in zip(first, shape, strict=True)]
            )
        if not fits:
            raise ShapeError(
                f"{name}() expects {labels[0]} and {label} of one shape, got {first} and {shape}."
            )


def reduced(name: str, xp: Any, losses: Any, reduction: Any, total: Any = None) -> Any:
    """The losses as they are, their sum, or their mean; `total` is what a weighted mean divides by."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return xp.sum(losses)
    if reduction == "mean" and total is None:
        return xp.mean(losses)
    if reduction == "mean":
        # Nothing to average over: zero, with zero gradients.
        is_empty = total == 0
        return xp.where(is_empty, 0.0, xp.sum(losses) / xp.where(is_empty, 1.0, total))
    raise ArgumentError(
        f"{name}() knows the reductions 'mean', 'sum' and 'none', got {reduction!r}."
    )


# Checks of values ------------------------------------------------------------------------------------


def one_of(name: str, what: str, value: Any, known: Sequence[str]) -> str:
    """A word out of a few."""
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(f"{name}() knows {what} {', '.join(map(repr, known))}, got {value!r}.")
    return value


def check_range(name: str, what: str, x: Any, low: float, high: float, instead: str) -> None:
    """Raise if a value is outside low..high. Compiled code has no values to look at: there it passes."""
    xp = xp_of(x)
    if not xp.is_concrete(x) or 0 in tuple(x.shape):
        return
    x = xp.stop_gradient(x)
    as_number = float if xp.dtype_name(x.dtype) in FLOATING else int
    least, most = as_number(xp.min(x)), as_number(xp.max(x))
    if least < low or most > high:
        worst = least if least < low else most
        raise ArgumentError(f"{name}() expects {what} from {low} to {high}, got {worst}. {instead}")


def check_indices(name: str, what: str, indices: Any, count: int, also: int | None = None) -> None:
    """Raise unless `indices` are integers from 0 to count - 1, or `also`; values only where there are any."""
    xp = xp_of_all(indices)
    kind = xp.dtype_name(indices.dtype)
    if not kind.startswith(("int", "uint")):
        raise DtypeError(
            f"{name}() expects integer {what}, got an array of {kind}. Write astype({what}, 'int64')."
        )
    if not xp.is_concrete(indices):
        return
    if also is not None:
        indices = xp.where(indices == also, 0, indices)
    check_range(
        name, what, indices, 0, count - 1, f"There are {count} classes or rows, numbered from 0."
    )
