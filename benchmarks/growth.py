"""How does the cost grow with batch, width, depth and number of leaves? Overhead must be a constant
per call.

A gradient step of an MLP on torch, by hand and with Trellis, and an Adam update; one size grows at
a time. The plot is log-log: where our line runs into that of the native code, our overhead is a
constant per call and not a factor.
"""

from harness import QUICK, Report, duration, one_core

one_core()

import torch

import trellis

FULL = {
    "batch": (1, 4, 16, 64, 256, 1024),
    "width": (4, 16, 64, 256, 512),
    "depth": (1, 2, 4, 8, 16, 32),
    "leaves": (1, 4, 16, 64, 256),
}
SIZES = {what: sizes[::2] for what, sizes in FULL.items()} if QUICK else FULL


def mlp(batch, width, depth):
    """Loss and gradients of a tanh network, by hand and by us."""
    torch.manual_seed(0)
    ws = [torch.randn(width, width) / width**0.5 for _ in range(depth)]
    x = torch.randn(batch, width)

    def native():
        leaves = [w.detach().requires_grad_() for w in ws]
        h = x
        for w in leaves:
            h = torch.tanh(torch.matmul(h, w))
        value = torch.mean(h * h)
        return torch.autograd.grad(value, leaves)

    def loss(ws):
        h = x
        for w in ws:
            h = trellis.tanh(trellis.matmul(h, w))
        return trellis.mean(h * h)

    ours = trellis.value_and_grad(loss)
    torch.testing.assert_close(native()[0], ours(ws)[1][0])
    return native, lambda: ours(ws)


def adam(leaves):
    torch.manual_seed(0)
    ws = [torch.randn(32, 32) for _ in range(leaves)]
    gs = [torch.randn(32, 32) for _ in range(leaves)]
    params = [torch.nn.Parameter(w.clone()) for w in ws]
    for p, g in zip(params, gs):
        p.grad = g
    theirs, ours = torch.optim.Adam(params, foreach=True), trellis.optim.Adam(1e-3)
    state = ours.init(ws)
    return theirs.step, lambda: ours.update(ws, gs, state)


def main():
    report = Report("growth", "torch: cost against batch, width, depth and number of leaves")
    for what, sizes in SIZES.items():
        overheads = []
        for size in sizes:
            if what == "leaves":
                native, ours = adam(size)
            else:
                native, ours = mlp(**{"batch": 16, "width": 64, "depth": 3, what: size})
            row = report.add(f"{what} {size}", {"native": native, "trellis": ours}, budget=1.0)
            overheads.append(row.seconds["trellis"] - row.seconds["native"])
        report.notes.append(
            f"{what} {sizes[0]} to {sizes[-1]}: over native {duration(max(overheads[0], 0))} at "
            "first, "
            f"{duration(max(overheads[-1], 0))} at the end"
        )
        print(report.notes[-1])
    report.save()


if __name__ == "__main__":
    main()
