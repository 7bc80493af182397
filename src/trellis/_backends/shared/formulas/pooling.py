"""Maxima over windows, one axis after another."""

from ...array_api import Native
from ..windows import WindowSpec, max_over_windows
from . import xp


def max_pool(x: Native, spec: WindowSpec, *, indices: bool) -> tuple[Native, Native | None]:
    return max_over_windows(xp, x, spec, indices)
