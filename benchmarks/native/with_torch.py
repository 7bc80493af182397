"""torch.nn and torch.optim with its fused kernel; compiled: one compiled function of the loss and
its gradients."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .formulas import encoders


class LastState(nn.Module):
    """An LSTM that gives its last hidden state. It has two biases for one; the second stays
    zero."""

    def __init__(self, p):
        super().__init__()
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        load(self.lstm, weight_ih_l0=p["w"].T, weight_hh_l0=p["r"].T, bias_ih_l0=p["b"])
        nn.init.zeros_(self.lstm.bias_hh_l0)
        self.lstm.bias_hh_l0.requires_grad_(False)

    def forward(self, x):
        return self.lstm(x)[1][0][0]


class Mean(nn.Module):
    def __init__(self, *axes):
        super().__init__()
        self.axes = axes

    def forward(self, x):
        return x.mean(self.axes)


def load(module, **arrays):
    with torch.no_grad():
        for name, array in arrays.items():
            getattr(module, name).copy_(torch.tensor(np.ascontiguousarray(array)))
    return module


def linear(p):
    return load(nn.Linear(p["w"].shape[1], p["w"].shape[0]), weight=p["w"], bias=p["b"])


def conv(p, stride):
    height, width, fan_in, fan_out = p["w"].shape
    layer = nn.Conv2d(fan_in, fan_out, (height, width), stride)
    return load(layer, weight=p["w"].transpose(3, 2, 0, 1), bias=p["b"])


def encoder(p):
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
    attention = p["attention"]
    load(
        layer.self_attn,
        in_proj_weight=attention["in_proj_weights"],
        in_proj_bias=attention["in_proj_bias"],
    )
    load(
        layer.self_attn.out_proj,
        weight=attention["out_proj_weights"],
        bias=attention["out_proj_bias"],
    )
    for name in ("linear1", "linear2", "norm1", "norm2"):
        load(getattr(layer, name), weight=p[name]["w"], bias=p[name]["b"])
    return layer


def build(name, p):
    if name == "mlp":
        return nn.Sequential(
            linear(p["l0"]), nn.ReLU(), linear(p["l1"]), nn.ReLU(), linear(p["l2"])
        )
    if name == "cnn":
        convs = [
            layer for i in range(3) for layer in (conv(p[f"c{i}"], 1 if i == 0 else 2), nn.ReLU())
        ]
        return nn.Sequential(*convs, Mean(2, 3), linear(p["head"]))
    if name == "lstm":
        return nn.Sequential(LastState(p["lstm"]["layer0"]), linear(p["head"]))
    return nn.Sequential(*[encoder(p[e]) for e in encoders(p)], Mean(1), linear(p["head"]))


def steps(name, weights, x, y):
    x = np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if name == "cnn" else x
    x, y = torch.tensor(x), torch.tensor(y)
    return {
        "eager": stepper(build(name, weights), x, y, False),
        "compiled": stepper(build(name, weights), x, y, True),
        "compiled whole": whole_stepper(build(name, weights), x, y),
    }


def whole_stepper(model, x, y):
    """The optimizer compiled too, as torch's documentation shows it."""
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    evaluate = torch.compile(lambda x, y: F.cross_entropy(model(x), y))
    update = torch.compile(lambda: optimizer.step())

    def step():
        optimizer.zero_grad()
        value = evaluate(x, y)
        value.backward()
        update()
        return value.detach()

    return step


def stepper(model, x, y, is_compiled):
    trained = [p for p in model.parameters() if p.requires_grad]
    # The fastest of its forms on the CPU, eager and beside a compiled model; the default is a loop
    # over leaves.
    optimizer = torch.optim.Adam(trained, lr=1e-3, fused=True)

    def loss(x, y):
        return F.cross_entropy(model(x), y)

    evaluate = torch.compile(loss) if is_compiled else loss

    def step():
        optimizer.zero_grad()
        value = evaluate(x, y)
        value.backward()
        optimizer.step()
        return value.detach()

    return step
