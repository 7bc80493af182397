"""Reductions over slices that share an id, written over `segment_sum` and `at`.

Slices whose id is none of 0 ... num_segments - 1 are left out. A segment without slices gets the
neutral element: 0 for means, 1 for products, the smallest number for the largest one.
"""

from typing import Any

from .._core.dispatch import xp_of_pair
from .._core.dtypes import COMPLEX, FLOATING, default_dtype
from .._core.errors import DtypeError
from .._core.explain import explain
from .._core.guards import check_segments, check_within, real_floats
from .._core.leafwise import call_leafwise, has_nest
from .._core.typing import A, Backend
from .indexing import At


def segment_max(x: A, segment_ids: A, /, *, num_segments: int) -> A:
    """The largest of those slices along axis 0 that share an id; where there are none, -inf or the
    smallest integer.

    >>> import numpy as np, trellis
    >>> trellis.segment_max(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), num_segments=2)
    array([2., 4.])
    """
    try:
        if has_nest(x, segment_ids):
            return call_leafwise(segment_max, (x, segment_ids), {"num_segments": num_segments})
        return _gathered("segment_max", "max", x, segment_ids, num_segments)
    except Exception as error:
        return explain(error, segment_max)


def segment_min(x: A, segment_ids: A, /, *, num_segments: int) -> A:
    """The smallest of those slices along axis 0 that share an id; where there are none, inf or the
    largest integer.

    >>> import numpy as np, trellis
    >>> trellis.segment_min(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), num_segments=2)
    array([1., 4.])
    """
    try:
        if has_nest(x, segment_ids):
            return call_leafwise(segment_min, (x, segment_ids), {"num_segments": num_segments})
        return _gathered("segment_min", "min", x, segment_ids, num_segments)
    except Exception as error:
        return explain(error, segment_min)


def segment_prod(x: A, segment_ids: A, /, *, num_segments: int) -> A:
    """The product of those slices along axis 0 that share an id; 1 where there are none.

    >>> import numpy as np, trellis
    >>> trellis.segment_prod(np.array([3.0, 2.0, 4.0]), np.array([0, 0, 2]), num_segments=3)
    array([6., 1., 4.])
    """
    try:
        if has_nest(x, segment_ids):
            return call_leafwise(segment_prod, (x, segment_ids), {"num_segments": num_segments})
        return _gathered("segment_prod", "multiply", x, segment_ids, num_segments)
    except Exception as error:
        return explain(error, segment_prod)


def segment_mean(x: A, segment_ids: A, /, *, num_segments: int) -> A:
    """The mean of those slices along axis 0 that share an id; 0 where there are none.

    >>> import numpy as np, trellis
    >>> trellis.segment_mean(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 2]), num_segments=3)
    array([1.5, 0. , 4. ])
    """
    try:
        if has_nest(x, segment_ids):
            return call_leafwise(segment_mean, (x, segment_ids), {"num_segments": num_segments})
        check_within(num_segments)
        xp = xp_of_pair(x, segment_ids)
        check_segments("segment_mean", xp, x, segment_ids)
        kind = xp.dtype_name(x.dtype)
        is_inexact = kind in FLOATING or kind in COMPLEX
        values = x if is_inexact else xp.astype(x, str(default_dtype()))
        total = xp.segment_sum(values, segment_ids, num_segments=num_segments)
        ones = xp.ones_like(segment_ids, dtype=total.dtype)
        counts = xp.segment_sum(ones, segment_ids, num_segments=num_segments)
        counts = xp.where(counts == 0, xp.ones_like(counts), counts)
        return total / xp.reshape(counts, (-1,) + (1,) * (len(x.shape) - 1))
    except Exception as error:
        return explain(error, segment_mean)


def segment_softmax(x: A, segment_ids: A, /, *, num_segments: int) -> A:
    """The softmax over those slices along axis 0 that share an id, in the shape of `x`: attention
    over the neighbours of a node. Slices that belong to no segment are 0.

    >>> import numpy as np, trellis
    >>> trellis.segment_softmax(np.array([0.0, 0.0, 4.0]), np.array([0, 0, 1]), num_segments=2)
    array([0.5, 0.5, 1. ])
    """
    try:
        if has_nest(x, segment_ids):
            return call_leafwise(segment_softmax, (x, segment_ids), {"num_segments": num_segments})
        check_within(num_segments)
        xp = xp_of_pair(x, segment_ids)
        check_segments("segment_softmax", xp, x, segment_ids)
        kind = xp.dtype_name(x.dtype)
        values = real_floats(xp, "segment_softmax", x)
        if kind in ("bfloat16", "float16"):  # rounded once, at the end
            wide = segment_softmax(xp.astype(x, "float32"), segment_ids, num_segments=num_segments)
            return xp.astype(wide, kind)
        known = xp.stop_gradient(values)
        most = _gathered("segment_softmax", "max", known, segment_ids, num_segments)
        most = xp.where(xp.isfinite(most), most, xp.zeros_like(most))
        is_in, place = _places(xp, segment_ids, num_segments)
        is_in = xp.reshape(is_in, (-1,) + (1,) * (len(x.shape) - 1))
        if num_segments == 0:
            return xp.zeros_like(values)
        shifted = xp.where(is_in, values - xp.take(most, place, axis=0), xp.zeros_like(values))
        powers = xp.where(is_in, xp.exp(shifted), xp.zeros_like(values))
        totals = xp.segment_sum(powers, segment_ids, num_segments=num_segments)
        total = xp.where(is_in, xp.take(totals, place, axis=0), xp.ones_like(values))
        return powers / total
    except Exception as error:
        return explain(error, segment_softmax)


def _places(xp: Backend, segment_ids: Any, num_segments: int) -> tuple[Any, Any]:
    """Which slices are in a segment, and the segment of each, 0 for the others."""
    is_in = xp.logical_and(segment_ids >= 0, segment_ids < num_segments)
    return is_in, xp.where(is_in, segment_ids, xp.zeros_like(segment_ids))


def _gathered(name: str, method: str, x: Any, segment_ids: Any, num_segments: int) -> Any:
    check_within(num_segments)
    xp = xp_of_pair(x, segment_ids)
    check_segments(name, xp, x, segment_ids)
    kind = xp.dtype_name(x.dtype)
    if kind in COMPLEX and method != "multiply":
        raise DtypeError(f"{name}() expects real numbers, got an array of {kind}.")
    neutral: Any = 1
    if method != "multiply":
        sign = -1 if method == "max" else 1
        limits = None if kind in FLOATING else xp.iinfo(x.dtype)
        neutral = sign * xp.inf if limits is None else (limits.min if sign < 0 else limits.max)
    # The last one takes what belongs to no segment.
    shape = (num_segments + 1, *tuple(x.shape)[1:])
    start = xp.full(shape, neutral, dtype=x.dtype, device=xp.device(x))
    is_in, place = _places(xp, segment_ids, num_segments)
    place = xp.where(is_in, place, xp.zeros_like(place) + num_segments)
    return getattr(At(start, (place, ...)), method)(x)[:num_segments, ...]
