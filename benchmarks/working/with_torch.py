"""torch.nn with F.scaled_dot_product_attention, nn.LSTM and the fused Adam; compiled: the loss as
one function, whose backward is compiled with it, beside the fused Adam.

Channels last was tried for the ResNet (`variant="channels_last"`) and takes part where it is the
faster one: see variants.py.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from . import sizes
from .sizes import DEPTH, HEADS, LENGTH, WIDTH, WORDS


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(self.norm1(x)).split(WIDTH, dim=2)
        q, k, v = [
            part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts
        ]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(DEPTH)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.words(words) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1, self.norm1 = conv(before, after, 3, stride)
        self.conv2, self.norm2 = conv(after, after, 3, 1)
        self.short = None
        if stride != 1 or before != after:
            self.short, self.norm3 = conv(before, after, 1, stride)

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)), inplace=True)))
        return F.relu(y + (x if self.short is None else self.norm3(self.short(x))), inplace=True)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = conv(3, sizes.STAGES[0], 7, 2)
        self.names = [name for name, *_ in sizes.blocks()]
        for name, before, after, stride in sizes.blocks():
            setattr(self, name, Residual(before, after, stride))
        self.head = nn.Linear(sizes.STAGES[-1], sizes.CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x)), inplace=True), 3, 2, 1)
        for name in self.names:
            x = getattr(self, name)(x)
        return self.head(x.mean((2, 3)))


def conv(before, after, size, stride):
    filters = nn.Conv2d(before, after, size, stride, size // 2, bias=False)
    return filters, nn.BatchNorm2d(after)


class Lstm(nn.Module):
    """It has two biases for one; the second stays zero."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(sizes.CHANNELS, sizes.UNITS, num_layers=2, batch_first=True)
        self.head = nn.Linear(sizes.UNITS, sizes.CLASSES)
        for layer in range(2):
            bias = getattr(self.lstm, f"bias_hh_l{layer}")
            nn.init.zeros_(bias)
            bias.requires_grad_(False)

    def forward(self, x):
        return self.head(self.lstm(x)[1][0][-1])


def arranged(name, weights):
    """The weights by torch's names."""
    found = {}
    for key, w in weights.items():
        *path, leaf = key.replace("blocks/v", "blocks/").split("/")
        if name == "lstm" and path[0] == "lstm":
            layer = path[1].removeprefix("layer")
            leaf = {"w": "weight_ih_l", "r": "weight_hh_l", "b": "bias_ih_l"}[leaf] + layer
            path, w = ["lstm"], w.T
        else:
            leaf = {"w": "weight", "b": "bias"}[leaf]
            w = w.transpose(3, 2, 0, 1) if w.ndim == 4 else w
        found[".".join([*path, leaf])] = torch.from_numpy(np.ascontiguousarray(w))
    return found


def step(name, mode, weights, variant):
    model = {"gpt": Gpt, "resnet": ResNet, "lstm": Lstm}[name]()
    missing, unknown = model.load_state_dict(arranged(name, weights), strict=False)
    assert not unknown, unknown
    assert all(
        [key.rsplit(".", 1)[1].startswith(("running", "num_", "bias_hh")) for key in missing]
    )
    x, y = sizes.data(name)
    x = torch.from_numpy(x.transpose(0, 3, 1, 2).copy() if name == "resnet" else x)
    x, y = x.long() if name == "gpt" else x, torch.from_numpy(y).long().flatten()
    if variant == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=sizes.RATE, fused=True)

    def loss(x, y):
        return F.cross_entropy(model(x), y)

    evaluate = torch.compile(loss) if mode == "compiled" else loss

    def one():
        optimizer.zero_grad()
        value = evaluate(x, y)
        value.backward()
        optimizer.step()
        return value.detach()

    return one
