"""Pooling over all positions: one number for each channel."""

import math

from .._core.dispatch import xp_of
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.guards import check_flag
from .._core.leafwise import call_leafwise
from .._core.typing import A, Array
from ._layout import is_channel_first, spatial_sizes
from ._precision import precise


def global_avg_pool(x: A, /, *, data_format: str = "channel_last", keepdims: bool = False) -> A:
    """The mean over all positions: (batch, ..., channels) -> (batch, channels).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.global_avg_pool(np.arange(4.0).reshape(1, 2, 2, 1))
    array([[1.5]])
    """
    try:
        if keepdims is not False:
            check_flag(keepdims)
        if isinstance(x, dict):
            return call_leafwise(
                global_avg_pool, (x,), {"data_format": data_format, "keepdims": keepdims}
            )
        xp = xp_of(x)
        axes = _spatial_axes("global_avg_pool", x, data_format)
        y, kind = precise("global_avg_pool", xp, x)
        return xp.astype(xp.mean(y, axis=axes, keepdims=keepdims), kind, copy=False)
    except Exception as error:
        return explain(error, global_avg_pool)


def global_max_pool(x: A, /, *, data_format: str = "channel_last", keepdims: bool = False) -> A:
    """The maximum over all positions: (batch, ..., channels) -> (batch, channels).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.global_max_pool(np.arange(4.0).reshape(1, 2, 2, 1))
    array([[3.]])
    """
    try:
        if keepdims is not False:
            check_flag(keepdims)
        if isinstance(x, dict):
            return call_leafwise(
                global_max_pool, (x,), {"data_format": data_format, "keepdims": keepdims}
            )
        xp = xp_of(x)
        axes = _spatial_axes("global_max_pool", x, data_format)
        # Not `max`, whose gradient is divided among equal maxima by some frameworks.
        first, shape = axes[0] == 2, tuple([-1 if size is None else size for size in x.shape])
        count = math.prod(spatial_sizes("global_max_pool", x, first))
        flat = xp.reshape(x, (*shape[:2], count) if first else (shape[0], count, shape[-1]))
        axis = 2 if first else 1
        y = xp.take_along_axis(flat, xp.argmax(flat, axis=axis, keepdims=True), axis=axis)
        if keepdims:
            return xp.reshape(y, tuple([1 if i in axes else size for i, size in enumerate(shape)]))
        return xp.squeeze(y, axis=axis)
    except Exception as error:
        return explain(error, global_max_pool)


def _spatial_axes(name: str, x: Array, data_format: str) -> tuple[int, ...]:
    ndim = len(x.shape)
    if ndim < 3:
        raise ShapeError(
            f"{name}() expects x of at least 3 axes, batch, positions and channels, got "
            f"{tuple(x.shape)}."
        )
    first = is_channel_first(name, data_format, x)
    return tuple(range(2, ndim)) if first else tuple(range(1, ndim - 1))
