"""Sums whose terms are given by their logarithms."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from .._array import reduction
from .._core.errors import DtypeError
from .._core.explain import explain
from .._core.guards import check_flag
from .._core.typing import A, Array
from ._calling import common_floats
from ._numbers import INF, NAN

# The exponential of more is infinite.
_LARGEST = {"float64": 700.0, "float32": 85.0}


def logsumexp(
    x: A,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    b: Array | float | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> A | tuple[A, A]:
    """log(sum(b * exp(x))), for terms of any size, with weights `b` that may be 0 or below.

    With `return_sign` it is the logarithm of the absolute value, and the sign of the sum; without,
    sums below 0 give nan. The shapes of `x` and `b` are broadcast.

    >>> import numpy as np, trellis
    >>> x, b = np.array([1000.0, 1000.0]), np.array([1.0, -3.0])
    >>> size, sign = trellis.special.logsumexp(x, b=b, return_sign=True)
    >>> size.round(6), sign
    (np.float64(1000.693147), np.float64(-1.0))
    """
    try:
        for flag in (keepdims, return_sign):
            check_flag(flag)
        if b is None and not return_sign:
            return reduction.logsumexp(x, axis=axis, keepdims=keepdims)
        if isinstance(b, (bool, complex)):
            raise DtypeError(f"logsumexp() takes real numbers as weights, got {b!r}.")
        xp, arrays, kind = common_floats("logsumexp", x, 1.0 if b is None else b)
        size, sign = _weighted(xp, arrays[0], arrays[1], axis, keepdims)
        size, sign = [xp.astype(y, kind, copy=False) for y in (size, sign)]
        return (size, sign) if return_sign else xp.where(sign < 0, NAN, size)
    except Exception as error:
        return explain(error, logsumexp)


def _weighted(xp: Any, x: Any, b: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    quiet = np.errstate(all="ignore") if np.ndarray in xp.ARRAY_TYPES else nullcontext()
    with quiet:
        # Terms that do not count may be larger than all that do.
        counted = xp.where(b == 0, -INF, x)
        largest = xp.stop_gradient(xp.max(counted, axis=axis, keepdims=True))
        largest = xp.where(xp.isfinite(largest), largest, 0.0)
        limit = _LARGEST[xp.dtype_name(x.dtype)]
        exponent = xp.where(b == 0, xp.minimum(x - largest, limit), x - largest)
        total = xp.sum(b * xp.exp(exponent), axis=axis, keepdims=True)
        size = xp.log(xp.abs(total)) + largest
        if not keepdims:
            axes = tuple(range(len(x.shape))) if axis is None else axis
            size, total = xp.squeeze(size, axis=axes), xp.squeeze(total, axis=axes)
        return size, xp.sign(xp.stop_gradient(total))
