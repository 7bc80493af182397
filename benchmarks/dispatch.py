"""What does a call through Trellis cost over the native call, for small arrays?"""

from statistics import median

from harness import Report, duration, one_core

one_core()

import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import torch
from dispatch_calls import ARITY, N, contestants

import trellis

LIMIT = 1.15


def module_calls(backend):
    """A dense layer of 4 by 4: by hand, as a module, and as a pure function of its variables."""
    layer = trellis.nn.Linear(N, N, backend=backend)
    x = trellis.asarray(np.ones((1, N), "float32"), backend=backend)
    w, b, v = layer.v.w, layer.v.b, layer.v
    by_hand = {
        "numpy": lambda: np.matmul(x, w.T) + b,
        "jax": lambda: jnp.matmul(x, w.T) + b,
        "torch": lambda: torch.nn.functional.linear(x, w, b),
        "tensorflow": lambda: tf.matmul(x, w, transpose_b=True) + b,
    }
    made = {"native": by_hand[backend], "module": lambda: layer(x), "v=": lambda: layer(x, v=v)}
    for call in made.values():
        np.testing.assert_allclose(
            trellis.to_numpy(call()), trellis.to_numpy(made["native"]()), rtol=1e-6
        )
    return made


def main():
    report = Report("dispatch", "Cost of a call over the native call, arrays of 4 elements")
    over = {1: {}, 2: {}}
    for backend in ("numpy", "jax", "torch", "tensorflow"):
        for op in ARITY:
            row = report.add(f"{backend} {op}", contestants(backend, op), limit=LIMIT, budget=1.0)
            seconds = row.seconds["trellis"] - row.seconds["native"]
            print(f"{'':<44}  over native: {seconds * 1e9:.0f} ns")
            over[ARITY[op]].setdefault(backend, []).append(seconds)
    for backend in ("numpy", "jax", "torch", "tensorflow"):
        report.add(f"{backend} module call", module_calls(backend))
    # The floor: a Python function that does nothing but call the native one.
    x = np.ones(N, "float32")

    def wrapper(x, /):
        return np.tanh(x)

    floor = report.add(
        "numpy: an empty Python function",
        {"native": lambda: np.tanh(x), "wrapper": lambda: wrapper(x)},
    )
    for arity, what in ((1, "One array"), (2, "Two arrays")):
        medians = [f"{b} {median(v) * 1e9:.0f} ns" for b, v in over[arity].items()]
        report.notes.append(f"{what}, over native, median of the ops: {', '.join(medians)}.")
    report.notes.append(
        f"An empty Python function around np.tanh costs "
        f"{duration(floor.seconds['wrapper'] - floor.seconds['native'])} on this machine. "
        "TensorFlow's own functions "
        "are slower than the operations they wrap, which Trellis calls directly: hence the "
        "negative numbers. All are timed as users write them, `np.tanh(x)` against "
        "`trellis.tanh(x)`: finding a name in NumPy's, PyTorch's, TensorFlow's or Trellis's module "
        "costs 10 to 50 ns more than in others, since these have a `__getattr__`."
    )
    print(*report.notes, sep="\n")
    report.save()


if __name__ == "__main__":
    main()
