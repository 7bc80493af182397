"""Sorting by `argsort`."""

from ...._core.guards import unordered
from ...._core.shapes import normal_axis
from ...array_api import Native
from ..promotion import is_complex
from . import xp


def sort(x: Native, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Native:
    if is_complex(xp, x):
        raise unordered("sort")
    axis = normal_axis(axis, len(x.shape))
    return xp.take_along_axis(x, xp.argsort(x, axis=axis, descending=descending), axis=axis)
