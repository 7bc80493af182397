"""Dense layers on BLAS."""

from typing import Any

import numpy as np

__all__ = ["linear"]


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
