"""Which elements are in another array, written over a backend's own functions."""

from typing import Any

from .arrays import NUMBERS
from .dtypes import COMPLEX


def is_among(xp: Any, x1: Any, x2: Any, invert: bool) -> Any:
    """Whether each element of `x1` is one of `x2`; with `invert` whether it is none of them."""
    dtype = xp.result_type(x1, x2)
    device = xp.device(x2 if isinstance(x1, NUMBERS) else x1)
    if xp.dtype_name(dtype) == "bool":
        dtype = xp.uint8
    values, others = [
        xp.asarray(x, dtype=dtype, device=device)
        if isinstance(x, NUMBERS)
        else xp.astype(x, dtype, copy=False)
        for x in (x1, x2)
    ]
    others = xp.reshape(others, (-1,))
    if others.shape[0] == 0:
        found = xp.zeros_like(values, dtype=xp.bool)
    elif xp.dtype_name(dtype) in COMPLEX:  # these have no order
        found = xp.any(values[..., None] == others, axis=-1)
    else:
        others = xp.sort(others)
        # The last one twice: that is where searchsorted points for all that is larger.
        nearest = xp.concat([others, others[-1:]])
        place = xp.reshape(xp.searchsorted(others, values), (-1,))
        nearest = xp.reshape(xp.take(nearest, place, axis=0), tuple(values.shape))
        found = nearest == values
    return xp.logical_not(found) if invert else found
