"""Does memory stay flat over 10,000 training steps?

A small MLP and a small LSTM with dropout, Adam and new data at every step. What the process holds
(RSS) is sampled 40 times after a garbage collection; flat means that the line through the second
half of the samples rises by less than 64 bytes a step, the size of one small Python object. With
`--long` the same models by hand (native/memory_in_*.py) run in the same loop where frameworks are
known to rise: what rises there too is not ours. Memory does not depend on the time, so two
processes run side by side.

    python benchmarks/memory.py [--quick | --long] [backend ...]
"""

import gc
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from harness import QUICK, Report, Row, one_core

STEPS = 1_000 if QUICK else 10_000
SAMPLES = 40
ALLOWED = 64  # bytes a step
# torch compiles with "aot_eager": its tracing and its guards are what could hold memory, and
# inductor takes a minute for each.
CELLS = [
    ("tensorflow", "mlp", "eager"), ("tensorflow", "lstm", "compiled"),
    ("torch", "mlp", "compiled"), ("torch", "mlp", "eager"), ("numpy", "mlp", "eager"),
    ("jax", "lstm", "compiled"),
]  # fmt: skip
IS_LONG = "--long" in sys.argv
if IS_LONG:
    # JAX op by op takes five minutes.
    CELLS += [("jax", "mlp", "eager"), ("numpy", "lstm", "eager"), ("torch", "lstm", "eager")]
BACKENDS = ("numpy", "torch", "jax", "tensorflow")
BY_HAND = {
    ("tensorflow", "mlp", "eager"), ("tensorflow", "lstm", "compiled"), ("jax", "mlp", "eager"),
}  # fmt: skip


def model_of(name):
    from trellis import nn

    if name == "mlp":
        return nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Tanh(), nn.Linear(16, 4))
    lstm = nn.LSTM(8, 8, return_sequence=False, return_state=False)
    return nn.Sequential(lstm, nn.Dropout(0.1), nn.Linear(8, 4))


def once(who, backend, name, mode):
    """In a process of its own: print the samples, in bytes."""
    one_core()
    import numpy as np
    from working import rss

    if who == "native":
        step = import_module(f"native.memory_in_{backend}").step_of(name, mode)
    else:
        step = our_step(backend, name, mode)
    rng = np.random.default_rng(0)
    shape = (4, 8) if name == "mlp" else (4, 4, 8)
    samples = []
    for i in range(1, STEPS + 1):
        x = rng.standard_normal(shape).astype("float32")
        y = rng.integers(0, 4, 4).astype("int32" if backend == "jax" else "int64")
        value = step(i, x, y)
        if i % (STEPS // SAMPLES) == 0:
            assert float(value) < 100
            gc.collect()
            samples.append((i, rss.held()))
    print(json.dumps(samples))


def our_step(backend, name, mode):
    import trellis
    from trellis import functional as F

    if (backend, mode) == ("torch", "compiled"):
        import torch

        torch.compile = aot_eager(torch.compile)
    trellis.seed(0)
    with trellis.using_backend(backend):
        model, key = model_of(name), trellis.random.key(0)
    optimizer = trellis.optim.Adam(1e-3)

    def update(v, state, key, x, y):
        def loss(v):
            with trellis.random.stream(key):
                return F.cross_entropy(model(x, v=v), y)

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    if mode == "compiled":
        update = trellis.compile(update)
    held = [model.v, optimizer.init(model.v)]

    def step(i, x, y):
        x, y = trellis.to_backend((x, y), backend, copy=True)
        *held[:], value = update(*held, trellis.random.fold_in(key, i), x, y)
        return value

    return step


def aot_eager(original):
    def compile(fn, **options):
        return original(fn, backend="aot_eager", **options)

    return compile


def measured(contestant):
    done = subprocess.run(
        [sys.executable, __file__, "--once", *contestant, *(["--quick"] if QUICK else [])],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def slope(samples):
    """Bytes a step, by least squares."""
    mean_x, mean_y = [sum([s[i] for s in samples]) / len(samples) for i in (0, 1)]
    above = sum([(x - mean_x) * (y - mean_y) for x, y in samples])
    return above / sum([(x - mean_x) ** 2 for x, _ in samples])


def main():
    chosen = [b for b in BACKENDS if b in sys.argv[1:]] or BACKENDS
    cells = [cell for cell in CELLS if cell[0] in chosen]
    report = Report("memory", f"Memory over {STEPS:,} training steps")
    sizes, slopes, native = [], [], {}
    contestants = []
    for cell in cells:
        contestants += [("native", *cell)] if IS_LONG and cell in BY_HAND else []
        contestants.append(("trellis", *cell))
    with ThreadPoolExecutor(2) as pool:
        for (who, *cell), samples in zip(contestants, pool.map(measured, contestants)):
            what, at = f"{cell[0]} {cell[1]}, {cell[2]}", dict(samples)
            what = what if who == "trellis" else f"{what}, by hand"
            held = {f"{n:,} steps": at[n] for n in (STEPS // 10, STEPS // 2, STEPS)}
            rise = slope(samples[len(samples) // 2 :])
            sizes.append(Row(what, held, dict.fromkeys(held, 0.0), unit="B"))
            print(f"{what:<36}", *[f"{k} {v / 1e6:.1f} MB" for k, v in held.items()],
                  f"{rise:.1f} bytes a step", flush=True)  # fmt: skip
            if who == "native":
                native[tuple(cell)] = max(rise, 0.0)
                continue
            by_hand = native.get(tuple(cell))
            rises = {"allowed": float(ALLOWED), "trellis": max(rise, 0.0)}
            rises |= {} if by_hand is None else {"native": by_hand}
            slopes.append(
                Row(f"{what}: a step", rises, dict.fromkeys(rises, 0.0), 1.0, unit="bytes")
            )
    order = {backend: i for i, backend in enumerate(BACKENDS)}
    for rows in (sizes, slopes):
        rows.sort(key=lambda row: order[row.what.split()[0]])
    report.rows = sizes + slopes
    report.notes.append(
        "RSS of the whole process, with the framework. The rise is the slope of the line through "
        "the second half of the samples.",
    )
    others = [b for b in BACKENDS if b not in chosen]
    report.save(keep=(lambda what: what.split()[0] in others) if others else None)


if __name__ == "__main__":
    once(*sys.argv[2:6]) if "--once" in sys.argv else main()
