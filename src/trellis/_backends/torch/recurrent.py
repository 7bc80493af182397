"""The LSTM by PyTorch's fused kernel, or by its formula where more derivatives are asked for."""

from typing import Any

import torch

from ..exports import hand_on
from ._fused import fastest
from .gradients import compiling_inside


def lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in)."""
    xs = (x, h, c, kernel, recurrent_kernel, bias)
    # The derivative of torch.lstm cannot be traced inside torch.func.vjp: its gradients come with
    # an axis more.
    is_formula = torch.compiler.is_compiling() and len(compiling_inside) > 0
    hs, h_last, c_last = (
        _lstm_formula(*xs) if is_formula else fastest(_fused_lstm, _lstm_formula, *xs)
    )
    return hs, (h_last, c_last)


def _fused_lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, Any, Any]:
    weights = [kernel.mT.contiguous(), recurrent_kernel.mT.contiguous()]
    if bias is not None:
        weights += [bias, torch.zeros_like(bias)]
    state = (h.unsqueeze(0), c.unsqueeze(0))
    hs, h_last, c_last = torch.lstm(
        x, state, weights, bias is not None, 1, 0.0, False, False, False
    )
    return hs, h_last[0], c_last[0]


def _lstm_formula(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, Any, Any]:
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    hs = []
    for at in inputs.unbind(0):
        i, f, g, o = (at + h @ recurrent_kernel).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        hs.append(h)
    return torch.stack(hs), h, c


hand_on(globals())
