"""What does a training step cost on MLX, compared with hand-written MLX?

Forward, gradients and Adam, eager and with mx.compile, on one core. Both start from the same
weights; the losses of three steps are compared before anything is timed. Times are those of the
processor, in interleaved rounds; the medians are compared.

    python packages/mlx/benchmarks/training.py [--rounds N]
"""

import math
import os
import statistics
import sys
import time

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import figures
import mlx.core as mx
import numpy as np

import trellis
from trellis import functional as F
from trellis import nn, optim, tree

CLASSES, HEADS, WIDTH = 10, 4, 64


class Mlp(trellis.Module):
    """784-256-256-10."""

    def __init__(self):
        self._l0, self._l1, self._l2 = nn.Linear(784, 256), nn.Linear(256, 256), nn.Linear(256, 10)
        super().__init__()

    def _forward(self, x):
        return self._l2(F.relu(self._l1(F.relu(self._l0(x)))))


class Cnn(trellis.Module):
    """Three convolutions of 3 x 3, and the mean over the image."""

    def __init__(self):
        self._c0 = nn.Conv2D(3, 16, 3, 1, "VALID")
        self._c1 = nn.Conv2D(16, 32, 3, 2, "VALID")
        self._c2 = nn.Conv2D(32, 64, 3, 2, "VALID")
        self._head = nn.Linear(64, CLASSES)
        super().__init__()

    def _forward(self, x):
        x = F.relu(self._c2(F.relu(self._c1(F.relu(self._c0(x))))))
        return self._head(trellis.mean(x, axis=(1, 2)))


class Gpt(trellis.Module):
    """Two causal blocks of width 64 with 4 heads, over 32 tokens."""

    def __init__(self):
        self._blocks = [Block(), Block()]
        self._head = nn.Linear(WIDTH, CLASSES)
        super().__init__()

    def _forward(self, x):
        for block in self._blocks:
            x = block(x)
        return self._head(trellis.mean(x, axis=1))


class Block(trellis.Module):
    def __init__(self):
        self._n0, self._n1 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self._qkv, self._out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self._up, self._down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        super().__init__()

    def _forward(self, x):
        x = x + self._out(attended(self._qkv(self._n0(x)), trellis.reshape, trellis.permute_dims,
                                   lambda q, k, v: F.scaled_dot_product_attention(
                                       q, k, v, is_causal=True)))  # fmt: skip
        return x + self._down(F.relu(self._up(self._n1(x))))


def attended(qkv, reshape, permute, attention):
    batch, length, _ = qkv.shape
    parts = permute(reshape(qkv, (batch, length, 3, HEADS, WIDTH // HEADS)), (2, 0, 3, 1, 4))
    found = attention(parts[0], parts[1], parts[2])
    return reshape(permute(found, (0, 2, 1, 3)), (batch, length, WIDTH))


MODELS = {"mlp": Mlp, "cnn": Cnn, "gpt": Gpt}
SHAPES = {"mlp": (64, 784), "cnn": (16, 32, 32, 3), "gpt": (16, 32, WIDTH)}

# By hand ------------------------------------------------------------------------------------------


def dense(v, x):
    return mx.addmm(v["b"], x, v["w"].T)


def mlp(v, x):
    x = mx.maximum(dense(v["l0"], x), 0)
    return dense(v["l2"], mx.maximum(dense(v["l1"], x), 0))


def cnn(v, x):
    for name, step in (("c0", 1), ("c1", 2), ("c2", 2)):
        filters = mx.moveaxis(v[name]["w"], -1, 0)  # kept as Trellis keeps them
        x = mx.maximum(mx.conv2d(x, filters, step) + v[name]["b"], 0)
    return dense(v["head"], mx.mean(x, axis=(1, 2)))


def norm(v, x):
    return mx.fast.layer_norm(x, v["w"], v["b"], 1e-5)


def gpt(v, x):
    for name in ("v0", "v1"):
        b = v["blocks"][name]
        x = x + dense(b["out"], attended(dense(b["qkv"], norm(b["n0"], x)), mx.reshape,
                                         mx.transpose, hand_attention))  # fmt: skip
        x = x + dense(b["down"], mx.maximum(dense(b["up"], norm(b["n1"], x)), 0))
    return dense(v["head"], mx.mean(x, axis=1))


def hand_attention(q, k, v):
    scale = 1 / math.sqrt(WIDTH // HEADS)
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask="causal")


def loss_by_hand(forward):
    def loss(v, x, y):
        logits = forward(v, x)
        picked = mx.take_along_axis(logits, y[:, None], axis=-1)[:, 0]
        return mx.mean(mx.logsumexp(logits, axis=-1) - picked)

    return loss


def adam(v, g, state, t):
    """One step over flat lists."""
    new_v, new_m, new_s = [], [], []
    for x, d, m, s in zip(v, g, *state, strict=True):
        m = 0.9 * m + 0.1 * d
        s = 0.999 * s + 0.001 * (d * d)
        new_m.append(m)
        new_s.append(s)
        new_v.append(x - 1e-3 * (m / (1 - 0.9**t)) / (mx.sqrt(s / (1 - 0.999**t)) + 1e-8))
    return new_v, (new_m, new_s)


def step_by_hand(name, weights, x, y, is_compiled):
    leaves, spec = tree.flatten(weights)
    leaves = [mx.array(leaf) for leaf in leaves]
    loss = loss_by_hand({"mlp": mlp, "cnn": cnn, "gpt": gpt}[name])
    zeros = [mx.zeros_like(leaf) for leaf in leaves]
    now = [leaves, (zeros, zeros), mx.array(0.0)]

    def update(v, state, t, x, y):
        t = t + 1
        value, g = mx.value_and_grad(lambda v: loss(tree.unflatten(spec, v), x, y))(v)
        v, state = adam(v, g, state, t)
        return value, v, state, t

    run = mx.compile(update) if is_compiled else update

    def step():
        value, *now[:] = run(*now, x, y)
        mx.eval(value, now)
        return value

    return step


# With Trellis -------------------------------------------------------------------------------------


def step_with_trellis(model, x, y, is_compiled):
    optimizer = optim.Adam(lr=1e-3)
    now = [model.v, optimizer.init(model.v)]

    def update(v, state, x, y):
        value, g = trellis.value_and_grad(lambda v: F.cross_entropy(model(x, v=v), y))(v)
        return (value, *optimizer.update(v, g, state))

    run = trellis.compile(update) if is_compiled else update

    def step():
        value, *now[:] = run(*now, x, y)
        mx.eval(value, tree.leaves(now))
        return value

    return step


def main(rounds):
    measured = {}
    for name in MODELS:
        trellis.seed(0)
        with trellis.using_backend("mlx"):
            model = MODELS[name]()
        numbers = np.random.default_rng(0)
        x = mx.array(numbers.standard_normal(SHAPES[name]).astype("float32"))
        y = mx.array(numbers.integers(0, CLASSES, SHAPES[name][0]).astype("int32"))
        weights = tree.map(np.array, dict(model.v))
        for is_compiled in (False, True):
            ours = step_with_trellis(model, x, y, is_compiled)
            theirs = step_by_hand(name, weights, x, y, is_compiled)
            found = [[float(step()) for _ in range(3)] for step in (theirs, ours)]
            np.testing.assert_allclose(*found, rtol=1e-5)
            times = {"mlx": [], "trellis": []}
            for _ in range(rounds):
                for who, step in (("mlx", theirs), ("trellis", ours)):
                    begin = time.process_time()
                    for _ in range(3):
                        step()
                    times[who].append((time.process_time() - begin) / 3)
            hand, library = [statistics.median(times[who]) for who in ("mlx", "trellis")]
            how = "compiled" if is_compiled else "eager"
            measured[f"{name}, {how}"] = {"by_hand": hand, "trellis": library}
            print(
                f"{name:<4} {how:<8} by hand {hand * 1e3:7.2f} ms, with Trellis "
                f"{library * 1e3:7.2f} ms: {library / hand:.2f} times",
                flush=True,
            )
    figures.store("speed", measured)


if __name__ == "__main__":
    main(int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 20)
