"""All benchmarks, one after another, each in a process of its own; then docs/benchmarks.md.

python benchmarks/run.py [--quick] [name ...]
"""

import os
import queue
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".venv-peers"
PINS = HERE.parent / "requirements" / "pins.txt"
# In the order of the report.
NAMES = (
    "imports",
    "dispatch",
    "array_ops",
    "gradients",
    "nests",
    "training",
    "working_sizes",
    "compile_time",
    "convert",
    "optimizers",
    "layers",
    "random_numbers",
    "solvers",
    "sampling",
    "growth",
    "memory",
    "loss_curves",
    "interchange",
    "checkpoints",
    "data",
    "distributed",
    "board_ingest",
    "board_overhead",
    "board_large",
)
# These work on one core each and count processor time (or none), so that two run side by side,
# the longest first. `dispatch`, which looks at nanoseconds, has the machine to itself.
ON_ONE_CORE = (
    "training",
    "array_ops",
    "board_overhead",
    "growth",
    "loss_curves",
    "layers",
    "convert",
    "nests",
    "optimizers",
    "gradients",
    "random_numbers",
    "solvers",
    "sampling",
    "interchange",
)
# A short run has fewer rows and rounds, and leaves these out.
LONG = (
    "loss_curves",
    "compile_time",
    "distributed",
    "working_sizes",
    "memory",
    "growth",
    "sampling",
)
QUICK_LIMIT = 175


def install_peers():
    """An environment for the peers, with the same versions of the frameworks as ours; made once."""
    if (PEERS / ".done").exists():
        return
    print("installing peers into", PEERS.name, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    pip = [
        str(PEERS / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(PINS),
    ]
    frameworks = ["torch==2.13.0", "jax", "jaxlib", "tensorflow-cpu", "numpy"]
    subprocess.run([*pip, *frameworks, "keras==3.15.1", "array-api-compat==1.16.0"], check=True)
    # Ivy is not maintained any more: where it does not install, its columns say so.
    subprocess.run([*pip, "ivy==1.0.0.5", "flax"], check=False)
    (PEERS / ".done").touch()


def run(name, environment, options, timeout):
    """Run one; what went wrong, as a list."""
    print(f"\n== {name}", flush=True)
    start = time.monotonic()
    command = [sys.executable, str(HERE / f"{name}.py"), *options]
    try:
        code = subprocess.run(
            command, env=environment, timeout=max(10.0, timeout) if timeout else None
        ).returncode
    except subprocess.TimeoutExpired:
        code = "the time is up"
    print(f"   {time.monotonic() - start:.0f} s", flush=True)
    return [f"{name}: {code}"] if code != 0 else []


def run_side_by_side(names, environment, cores):
    """Run each on one of the cores; its tables are shown when it is done."""
    free = queue.SimpleQueue()
    for core in cores:
        free.put(core)

    def run_on_a_core(name):
        core, start = free.get(), time.monotonic()
        done = subprocess.run(
            [sys.executable, str(HERE / f"{name}.py")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        free.put(core)
        print(f"\n== {name}\n{done.stdout}   {time.monotonic() - start:.0f} s", flush=True)
        return [f"{name}: {done.returncode}"] if done.returncode else []

    with ThreadPoolExecutor(2) as pool:
        return [line for lines in pool.map(run_on_a_core, names) for line in lines]


def main():
    is_quick = "--quick" in sys.argv
    named = [name for name in NAMES if name in sys.argv[1:]]
    chosen = named or [name for name in NAMES if not (is_quick and name in LONG)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            map(str, (HERE, HERE.parent / "src", HERE.parent / "packages" / "board" / "src"))
        ),
    }
    if not is_quick:
        install_peers()
    failed, began = [], time.monotonic()
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    paired = [n for n in ON_ONE_CORE if n in chosen] if len(cores) > 1 and not is_quick else []
    for name in chosen:
        if name in paired:
            continue
        left = QUICK_LIMIT - (time.monotonic() - began)
        if is_quick and left < 0:
            print(f"\n== {name}: left out, the time is up", flush=True)
            continue
        failed += run(name, environment, ["--quick"] if is_quick else [], is_quick and left)
    failed += run_side_by_side(paired, environment, cores[:2])
    if not is_quick:
        subprocess.run([sys.executable, str(HERE / "report.py")], env=environment, check=True)
    print(f"\n{time.monotonic() - began:.0f} s", *failed, sep="\n")
    return 1 if failed and not is_quick else 0


if __name__ == "__main__":
    sys.exit(main())
