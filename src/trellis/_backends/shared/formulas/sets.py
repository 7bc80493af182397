"""Distinct elements: parts of the result of `unique_all`; which elements are in another array."""

from typing import Any

from ...._core.membership import is_among
from ...._core.results import UniqueCountsResult, UniqueInverseResult
from ...array_api import Native
from . import xp


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    return is_among(xp, x1, x2, invert)


def unique_counts(x: Native, /) -> UniqueCountsResult[Native]:
    found = xp.unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Native, /) -> UniqueInverseResult[Native]:
    found = xp.unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Native, /) -> Native:
    return xp.unique_all(x).values
