"""Pools as torch and ONNX mean them: channels first, padding for each end, sizes rounded up.

`x` is (N, C, *spatial). With `ceil_mode` a last window that begins inside the input or its begin
padding counts, even if it reaches beyond the end.
"""

import math
from collections.abc import Sequence
from typing import Any

from ... import functional as F
from ..._array.casting import astype, dtype
from ..._array.indexing import scatter
from ..._array.manipulation import pad
from ..._core.dispatch import xp_of
from ..._core.typing import Array
from ...functional._precision import precise
from ...functional._windows import windows_on
from ...functional.pooling import averaged
from .convolution import Pairs

_MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def max_pool(
    x: Array,
    /,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of every window; with `return_indices` its place in the input plane too,
    counted in row-major order.

    >>> import numpy as np
    >>> x = np.array([1.0, 3, 2, 5, 4]).reshape(1, 1, 5)
    >>> max_pool(x, window=(2,), strides=(2,), padding=[(0, 0)], ceil_mode=True).ravel()
    array([3., 5., 4.])
    """
    dims, kind = len(window), dtype(x)
    y: Any = _MAX_POOLS[dims](
        x,
        tuple(window),
        tuple(strides),
        tuple(padding),
        data_format=_LAYOUTS[dims],
        dilations=1 if dilations is None else dilations,
        return_indices=return_indices,
        ceil_mode=ceil_mode,
    )
    if return_indices:
        return astype(y[0], kind, copy=False), y[1]
    return astype(y, kind, copy=False)


def avg_pool(
    x: Array,
    /,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    divisor: int | None = None,
) -> Any:
    """The mean of every window over its elements, with `count_include_pad` also over the zeros of
    `padding` (never over what `ceil_mode` adds); or its sum over `divisor`.

    >>> import numpy as np
    >>> x = np.array([1.0, 3, 2, 5, 4]).reshape(1, 1, 5)
    >>> avg_pool(x, window=(2,), strides=(2,), padding=[(0, 0)], ceil_mode=True).ravel()
    array([2. , 3.5, 4. ])
    """
    dims = len(window)
    sizes = tuple(x.shape[2:])
    windows = windows_on(
        "avg_pool", sizes, tuple(window), tuple(strides), tuple(padding),
        (1,) * dims if dilations is None else tuple(dilations), ceil_mode,
    )  # fmt: skip
    xp = xp_of(x)
    y, kind = precise("avg_pool", xp, x)
    y = averaged(xp, y, True, sizes, windows, count_include_pad, divisor)
    return astype(y, kind, copy=False)


def max_pool_with_places(
    x: Array, /, *, column_major: bool = False, dtype: str = "int64", **options: Any
) -> tuple[Any, Any]:
    """The largest elements and their places in the whole array, as ONNX counts them: in row-major
    order, or within each plane in column-major order."""
    xp = xp_of(x)
    y, places = max_pool(x, return_indices=True, **options)
    n, c, *sizes = x.shape
    places = astype(places, dtype, copy=False)
    plane = math.prod(sizes)
    if column_major:
        rest, total, stride = places, None, plane
        for size in reversed(sizes):
            stride = stride // size
            part = (rest % size) * stride
            total = part if total is None else total + part
            rest = rest // size
        places = total
    starts = xp.arange(n * c, dtype=dtype, device=xp.device(x)) * plane
    return y, places + xp.reshape(starts, (n, c) + (1,) * len(sizes))


def max_unpool(
    x: Array,
    places: Array,
    shape: Sequence[int] | None = None,
    /,
    *,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> Any:
    """Zeros but for the elements of `x`, at their places in the array that they were pooled from.

    With a `shape` larger than that array, they keep their places in its corner.
    """
    xp = xp_of(x)
    dims = len(window)
    sizes = [
        (x.shape[i + 2] - 1) * strides[i] + window[i] - pads[i] - pads[i + dims]
        for i in range(dims)
    ]
    whole = (x.shape[0], x.shape[1], *sizes)
    empty = xp.zeros((math.prod(whole),), dtype=x.dtype, device=xp.device(x))
    y = scatter(empty, xp.reshape(places, (-1,)), xp.reshape(x, (-1,)))
    y = xp.reshape(y, whole)
    if shape is None:
        return y
    return pad(y, [(0, want - n) for n, want in zip(whole, shape, strict=True)])
