"""One million float32 uniforms and normals: Trellis on every backend beside `jax.random` and the
native generators.

The reference is `jax.random` under `jax.jit`, whose numbers ours are.
"""

from harness import QUICK, Report, one_core

one_core()

import jax
import numpy as np
import tensorflow as tf
import torch

import trellis

SIZE = 10**6
REFERENCE = "jax.random, jitted"
# What the library promises, as ratios to the reference.
LIMITS = {
    "trellis on jax, jitted": 1.05,
    "trellis on numpy": 2.5,
    "trellis on torch": 3.0,
    "trellis on torch, compiled": 1.5,
    "trellis on tensorflow": 3.0,
    "trellis on tensorflow, compiled": 1.5,
}


def candidates(kind, size):
    draw = getattr(trellis.random, kind)
    keys = {
        name: trellis.random.key(1, backend=name)
        for name in ("numpy", "jax", "torch", "tensorflow")
    }
    theirs = jax.jit(lambda key: getattr(jax.random, kind)(key, (size,)))
    typed = jax.random.key(1)
    on_jax = jax.jit(lambda key: draw(key, (size,)))
    on_torch = torch.compile(lambda key: draw(key, (size,)), fullgraph=True)
    on_tf = tf.function(lambda key: draw(key, (size,)))
    generator = np.random.default_rng(1)
    native = {
        "uniform": (
            lambda: generator.random(size, np.float32),
            lambda: torch.rand(size),
            lambda: tf.random.uniform((size,)),
        ),
        "normal": (
            lambda: generator.standard_normal(size, np.float32),
            lambda: torch.randn(size),
            lambda: tf.random.normal((size,)),
        ),
    }[kind]
    return {
        REFERENCE: lambda: jax.block_until_ready(theirs(typed)),
        "trellis on jax, jitted": lambda: jax.block_until_ready(on_jax(keys["jax"])),
        "trellis on jax": lambda: jax.block_until_ready(draw(keys["jax"], (size,))),
        "trellis on numpy": lambda: draw(keys["numpy"], (size,)),
        "trellis on torch": lambda: draw(keys["torch"], (size,)),
        "trellis on torch, compiled": lambda: on_torch(keys["torch"]),
        "trellis on tensorflow": lambda: draw(keys["tensorflow"], (size,)).numpy(),
        "trellis on tensorflow, compiled": lambda: on_tf(keys["tensorflow"]).numpy(),
        "numpy's own": native[0],
        "torch's own": native[1],
        "tensorflow's own": lambda: native[2]().numpy(),
    }


def main():
    report = Report("random_numbers", f"{SIZE:,} float32 numbers, compared with jitted jax.random")
    for kind in ("uniform", "normal"):
        calls = candidates(kind, SIZE)
        if QUICK:
            del calls["trellis on torch, compiled"]  # the compiler takes longer than all the rest
        expected = np.asarray(getattr(jax.random, kind)(jax.random.key(1), (SIZE,)))
        for name, call in calls.items():
            if name.startswith("trellis"):
                found = np.asarray(call())
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=name)
        limits = {name: limit for name, limit in LIMITS.items() if name in calls}
        report.add(kind, calls, limit=limits, budget=4.0)
    report.save()


if __name__ == "__main__":
    main()
