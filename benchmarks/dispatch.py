"""What does a call through Trellis cost over the native call, for small arrays?"""

from statistics import median

from harness import Report, duration, one_core

one_core()

import numpy as np

import trellis

N = 4


def contestants(backend, op):
    """The native call, the hoisted namespace, the public function, on the same arrays."""
    xp = trellis.namespace(backend)
    x = xp.asarray(np.linspace(0.1, 0.9, N).astype("float32"))
    y = xp.asarray(np.linspace(0.2, 0.8, N).astype("float32"))
    native, name, args = NATIVE[backend][op], op, (x, y)[: ARITY[op]]
    hoisted, public = getattr(xp, name), getattr(trellis, name)
    np.testing.assert_allclose(
        trellis.to_numpy(native(*args)), trellis.to_numpy(public(*args)), rtol=1e-6
    )
    if len(args) == 1:
        return {"native": lambda: native(x), "xp": lambda: hoisted(x), "trellis": lambda: public(x)}
    return {
        "native": lambda: native(x, y),
        "xp": lambda: hoisted(x, y),
        "trellis": lambda: public(x, y),
    }


def natives():
    import jax.numpy as jnp
    import tensorflow as tf
    import torch

    names = "tanh exp sqrt abs sum mean add multiply maximum matmul".split()
    table = {
        "numpy": {n: getattr(np, n) for n in names},
        "jax": {n: getattr(jnp, n) for n in names},
        "torch": {n: getattr(torch, n) for n in names},
        "tensorflow": {n: getattr(tf.math, n, None) for n in names},
    }
    table["tensorflow"].update(
        sum=tf.reduce_sum, mean=tf.reduce_mean, matmul=lambda x, y: tf.tensordot(x, y, 1)
    )
    return table


ARITY = dict.fromkeys("tanh exp sqrt abs sum mean".split(), 1) | dict.fromkeys(
    "add multiply maximum matmul".split(), 2
)
NATIVE = natives()


def main():
    report = Report("dispatch", "Cost of a call over the native call, arrays of 4 elements")
    over = {1: {}, 2: {}}
    for backend in ("numpy", "jax", "torch", "tensorflow"):
        for op in ARITY:
            row = report.add(f"{backend} {op}", contestants(backend, op))
            seconds = row.seconds["trellis"] - row.seconds["native"]
            print(f"{'':<44}  over native: {seconds * 1e9:.0f} ns")
            over[ARITY[op]].setdefault(backend, []).append(seconds)
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
        f"{duration(floor.seconds['wrapper'] - floor.seconds['native'])} on this machine. TensorFlow's own functions "
        "are slower than the operations beneath them, which Trellis calls: hence less than nothing."
    )
    print(*report.notes, sep="\n")
    c = trellis.Container(a=x, b={"c": x})
    report.add(
        "numpy tanh of a nest of 2 leaves",
        {
            "native": lambda: {"a": np.tanh(x), "b": {"c": np.tanh(x)}},
            "trellis": lambda: trellis.tanh(c),
        },
    )
    report.save()


if __name__ == "__main__":
    main()
