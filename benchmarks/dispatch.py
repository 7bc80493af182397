"""What does a call through Trellis cost over the native call, for small arrays?"""

from statistics import median

from harness import Report, duration, one_core

one_core()

import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import torch

import trellis

N = 4


def contestants(backend, op):
    """The native call, the hoisted namespace, the public function, on the same arrays, as one
    writes them.

    The look-up in the module belongs to a call: NumPy's and PyTorch's modules define `__getattr__`,
    so that Python finds `np.tanh` some 50 ns later than a name in a plain module.
    """
    xp = trellis.namespace(backend)
    x = xp.asarray(np.linspace(0.1, 0.9, N).astype("float32"))
    y = xp.asarray(np.linspace(0.2, 0.8, N).astype("float32"))
    names = {"x": x, "y": y, "xp": xp, "trellis": trellis, **FRAMEWORKS}
    arguments = ("x", "x, y")[ARITY[op] - 1]
    calls = {"native": native_name(backend, op), "xp": f"xp.{op}", "trellis": f"trellis.{op}"}
    made = {who: eval(f"lambda: {call}({arguments})", names) for who, call in calls.items()}
    np.testing.assert_allclose(
        trellis.to_numpy(made["native"]()), trellis.to_numpy(made["trellis"]()), rtol=1e-6
    )
    return made


FRAMEWORKS = {"np": np, "jnp": jnp, "torch": torch, "tf": tf}
PREFIX = {"numpy": "np", "jax": "jnp", "torch": "torch", "tensorflow": "tf.math"}
IN_TENSORFLOW = {
    "sum": "tf.reduce_sum",
    "mean": "tf.reduce_mean",
    "matmul": "(lambda x, y: tf.tensordot(x, y, 1))",
}


def native_name(backend, op):
    """What one writes for an op in the framework itself."""
    renamed = IN_TENSORFLOW if backend == "tensorflow" else {}
    return renamed.get(op, f"{PREFIX[backend]}.{op}")


ARITY = dict.fromkeys("tanh exp sqrt abs sum mean".split(), 1) | dict.fromkeys(
    "add multiply maximum matmul".split(), 2
)


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
    assert trellis.nn  # entering a room makes look-ups in the package fast (trellis/_rooms.py)
    over = {1: {}, 2: {}}
    for backend in ("numpy", "jax", "torch", "tensorflow"):
        for op in ARITY:
            row = report.add(f"{backend} {op}", contestants(backend, op))
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
        "are slower than the operations beneath them, which Trellis calls: hence less than "
        "nothing. All are timed as "
        "one writes them, `np.tanh(x)` against `trellis.tanh(x)`: finding a name in NumPy's, "
        "PyTorch's or TensorFlow's module "
        "costs 50 to 100 ns, since these have a `__getattr__`. So does Trellis until `nn` or "
        "another room is entered."
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
