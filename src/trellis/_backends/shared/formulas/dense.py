"""Dense layers by matrix products."""

from ...array_api import Native
from ..grouped import multiplied_by_groups
from ..promotion import type_name
from . import xp


def linear(x: Native, weight: Native, bias: Native | None) -> Native:
    dtype = x.dtype
    if type_name(xp, x) in ("float16", "bfloat16"):
        # Sums in float32, those of the gradients too.
        wide = [a if a is None else xp.astype(a, "float32") for a in (x, weight, bias)]
        return xp.astype(linear(*wide), dtype)
    y = xp.matmul(x, xp.matrix_transpose(weight))
    return y if bias is None else xp.add(y, bias)


def grouped_matmul(x: Native, weights: Native, group_sizes: Native) -> Native:
    return multiplied_by_groups(xp, x, weights, group_sizes)
