"""How does the cost grow with batch, width, depth, sequence length and number of leaves?

Gradients of an MLP and of causal attention, and an Adam update; one size grows at a time. Native
beside it: torch by hand, JAX and TensorFlow compiled by hand (JAX's Adam is optax's), NumPy with
derivatives by hand. The
plots are log-log; the exponent is the slope of the line through the three largest sizes of what
they cost more than the smallest: the constant of a call, which is 0.25 ms in a tf.function and
0.07 ms in ours, would bend the line of the one that has more of it. Slopes of the whole cost stand
in the notes. Ours may not be more than 0.05 above native's: then what we add is a constant, and not
a factor that grows.

    python benchmarks/growth.py [--quick] [backend ...]
"""

import sys
from importlib import import_module
from math import log

from harness import QUICK, Report, Row, duration, one_core

one_core()

import trellis

BACKENDS = ("torch", "jax", "tensorflow", "numpy")
COMPILED = ("jax", "tensorflow")
SIZES = {
    "batch": (4, 32, 256, 1024, 4096),
    "width": (8, 32, 128, 256, 512),
    "depth": (1, 4, 16, 32, 64),
    "length": (8, 32, 128, 256, 512),
    "leaves": (1, 8, 64, 128, 256),
}
FITTED = 3
ALLOWED = 0.05


def exponent(points):
    """The slope of the line of least squares through the logarithms."""
    xs, ys = [[log(point[i]) for point in points] for i in (0, 1)]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum([(x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)])
    return above / sum([(x - mean_x) ** 2 for x in xs])


def grown(points):
    """What each size costs more than the smallest; at least a thousandth of it, so that noise has a
    logarithm too."""
    least = points[0][1]
    return [(size, max(seconds - least, least / 1000)) for size, seconds in points[1:]]


def contestants(backend, what, size):
    """The native call and ours, which give the same."""
    by_hand = import_module(f"native.growth_in_{backend}")
    if what == "leaves":
        native, arrays = by_hand.adam(size)
        ours = adam(backend, *arrays)
    elif what == "length":
        native, arrays = by_hand.attention(size)
        ours = trellis.value_and_grad(attention_loss)
        ours = trellis.compile(ours) if backend in COMPILED else ours
        return native, arrays, ours
    else:
        native, arrays = by_hand.mlp(**{"batch": 16, "width": 64, "depth": 3, what: size})
        ours = trellis.value_and_grad(mlp_loss)
        ours = trellis.compile(ours) if backend in COMPILED else ours
    return native, arrays, ours


def mlp_loss(ws, x):
    for w in ws:
        x = trellis.tanh(trellis.matmul(x, w))
    return trellis.mean(x * x)


def attention_loss(qkv):
    y = trellis.scaled_dot_product_attention(*qkv, is_causal=True)
    return trellis.mean(y * y)


def adam(backend, ws, gs):
    optimizer = trellis.optim.Adam(1e-3)
    update = trellis.compile(optimizer.update) if backend in COMPILED else optimizer.update
    state = optimizer.init(ws)
    return lambda ws, gs: update(ws, gs, state)


def waited(backend, call, arrays):
    """JAX returns before the work is done."""
    if backend != "jax":
        return lambda: call(*arrays)
    import jax

    return lambda: jax.block_until_ready(call(*arrays))


def check(backend, what, native, ours):
    """The value and the first gradient, or the first new weight, are the same."""
    import numpy as np

    a, b = native(), ours()
    first = 1 if what == "leaves" else 2
    for x, y in zip(trellis.tree.leaves(a)[:first], trellis.tree.leaves(b)[:first]):
        x, y = [np.asarray(z.detach() if backend == "torch" else z) for z in (x, y)]
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5, err_msg=f"{backend} {what}")


def main():
    chosen = [name for name in BACKENDS if name in sys.argv[1:]] or BACKENDS
    report = Report("growth", "Growth: cost against batch, width, depth, length, leaves")
    exponents = []
    for backend in chosen:
        for what, sizes in SIZES.items():
            curves, overheads = {"native": [], "trellis": []}, []
            for size in sizes[::2] if QUICK else sizes:
                native, arrays, ours = contestants(backend, what, size)
                native, ours = waited(backend, native, arrays), waited(backend, ours, arrays)
                check(backend, what, native, ours)
                row = report.add(
                    f"{backend} {what} {size}",
                    {"native": native, "trellis": ours},
                    budget=0.8,
                    rounds=9,
                )
                overheads.append(row.seconds["trellis"] - row.seconds["native"])
                for name, seconds in row.seconds.items():
                    curves[name].append((size, seconds))
            whole = {name: exponent(points[-FITTED:]) for name, points in curves.items()}
            found = {name: exponent(grown(points)[-FITTED:]) for name, points in curves.items()}
            fitted = [size for size, _ in curves["native"][-FITTED:]]
            label = f"{backend} {what}, {fitted[0]} to {fitted[-1]}"
            exponents.append(Row(label, found, dict.fromkeys(found, 0.0), ALLOWED, unit="exponent"))
            print(f"{label}: exponent", *[f"{k} {v:.2f}" for k, v in found.items()], flush=True)
            report.notes.append(
                f"{backend} {what} {sizes[0]} to {sizes[-1]}: over native "
                f"{signed(overheads[0])} at first, {signed(overheads[-1])} at the end; slopes of "
                f"the whole cost: native {whole['native']:.2f}, trellis {whole['trellis']:.2f}"
            )
    report.rows += exponents
    others = [name for name in BACKENDS if name not in chosen]
    report.save(keep=(lambda what: what.split()[0] in others) if others else None)


def signed(seconds):
    return f"-{duration(-seconds)}" if seconds < 0 else duration(seconds)


if __name__ == "__main__":
    main()
