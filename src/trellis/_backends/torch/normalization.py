"""Normalisation by PyTorch's kernels, 3 to 5 times faster than the formulas in steps."""

from typing import Any

import torch
import torch.nn.functional as F

from ._private import count_modes, forward_level, is_transforming
from ._types import Tensor
from .gradients import compiling_inside


def layer_norm(
    x: Tensor, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float
) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, which have those axes."""
    inner = len(axes)
    if axes != tuple(range(x.ndim - inner, x.ndim)):
        order = [i for i in range(x.ndim) if i not in axes] + list(axes)
        y = layer_norm(
            x.permute(order),
            weight,
            bias,
            axes=tuple(range(x.ndim - inner, x.ndim)),
            epsilon=epsilon,
        )
        return y.permute([order.index(i) for i in range(x.ndim)])
    # The kernel computes x * scale - mean * scale, which loses digits where the mean is far from
    # zero: at 1e4 all but three. Any element of a row is near enough to the mean to be subtracted
    # instead.
    first = x.detach()[(..., *[slice(0, 1)] * inner)]
    shape = x.shape[x.ndim - inner :]
    if weight is None and bias is not None:
        # The second derivative of torch's kernel fails with a bias alone.
        return F.layer_norm(x - first, shape, None, None, epsilon) + bias
    return F.layer_norm(x - first, shape, weight, bias, epsilon)


def batch_norm(x: Tensor, weight: Any, bias: Any, /, *, channel: int, epsilon: float) -> Any:
    """Mean 0 and variance 1 for each channel, then times weight plus bias; and the moments."""
    is_compiling = torch.compiler.is_compiling()  # it cannot trace the check of the level
    if compiling_inside or is_transforming() or (not is_compiling and forward_level() >= 0):
        return None  # the kernel writes the moments into arrays, which transforms do not allow
    if x.is_cpu and x.shape[0] == 1:
        # The kernel's derivative takes strides of a batch of one for those of another layout, and
        # is wrong where the gradient comes from a transposed array (docs/ledger.md).
        return None
    x = x if channel == 1 else x.movedim(channel, 1)
    done = None
    if x.is_cpu and not is_compiling and not count_modes():
        done = _normalised(x, weight, bias, epsilon)
        if not bool((done[1] * done[1] <= _NEAR * done[2]).all()):
            done = None
    if done is None:
        # As above: the kernel loses digits where the mean is far from zero.
        first = x.detach()[(slice(0, 1), slice(None), *[slice(0, 1)] * (x.ndim - 2))]
        y, mean, variance = _normalised(x - first, weight, bias, epsilon)
        done = y, mean + first.reshape(-1), variance
    y, mean, variance = done
    y = y if channel == 1 else y.movedim(1, channel)
    if weight is None and bias is not None:
        y = y + bias.reshape([-1 if i == channel else 1 for i in range(y.ndim)])
    return y, mean, variance


# The square of a mean, in units of the variance, at which the kernel loses at most three bits.
_NEAR = 64


def _normalised(x: Tensor, weight: Any, bias: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """By the kernel, with the moments of this batch, as running values with a momentum of 1."""
    mean, variance = x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
    term, is_cudnn = None if weight is None else bias, torch.backends.cudnn.enabled
    y = torch.batch_norm(x, weight, term, mean, variance, True, 1.0, epsilon, is_cudnn)
    return y, mean, variance
