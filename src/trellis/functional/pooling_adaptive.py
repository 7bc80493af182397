"""Pooling to a given size: the windows follow from it."""

from typing import Any

from .._backends.shared.windows import WindowSpec, larger, positions
from .._core.dispatch import xp_of
from .._core.explain import explain
from .._core.leafwise import call_leafwise
from .._core.typing import A, Array
from ._arguments import check_real, per_axis
from ._layout import checked_planes
from ._precision import precise
from ._windows import Steps


def adaptive_avg_pool(x: A, output_size: Steps, /, *, data_format: str = "channel_last") -> A:
    """Means over windows that divide each of the 1 to 3 spatial axes into `output_size` parts.

    Window i of n elements goes from floor(i * n / out) to ceil((i + 1) * n / out), as in torch.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.adaptive_avg_pool(np.arange(5.0).reshape(1, 5, 1), 2).ravel()
    array([1., 3.])
    """
    try:
        if isinstance(x, dict):
            return call_leafwise(adaptive_avg_pool, (x, output_size), {"data_format": data_format})
        xp = xp_of(x)
        first, sizes, outs = _adaptive("adaptive_avg_pool", x, output_size, data_format)
        y, kind = precise("adaptive_avg_pool", xp, x)
        for i, (size, out) in enumerate(zip(sizes, outs, strict=True)):
            axis = i + (2 if first else 1)
            y = _means(xp, y, axis, _parts(size, out))
        return xp.astype(y, kind, copy=False)
    except Exception as error:
        return explain(error, adaptive_avg_pool)


def _means(xp: Any, x: Any, axis: int, parts: list[tuple[int, int]]) -> Any:
    """Means of parts of an axis: of their own elements alone, since 0 * nan is nan."""
    longest = max([high - low for low, high in parts])
    places = [min(low + k, high - 1) for low, high in parts for k in range(longest)]
    shares = [[1 / (high - low) if k < high - low else 0.0 for k in range(longest)]
              for low, high in parts]  # fmt: skip
    taken = xp.take(x, xp.asarray(places, dtype=xp.int32, device=xp.device(x)), axis=axis)
    shape = tuple(x.shape)
    taken = xp.reshape(taken, (*shape[:axis], len(parts), longest, *shape[axis + 1 :]))
    wide = (len(parts), longest) + (1,) * (len(shape) - axis - 1)
    weights = xp.reshape(xp.asarray(shares, dtype=x.dtype, device=xp.device(x)), wide)
    kept = xp.where(weights > 0, taken, xp.zeros_like(taken))
    return xp.sum(kept * weights, axis=axis + 1)


def adaptive_max_pool(
    x: A,
    output_size: Steps,
    /,
    *,
    data_format: str = "channel_last",
    return_indices: bool = False,
) -> A | tuple[A, A]:
    """Maxima over windows that divide each of the 1 to 3 spatial axes into `output_size` parts.

    The windows are those of `adaptive_avg_pool`, the indices those of `max_pool2d`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> F.adaptive_max_pool(np.arange(5.0).reshape(1, 5, 1), 2).ravel()
    array([2., 4.])
    """
    try:
        if isinstance(x, dict):
            options = {"data_format": data_format, "return_indices": return_indices}
            return call_leafwise(adaptive_max_pool, (x, output_size), options)
        xp = xp_of(x)
        check_real("adaptive_max_pool", xp, x)
        first, sizes, outs = _adaptive("adaptive_max_pool", x, output_size, data_format)
        start = 2 if first else 1
        is_float = xp.isdtype(x.dtype, "real floating")  # integers stay so, and have no kernels
        if is_float and all([size % out == 0 for size, out in zip(sizes, outs, strict=True)]):
            window = tuple([size // out for size, out in zip(sizes, outs, strict=True)])
            none, ones = ((0, 0),) * len(sizes), (1,) * len(sizes)
            spec = WindowSpec(window, window, none, ones, first)
            values, found = xp.max_pool(x, spec, indices=return_indices)
            return (values, found) if return_indices else values
        places: Any = positions(xp, x, sizes, start) if return_indices else None
        y: Any = x
        # The last axis first: then the first of equal rows wins, and within it the first of equal
        # elements.
        for i in reversed(range(len(sizes))):
            parts = _parts(sizes[i], outs[i])
            width = max([high - low for low, high in parts])
            chosen, found = None, None
            for j in range(width):
                picks = xp.asarray(
                    [min(low + j, high - 1) for low, high in parts], device=xp.device(x)
                )
                candidate = xp.take(y, picks, axis=start + i)
                place = None if places is None else xp.take(places, picks, axis=start + i)
                chosen, found = larger(xp, chosen, found, candidate, place)
            y, places = chosen, found
        return (y, places) if return_indices else y
    except Exception as error:
        return explain(error, adaptive_max_pool)


def _adaptive(
    name: str, x: Array, output_size: Steps, data_format: str
) -> tuple[bool, tuple[int, ...], tuple[int, ...]]:
    first, sizes = checked_planes(name, x, data_format)
    return first, sizes, per_axis(name, "output_size", output_size, len(sizes))


def _parts(size: int, out: int) -> list[tuple[int, int]]:
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]
