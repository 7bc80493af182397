"""All benchmarks, one after another, each in a process of its own; then docs/benchmarks.md.

python benchmarks/run.py [--quick] [name ...]
"""

import os
import subprocess
import sys
import time
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
    "growth",
    "memory",
    "loss_curves",
    "interchange",
    "checkpoints",
    "distributed",
    "board_ingest",
    "board_overhead",
)
# A short run has fewer rows and rounds, and leaves these out.
LONG = ("loss_curves", "compile_time", "distributed", "working_sizes", "memory", "growth")
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


def main():
    is_quick = "--quick" in sys.argv
    named = [name for name in NAMES if name in sys.argv[1:]]
    chosen = named or [name for name in NAMES if not (is_quick and name in LONG)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent / "src")]),
    }
    if not is_quick:
        install_peers()
    failed, began = [], time.monotonic()
    for name in chosen:
        if is_quick and time.monotonic() - began > QUICK_LIMIT:
            print(f"\n== {name}: left out, the time is up", flush=True)
            continue
        print(f"\n== {name}", flush=True)
        command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] if is_quick else [])]
        start = time.monotonic()
        timeout = max(10.0, QUICK_LIMIT - (start - began)) if is_quick else None
        try:
            code = subprocess.run(command, env=environment, timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            code = "the time is up"
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
        if code != 0:
            failed.append(f"{name}: {code}")
    if not is_quick:
        subprocess.run([sys.executable, str(HERE / "report.py")], env=environment, check=True)
    print(f"\n{time.monotonic() - began:.0f} s", *failed, sep="\n")
    return 1 if failed and not is_quick else 0


if __name__ == "__main__":
    sys.exit(main())
