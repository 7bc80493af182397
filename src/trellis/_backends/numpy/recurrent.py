"""The LSTM, one step after another."""

from typing import Any

import numpy as np
from scipy.special import expit

from ..exports import hand_on
from ._tape import differentiable

differentiable(expit, lambda ans, x: lambda g: g * ans * (1 - ans))


def lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in); one product serves the inputs of all steps."""
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    width = recurrent_kernel.shape[0]
    hs = []
    for t in range(x.shape[0]):
        z = inputs[t] + h @ recurrent_kernel
        gates = expit(z)
        c = gates[:, width : 2 * width] * c + gates[:, :width] * np.tanh(
            z[:, 2 * width : 3 * width]
        )
        h = gates[:, 3 * width :] * np.tanh(c)
        hs.append(h)
    return np.stack(hs), (h, c)


hand_on(globals())
