"""Dense layers by PyTorch's own function."""

from typing import Any

import torch
import torch.nn.functional as F

from ._helpers import NO_PRODUCTS
from ._types import Tensor


def linear(x: Tensor, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    dtype = x.dtype
    if dtype in NO_PRODUCTS:
        arrays = [None if a is None else a.to(torch.int64) for a in (x, weight, bias)]
        return F.linear(*arrays).to(dtype)
    return F.linear(x, weight, bias)
