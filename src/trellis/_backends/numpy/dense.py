"""Dense layers on BLAS."""

import sys
from typing import Any

import numpy as np

from ..exports import hand_on
from ..shared.grouped import multiplied_by_groups


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    dtype = x.dtype
    if dtype.kind in "fV" and dtype.itemsize < 4:
        # NumPy sums halves in half precision, and so would the gradients of both.
        y = linear(
            x.astype(np.float32),
            weight.astype(np.float32),
            None if bias is None else bias.astype(np.float32),
        )
        return y.astype(dtype)
    y = x @ weight.T
    return y if bias is None else y + bias


def grouped_matmul(x: Any, weights: Any, group_sizes: Any) -> Any:
    """Each group of rows times its own matrix."""
    return multiplied_by_groups(sys.modules[__package__], x, weights, group_sizes)


hand_on(globals())
