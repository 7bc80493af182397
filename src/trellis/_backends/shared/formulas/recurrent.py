"""The LSTM, one step after another."""

from ...array_api import Native
from . import xp


def lstm(
    x: Native,
    h: Native,
    c: Native,
    kernel: Native,
    recurrent_kernel: Native,
    bias: Native | None,
) -> tuple[Native, tuple[Native, Native]]:
    # One product for the inputs of all steps.
    inputs = xp.matmul(x, kernel)
    inputs = inputs if bias is None else inputs + bias
    width = recurrent_kernel.shape[0]
    hs = []
    for t in range(x.shape[0]):
        z = inputs[t, ...] + xp.matmul(h, recurrent_kernel)
        i, f, o = [xp.sigmoid(z[:, g * width : (g + 1) * width]) for g in (0, 1, 3)]
        c = f * c + i * xp.tanh(z[:, 2 * width : 3 * width])
        h = o * xp.tanh(c)
        hs.append(h)
    return xp.stack(hs), (h, c)
