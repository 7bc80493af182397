"""The calls of dispatch.py and instructions.py: as one writes them in a framework, and with
Trellis."""

from importlib import import_module

import numpy as np

import trellis

ARITY = dict.fromkeys("tanh exp sqrt abs sum mean".split(), 1) | dict.fromkeys(
    "add multiply maximum matmul".split(), 2
)
MODULES = {
    "numpy": ("np", "numpy"),
    "jax": ("jnp", "jax.numpy"),
    "torch": ("torch", "torch"),
    "tensorflow": ("tf", "tensorflow"),
}
IN_TENSORFLOW = {
    "sum": "tf.reduce_sum",
    "mean": "tf.reduce_mean",
    "matmul": "(lambda x, y: tf.tensordot(x, y, 1))",
}
N = 4


def contestants(backend, op):
    """The native call, the hoisted namespace, the public function, on the same arrays, as one
    writes them.

    The look-up in the module belongs to a call: NumPy's and PyTorch's modules define `__getattr__`,
    so that Python finds `np.tanh` some 50 ns later than a name in a plain module.
    """
    short, module = MODULES[backend]
    xp = trellis.namespace(backend)
    x = xp.asarray(np.linspace(0.1, 0.9, N).astype("float32"))
    y = xp.asarray(np.linspace(0.2, 0.8, N).astype("float32"))
    names = {"x": x, "y": y, "xp": xp, "trellis": trellis, short: import_module(module)}
    arguments = ("x", "x, y")[ARITY[op] - 1]
    calls = {"native": native_name(backend, op), "xp": f"xp.{op}", "trellis": f"trellis.{op}"}
    made = {who: eval(f"lambda: {call}({arguments})", names) for who, call in calls.items()}
    np.testing.assert_allclose(
        trellis.to_numpy(made["native"]()), trellis.to_numpy(made["trellis"]()), rtol=1e-6
    )
    return made


def native_name(backend, op):
    """What one writes for an op in the framework itself."""
    if backend == "tensorflow":
        return IN_TENSORFLOW.get(op, f"tf.math.{op}")
    return f"{MODULES[backend][0]}.{op}"


def native_function(backend, op):
    short, module = MODULES[backend]
    return eval(native_name(backend, op), {short: import_module(module)})
