"""One million float32 uniforms and normals: Trellis on every backend beside `jax.random` and the native generators.

    python benchmarks/random_numbers.py [--size 1000000] [--rounds 31]

Every candidate runs once per round, one after the other, so that whatever else the machine does hits all of
them alike; the ratios are between medians. The reference is `jax.random` under `jax.jit`.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import numpy as np
import tensorflow as tf
import torch

import trellis

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
        REFERENCE: lambda: theirs(typed).block_until_ready(),
        "trellis on jax, jitted": lambda: on_jax(keys["jax"]).block_until_ready(),
        "trellis on jax": lambda: draw(keys["jax"], (size,)).block_until_ready(),
        "trellis on numpy": lambda: draw(keys["numpy"], (size,)),
        "trellis on torch": lambda: draw(keys["torch"], (size,)),
        "trellis on torch, compiled": lambda: on_torch(keys["torch"]),
        "trellis on tensorflow": lambda: draw(keys["tensorflow"], (size,)).numpy(),
        "trellis on tensorflow, compiled": lambda: on_tf(keys["tensorflow"]).numpy(),
        "numpy's own": native[0],
        "torch's own": native[1],
        "tensorflow's own": lambda: native[2]().numpy(),
    }


def measure(functions, rounds):
    times = {name: [] for name in functions}
    for function in functions.values():
        for _ in range(3):
            function()
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    for kind in ("uniform", "normal"):
        medians = measure(candidates(kind, options.size), options.rounds)
        print(f"{kind}, {options.size} float32")
        for name, seconds in medians.items():
            ratio = seconds / medians[REFERENCE]
            limit = LIMITS.get(name)
            verdict = (
                "" if limit is None else f"  at most {limit}: {'yes' if ratio <= limit else 'NO'}"
            )
            print(f"  {name:34} {seconds * 1e3:8.2f} ms  {ratio:6.2f}{verdict}")


if __name__ == "__main__":
    main()
