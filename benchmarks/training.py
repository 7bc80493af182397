"""What does a training step cost, compared with hand-written native code and with Keras 3?

Forward, gradients and Adam, on one core. Every contestant starts from the same weights; the losses
of three steps are compared before anything is timed. On NumPy, torch on one thread stands beside
us.

    python benchmarks/training.py [--quick | --long] [backend ...]
"""

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from harness import QUICK, Report, one_core

one_core()

import numpy as np
from peer_process import HAS_PEERS, Peer, PeerError

import models

LONG = "--long" in sys.argv
LIMITS = {"eager": 1.1, "compiled": 1.1}
BACKENDS = ("numpy", "torch", "jax", "tensorflow")
# Compiling takes most of the time of a short run.
QUICK_CELLS = {("mlp", "eager"), ("mlp", "compiled")}
SLOW_IN_QUICK = {("torch", "mlp", "compiled")}


def waiting(backend, step):
    """JAX returns before the work is done."""
    if backend != "jax":
        return step
    import jax

    return lambda: jax.block_until_ready(step())


def check_no_compilation(backend, step, name):
    """A JAX step that compiles again at each call would be timed as a compiler: no fair
    reference."""
    if backend != "jax":
        return
    import jax

    events = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: events.append(event) if "backend_compile" in event else None
    )
    for _ in range(2):
        jax.block_until_ready(step())
    assert not events, f"{name} compiles {len(events) / 2:g} times a step"


def check(step, ours, name):
    """Three steps, whose losses must be ours."""
    losses = [float(step()) for _ in range(3)]
    np.testing.assert_allclose(losses, ours, rtol=1e-3, err_msg=name)


def natives(backend, name):
    """The references: {column: steps}, the first of them the 1.0."""
    w, (x, y) = models.weights(name), models.data(name)
    if backend != "numpy":
        return {"native": import_module(f"native.with_{backend}").steps(name, w, x, y)}
    beside = {"torch, 1 thread": import_module("native.with_torch").steps(name, w, x, y)}
    if name != "cnn":
        beside["HIPS autograd"] = import_module("native.with_autograd").steps(name, w, x, y)
    return beside


def keras_process(backend):
    if not HAS_PEERS or backend == "numpy":
        return None
    return Peer("keras_training.py", KERAS_BACKEND=backend)


def stored(name, folder):
    """Weights and data in a file that a peer can read."""
    x, y = models.data(name)
    path = Path(folder) / f"{name}.npz"
    np.savez(path, __x__=x, __y__=y, **models.flat(models.weights(name)))
    return str(path)


def cells(backend):
    for name in models.NAMES:
        for mode in ("eager",) if backend == "numpy" else ("eager", "compiled"):
            is_slow = (backend, name) in SLOW_IN_QUICK or (backend, name, mode) in SLOW_IN_QUICK
            if not QUICK or ((name, mode) in QUICK_CELLS and not is_slow):
                yield name, mode


def measure(report, backend, keras, folder):
    for name, mode in cells(backend):
        ours = models.steps(name, backend)[mode]
        losses = [float(ours()) for _ in range(3)]
        contestants = {}
        for column, steps in natives(backend, name).items():
            check(steps[mode], losses, f"{backend} {name} {column}")
            check_no_compilation(backend, steps[mode], f"{backend} {name} {column}")
            contestants[column] = waiting(backend, steps[mode])
        check_no_compilation(backend, ours, f"{backend} {name} trellis")
        contestants["trellis"] = waiting(backend, ours)
        what = f"{backend} {name}, {mode}"
        # torch's compiler takes minutes for Keras' four steps: `--long` has them.
        if keras is not None and (LONG or (backend, mode) != ("torch", "compiled")):
            try:
                answer, contestant = keras.make(f"{name} {mode}", path=stored(name, folder))
                theirs = answer["losses"]
                if answer["compilations"]:
                    report.notes.append(
                        f"{what}: Keras 3 compiles {answer['compilations']:g} times at every step, "
                        "which is what its "
                        "time here shows; this row is left out of the comparison with Keras below."
                    )
                # train_on_batch gives the mean of all losses since the last reset.
                means = np.cumsum(losses) / np.arange(1, 4)
                is_mean = np.allclose(theirs, means, rtol=1e-3)
                np.testing.assert_allclose(theirs, means if is_mean else losses, rtol=1e-3)
                contestants["keras"] = contestant
            except PeerError as error:
                report.notes.append(f"{what}: Keras 3 {error}")
        limit = None if backend == "numpy" else LIMITS[mode]
        report.add(what, contestants, limit=limit, budget=1.5, rounds=9)


def main():
    chosen = [b for b in sys.argv[1:] if b in BACKENDS] or BACKENDS
    report = Report("training", "One training step with Adam, forward to update")
    with tempfile.TemporaryDirectory() as folder:
        for backend in chosen:
            keras = keras_process(backend)
            measure(report, backend, keras, folder)
            if keras is not None:
                keras.close()
    if HAS_PEERS:
        report.notes.append(
            "Keras 3 has no gradients on NumPy: `fit` and `train_on_batch` raise there. Compiled "
            "on torch it takes part with `--long`."
        )
    others = [b for b in BACKENDS if b not in chosen]
    report.save(keep=(lambda what: what.split()[0] in others) if others else None)


if __name__ == "__main__":
    main()
