"""Dense layers by PyTorch's own function."""

import sys
from typing import Any

import torch
import torch.nn.functional as F

from ..exports import hand_on
from ..shared.grouped import multiplied_by_groups
from ._helpers import NO_PRODUCTS


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """`x @ weight.T + bias` for a weight of two axes (out, in)."""
    dtype = x.dtype
    if dtype in NO_PRODUCTS:
        arrays = [None if a is None else a.to(torch.int64) for a in (x, weight, bias)]
        return F.linear(*arrays).to(dtype)
    return F.linear(x, weight, bias)


def grouped_matmul(x: Any, weights: Any, group_sizes: Any) -> Any:
    """Each group of rows times its own matrix."""
    return multiplied_by_groups(sys.modules[__package__], x, weights, group_sizes)


hand_on(globals())
