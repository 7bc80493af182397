"""What is trained: sizes and data. Nothing of a framework, so that peers read it too."""

import os

import numpy as np

NAMES = ("gpt", "resnet", "lstm")
RATE = 1e-3

# A GPT of 10.9 million parameters: 6 layers of width 384 with 6 heads, 8 texts of 256 tokens.
WORDS, WIDTH, HEADS, DEPTH = 256, 384, 6, 6
BATCH, LENGTH = 8, 256

# ResNet-18 on images of 64 x 64: 11.2 million parameters.
CLASSES, SIDE, IMAGES = 10, 64, 16
STAGES = (64, 128, 256, 512)

# An LSTM of 2 layers with 512 units over 64 steps of 256 channels: 3.7 million parameters.
UNITS, CHANNELS, TIME, SEQUENCES = 512, 256, 64, 32

# A short run tries everything at a size that says nothing about speed.
if os.environ.get("TRELLIS_BENCH_QUICK"):
    DEPTH, BATCH, LENGTH, SIDE, IMAGES, TIME, SEQUENCES = 1, 2, 32, 32, 4, 8, 4


def data(name):
    """Inputs and integer targets; images are channel last."""
    rng = np.random.default_rng(0)
    if name == "gpt":
        words = rng.integers(0, WORDS, (BATCH, LENGTH + 1)).astype("int32")
        return words[:, :-1].copy(), words[:, 1:].copy()
    shape = {"resnet": (IMAGES, SIDE, SIDE, 3), "lstm": (SEQUENCES, TIME, CHANNELS)}[name]
    targets = rng.integers(0, CLASSES, shape[0]).astype("int32")
    return rng.standard_normal(shape).astype("float32"), targets


def blocks():
    """Of ResNet-18: (name, channels in, channels out, stride)."""
    before = STAGES[0]
    for i, after in enumerate(STAGES):
        yield f"s{i}a", before, after, 2 if i else 1
        yield f"s{i}b", after, after, 1
        before = after
