"""Layer normalisation by its formula."""

from typing import Any

import numpy as np

from ..exports import hand_on
from ._tape import stop


def layer_norm(x: Any, weight: Any, bias: Any, /, *, axes: tuple[int, ...], epsilon: float) -> Any:
    """Mean 0 and variance 1 along `axes`, then times weight plus bias, whose axes are those."""
    # Two passes: what the rounded mean leaves is subtracted again.
    away = x - np.mean(stop(x), axis=axes, keepdims=True)
    away = away - np.mean(away, axis=axes, keepdims=True)
    y = away / np.sqrt(np.mean(away * away, axis=axes, keepdims=True) + epsilon)
    shape = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
    y = y if weight is None else y * np.reshape(weight, shape)
    return y if bias is None else y + np.reshape(bias, shape)


hand_on(globals())
