"""What does data-parallel training cost on two processes, compared with the framework's own?

An MLP (784-512-512-10, SGD, 256 examples in all), each process on one core: torch's
DistributedDataParallel, a JAX program over both processes (jax.jit over shardings),
MultiWorkerMirroredStrategy, and for NumPy derivatives by hand with MPI. Both contestants run in the
same two processes and take turns. Bytes are counted, not timed: one all-reduce of the gradients and
the loss, and nothing else.

    python benchmarks/distributed.py [--quick] [backend ...]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import QUICK, Report, Row, duration

LIMIT = 1.1
BACKENDS = ("numpy", "torch", "jax", "tensorflow")
PROGRAM = Path(__file__).with_name("distributed_rank.py")


def measured(backend):
    """What two ranks have measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.json"
        rounds = 7 if QUICK else 25
        command = [sys.executable, "-m", "trellis.cli", "run", "-n", "2"]
        if backend == "tensorflow":  # its strategy needs TF_CONFIG, and both use its server
            command.append("--expose")
        command.append(str(PROGRAM))
        subprocess.run([*command, backend, str(path), str(rounds)], check=True)
        return json.loads(path.read_text())


def main():
    backends = [name for name in sys.argv[1:] if name in BACKENDS] or BACKENDS
    report = Report(
        "distributed", "A data-parallel step of two processes, compared with native code"
    )
    for backend in backends:
        found = measured(backend)
        seconds, spread = found["seconds"], found["spread"]
        two = {"native": seconds["native 2"], "trellis": seconds["trellis 2"]}
        spreads = {"native": spread["native 2"], "trellis": spread["trellis 2"]}
        report.rows.append(Row(f"{backend}, 2 processes", two, spreads, {"trellis": LIMIT}))
        # The time of 2 processes as a part of that of 1: what the engine costs, whatever a step
        # costs by itself.
        parts = {name: seconds[f"{name} 2"] / seconds[f"{name} 1"] for name in two}
        overhead = parts["trellis"] / parts["native"]
        note = (
            f"{backend}: 2 processes take {parts['trellis']:.2f} of the time of 1 "
            f"({duration(seconds['trellis 1'])}) on Trellis, {parts['native']:.2f} natively "
            f"({duration(seconds['native 1'])}): {overhead:.2f} times the native one "
            f"(limit {LIMIT}). A step moves {found['bytes']} bytes per rank in "
            f"{found['calls']} all-reduce; the gradients are {found['gradients']} bytes, the loss "
            f"{found['bytes'] - found['gradients']}."
        )
        report.notes.append(note)
        print(report.rows[-1], note, sep="\n", flush=True)
    report.save(keep=lambda what: what.partition(",")[0] not in backends)


if __name__ == "__main__":
    main()
