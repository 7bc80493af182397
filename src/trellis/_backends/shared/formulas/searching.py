"""Finding elements."""

from ...._core.errors import ShapeError
from ...._core.guards import unordered
from ...._core.shapes import normal_axis
from ...array_api import Axes, Native
from ..promotion import INEXACT, is_complex, type_name
from . import xp


def argmax(x: Native, /, *, axis: int | None = None, keepdims: bool = False) -> Native:
    if is_complex(xp, x):
        raise unordered("argmax")
    return _first_of(x, True, axis, keepdims)


def argmin(x: Native, /, *, axis: int | None = None, keepdims: bool = False) -> Native:
    if is_complex(xp, x):
        raise unordered("argmin")
    return _first_of(x, False, axis, keepdims)


def _first_of(x: Native, is_largest: bool, axis: int | None, keepdims: bool) -> Native:
    """The first index of the extreme value; of nan, if there is one."""
    shape = (1,) * len(x.shape)
    if axis is None:
        x, place = xp.reshape(x, (-1,)), 0
    else:
        place = normal_axis(axis, len(x.shape))
    size = x.shape[place]
    if size == 0:
        raise ShapeError(
            "argmax() and argmin() of nothing: the array has no element along the axis."
        )
    if type_name(xp, x) == "bool":
        x = xp.astype(x, "uint8")
    best = (
        xp.max(x, axis=place, keepdims=True) if is_largest else xp.min(x, axis=place, keepdims=True)
    )
    is_best = xp.equal(x, best)
    if type_name(xp, x) in INEXACT:
        is_best = xp.logical_or(is_best, xp.isnan(x))
    sizes = tuple([size if i == place else 1 for i in range(len(x.shape))])
    index = xp.reshape(xp.arange(size, device=xp.device(x)), sizes)
    found = xp.min(xp.where(is_best, index, size), axis=place, keepdims=keepdims)
    return xp.reshape(found, shape) if axis is None and keepdims else found


def count_nonzero(x: Native, /, *, axis: Axes = None, keepdims: bool = False) -> Native:
    return xp.sum(xp.astype(xp.not_equal(x, 0), "int32"), axis=axis, keepdims=keepdims)


def topk(x: Native, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Native, Native]:
    """The k largest (or smallest) in order, and their indices; ties by the lower index."""
    axis = normal_axis(axis, len(x.shape))
    order = xp.argsort(x, axis=axis, descending=largest)
    indices = order[(slice(None),) * axis + (slice(0, k), ...)]
    return xp.take_along_axis(x, indices, axis=axis), indices
