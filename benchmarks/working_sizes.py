"""What does a step cost at working sizes, compared with the best native code we know how to write?

A GPT of 10.9 million parameters (8 texts of 256 tokens), ResNet-18 on 16 images of 64 x 64, an LSTM
of 2 x 512 units over 64 steps; forward, gradients and Adam on two cores. Every contestant has a
process of its own, made fresh for each row; the losses of three steps are compared before anything
is timed, and then the processes take turns. Memory is the most that is held in two steps beyond
what the imports hold; "first call" is the first step, with all that is compiled in it.

Of several native ways the one that was found the best takes part; `--ways` measures all of them
again. `--long` adds rows that take minutes: see LONG_ROWS.

    python benchmarks/working_sizes.py [--quick | --long] [--ways] [backend ...] [model ...]
"""

import os
import statistics
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from harness import QUICK, Report, Row, duration, line

if QUICK:
    os.environ["TRELLIS_BENCH_QUICK"] = "1"
LONG, WAYS = "--long" in sys.argv, "--ways" in sys.argv

import numpy as np
from peer_process import HAS_PEERS, Peer, PeerError
from working import sizes

BACKENDS = ("torch", "jax", "tensorflow", "numpy")
LIMIT, NUMPY_MEMORY = 1.05, 1.5
ROUNDS = 3
# Adam's first steps are as long for a gradient of 1e-9 as for one of 1: rounding decides the sign
# of some, and the losses part in the third digit.
RTOL, ATOL = 1e-2, 5e-3


MODES = [mode for mode in ("eager", "compiled") if mode in sys.argv]


def cells(backends, names):
    for backend in backends:
        for name in names:
            for mode in ("eager",) if backend == "numpy" else ("eager", "compiled"):
                is_left_out = (backend, mode) in LONG_ROWS and not LONG and mode not in MODES
                if is_left_out or (MODES and mode not in MODES):
                    continue
                yield backend, name, mode


def processes(backend, name, mode):
    """{column: (process, variant)}; the native ones first."""
    framework = "torch" if backend == "numpy" else backend
    path = "working/worker.py"
    started = {}
    variants = import_module("working.variants").BEST[framework, name, mode]
    for variant in variants if WAYS else variants[:1]:
        column = "torch" if backend == "numpy" else "native"
        column = column if variant is variants[0] else f"native, {variant}"
        started[column] = Peer(path, "native", framework, mode, is_ours=True), variant
    started["trellis"] = Peer(path, "trellis", backend, mode, is_ours=True), None
    if HAS_PEERS and (backend, mode) in WITH_KERAS:
        started["keras"] = Peer("keras_working.py", KERAS_BACKEND=backend), None
    if HAS_PEERS and (backend, mode) == ("jax", "compiled"):
        started["flax"] = Peer("flax_working.py"), None
    return started


# torch's compiler needs minutes for a GPT.
LONG_ROWS = {("torch", "compiled")}
WITH_KERAS = {("torch", "eager"), ("jax", "compiled"), ("tensorflow", "compiled")}
if LONG:
    WITH_KERAS |= {("torch", "compiled"), ("jax", "eager"), ("tensorflow", "eager")}


def measured(what, backend, name, mode, path, notes):
    """{kind: {column: number}} of a cell, and the spread of its times."""
    started = processes(backend, name, mode)
    answers, contestants = {}, {}
    try:
        for column, (process, variant) in started.items():
            options = {"name": name, "mode": mode, "path": path, "variant": variant}
            try:
                answers[column], contestants[column] = process.make(what, **options)
            except PeerError as error:
                if column == "trellis" or column == next(iter(started)):
                    raise
                notes.append(f"{what}: {column}: {error}")
        ours = answers["trellis"]["losses"]
        for column, answer in answers.items():
            np.testing.assert_allclose(
                answer["losses"], ours, rtol=RTOL, atol=ATOL, err_msg=f"{what}: {column}"
            )
        samples = {column: [] for column in contestants}
        for _ in range(ROUNDS):
            for column, contestant in contestants.items():
                samples[column].append(contestant.sample(1))
    finally:
        for process, _ in started.values():
            process.close()
    found = {
        "": {column: statistics.median(times) for column, times in samples.items()},
        ": memory": {column: answer["memory"] for column, answer in answers.items()},
        ": first call": {column: answer["first"] for column, answer in answers.items()},
    }
    spread = {
        column: (max(times) - min(times)) / found[""][column] for column, times in samples.items()
    }
    return found, spread


def best_first(found, spread):
    """Of several native columns the fastest stays, under the name "native"."""
    times = found[""]
    natives = [column for column in times if column.startswith("native")]
    if len(natives) < 2:
        return None
    best = min(natives, key=times.get)
    for table in (*found.values(), spread):
        value = table[best]
        for column in natives:
            del table[column]
        table |= {"native": value, **{k: table.pop(k) for k in list(table)}}
    return best


def main():
    backends = [b for b in BACKENDS if b in sys.argv[1:]] or BACKENDS
    names = [n for n in sizes.NAMES if n in sys.argv[1:]] or sizes.NAMES
    report = Report("working_sizes", "Working sizes: a step of a GPT, a ResNet-18 and an LSTM")
    tables = {"": [], ": memory": [], ": first call": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # nothing is compiled yet
        paths = {name: stored(name, folder) for name in names}
        for backend, name, mode in cells(backends, names):
            what = f"{backend} {name}, {mode}"
            found, spread = measured(what, backend, name, mode, paths[name], report.notes)
            for native, seconds in found[""].items():
                if native.startswith("native, "):
                    notes = f"{what}: {native[8:]} takes {duration(seconds)}"
                    report.notes.append(f"{notes}, against {duration(found['']['native'])}")
            best_first(found, spread)
            for kind, values in found.items():
                limit = LIMIT if kind != ": first call" else None
                if backend == "numpy":
                    limit = NUMPY_MEMORY if kind == ": memory" else None
                row = Row(
                    what + kind,
                    values,
                    spread if kind == "" else dict.fromkeys(values, 0.0),
                    limit,
                    unit="B" if kind == ": memory" else "s",
                )
                tables[kind].append(row)
                print(line(row), flush=True)
    report.rows = [row for rows in tables.values() for row in rows]
    report.notes += NOTES
    is_partial = len(backends) < len(BACKENDS) or len(names) < len(sizes.NAMES)
    done = {f"{b} {n}" for b in backends for n in names}
    report.save(keep=(lambda what: what.partition(",")[0] not in done) if is_partial else None)


NOTES = [
    "± here is the distance between the fastest and the slowest of 3 rounds.",
    "Native: torch with SDPA, nn.LSTM and the fused Adam, the ResNet channels last when eager; JAX "
    "with optax in one jit with donated weights and state; TensorFlow with fused batch norm and "
    "Adam in one tf.function. jit_compile took more processor time for the GPT and the ResNet when "
    "it was tried on one core (1.1 and 12 times), and was not tried for the LSTM: `--ways` "
    "does all. On NumPy the reference is torch, eager.",
    "torch compiled by inductor takes minutes for a GPT: `--long` has these rows, and Keras 3 "
    "compiled on torch and eager on JAX and TensorFlow.",
]


def stored(name, folder):
    """The first weights in a file that every process reads."""
    from working import with_trellis

    path = Path(folder) / f"{name}.npz"
    np.savez(path, **with_trellis.weights(name))
    return str(path)


if __name__ == "__main__":
    main()
