"""The pieces of growth.py as one writes them in torch. Each gives the call and its arrays."""

import torch
from torch.nn import functional as F


def mlp(batch, width, depth):
    torch.manual_seed(0)
    ws = [torch.randn(width, width) / width**0.5 for _ in range(depth)]

    def native(ws, x):
        leaves = [w.detach().requires_grad_() for w in ws]
        for w in leaves:
            x = torch.tanh(torch.matmul(x, w))
        value = torch.mean(x * x)
        return value, torch.autograd.grad(value, leaves)

    return native, (ws, torch.randn(batch, width))


def attention(length):
    torch.manual_seed(0)
    qkv = [torch.randn(2, 4, length, 32) for _ in range(3)]

    def native(qkv):
        leaves = [x.detach().requires_grad_() for x in qkv]
        y = F.scaled_dot_product_attention(*leaves, is_causal=True)
        value = torch.mean(y * y)
        return value, torch.autograd.grad(value, leaves)

    return native, (qkv,)


def adam(leaves):
    torch.manual_seed(0)
    ws, gs = [[torch.randn(32, 32) for _ in range(leaves)] for _ in range(2)]
    state = [[torch.zeros_like(w) for w in ws] for _ in range(2)]

    def native(ws, gs):
        """Out of place, as ours: new weights and a new state."""
        m = torch._foreach_lerp(state[0], gs, 0.1)
        v = torch._foreach_mul(state[1], 0.999)
        torch._foreach_addcmul_(v, gs, gs, 0.001)
        size = torch._foreach_sqrt(torch._foreach_div(v, 1 - 0.999))
        torch._foreach_add_(size, 1e-8)
        return torch._foreach_addcdiv(ws, m, size, -1e-3 / (1 - 0.9)), m, v

    return native, (ws, gs)
