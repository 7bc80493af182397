"""The LSTM by PyTorch's fused kernel, or by its formula where more derivatives are asked for."""

from collections.abc import Callable
from typing import Any

import torch

from ._fused import Fused, differentiated, fastest
from ._private import lstm_layer
from ._types import Tensor
from .gradients import compiling_inside

# `scan` over one step serves here.
RECURRENCES: dict[str, Callable[..., Any]] = {}


def lstm(
    x: Tensor, h: Tensor, c: Tensor, kernel: Tensor, recurrent_kernel: Tensor, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in)."""
    xs = (x, h, c, kernel, recurrent_kernel, bias)
    # The derivative of torch.lstm cannot be traced inside torch.func.vjp: its gradients come with
    # an axis more.
    is_formula = torch.compiler.is_compiling() and len(compiling_inside) > 0
    hs, h_last, c_last = (
        # In the order of the kernel, in which the layer keeps them, the compiled formula would hold
        # a copy of their gradient for each step.
        _lstm_formula(x, h, c, kernel.contiguous(), recurrent_kernel.contiguous(), bias)
        if is_formula
        else fastest(_fused_lstm, _lstm_formula, *xs, recorded=_recorded_lstm)
    )
    return hs, (h_last, c_last)


def _fused_lstm(
    x: Tensor, h: Tensor, c: Tensor, kernel: Tensor, recurrent_kernel: Tensor, bias: Any
) -> tuple[Any, Any, Any]:
    weights = [kernel.mT.contiguous(), recurrent_kernel.mT.contiguous()]
    if bias is not None:
        weights += [bias, torch.zeros_like(bias)]
    state = (h.unsqueeze(0), c.unsqueeze(0))
    hs, h_last, c_last = torch.lstm(
        x, state, weights, bias is not None, 1, 0.0, False, False, False
    )
    return hs, h_last[0], c_last[0]


# oneDNN's LSTM and its backward pass, which `torch.lstm` calls on the CPU.
_forward, _backward, _is_enabled = lstm_layer
_LSTM = 2  # among the kinds of layers


def _recorded_lstm(*xs: Any) -> Any:
    x = xs[0]
    is_served = x.is_cpu and x.dtype is torch.float32 and x.numel() > 0 and xs[1].numel() > 0
    if is_served and _is_enabled():
        return _Layer.apply(*xs)
    return Fused.apply(_fused_lstm, _lstm_formula, *xs)


class _Layer(torch.autograd.Function):
    """The kernel without the graph that `Fused` makes of it and walks in a pass of its own."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        h: Tensor,
        c: Tensor,
        kernel: Tensor,
        recurrent_kernel: Tensor,
        bias: Any,
    ) -> Any:
        # The kernel reads memory as it lies.
        w, r = kernel.mT.contiguous(), recurrent_kernel.mT.contiguous()
        zeros = w.new_zeros(w.shape[0])
        inner = [x.contiguous(), w, r, zeros if bias is None else bias.contiguous(), zeros]
        inner += [h.contiguous(), c.contiguous()]
        with torch.enable_grad():  # for the kernel: it leaves what its backward pass needs
            done = _forward(*inner, False, [], _LSTM, r.shape[1], 1, True, False, False, True)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, h, c, kernel, recurrent_kernel, bias, *inner, *done)
        return done[:3]

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        saved = ctx.saved_tensors
        xs, inner, (hs, h, c, workspace) = saved[:6], saved[6:13], saved[13:]
        if torch.is_grad_enabled():
            ys = _lstm_formula(*xs)
            full = [torch.zeros_like(y) if g is None else g for g, y in zip(gs, ys, strict=True)]
            return tuple(differentiated(xs, ys, full, ctx.needs_input_grad))
        flat = [None if g is None else g.contiguous() for g in gs]
        x, w, r, b, _, h, c = _backward(
            *inner, hs, h, c, *flat,
            False, _LSTM, inner[2].shape[1], 1, True, True, False, [], False, workspace,
        )  # fmt: skip
        return x, h, c, w.mT, r.mT, None if xs[5] is None else b


def _lstm_formula(
    x: Tensor, h: Tensor, c: Tensor, kernel: Tensor, recurrent_kernel: Tensor, bias: Any
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
