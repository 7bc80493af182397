"""How many instructions does a call take? Counted, not timed: small changes show in spite of noise.

The rows of dispatch.py under `valgrind --tool=callgrind`: each call N and 2N times, the difference
over N being the instructions of one call with its loop. Python's hashes have a fixed seed, the
garbage collector is off, and there is one thread. The counts of the last recorded version are in
instructions.json beside this file.

    python benchmarks/instructions.py             count and compare; exit 1 if a call grew
    python benchmarks/instructions.py --record    count and write instructions.json
    python benchmarks/instructions.py numpy ...   some frameworks alone
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from harness import trellis_version

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "instructions.json"
BACKENDS = ("numpy", "torch", "jax", "tensorflow")
USUAL = BACKENDS[:3]  # TensorFlow takes several minutes to start under valgrind: by name alone
PACKAGES = {"torch": "torch", "jax": "jax", "tensorflow": "tensorflow-cpu", "numpy": "numpy"}
# Counts of the same program differ by about 0.1 % between runs, on JAX and TensorFlow, whose own
# threads take part, by 1 %.
ALLOWED = 1.03
CALLS, WARM, REPEATS = 200, 300, 3
MARKS = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; }
void zero(void) { CALLGRIND_ZERO_STATS; }
void dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
"""
INSTALL = """Instructions are counted by valgrind, with its headers and a C compiler for a library
of three lines. Not found: {}. On Debian and Ubuntu: apt-get install valgrind gcc libc6-dev."""


def count(backend, library):
    """Inside valgrind: every call N and 2N times, each between marks of its own."""
    import ctypes
    import gc

    marks = ctypes.CDLL(library)
    made = calls(backend)
    for call in made.values():
        repeat(call, WARM)  # Python 3.11 adapts its bytecode to what it sees
    gc.collect()
    gc.disable()
    marks.start()
    for call in made.values():
        repeat(call, WARM)
    for name, call in made.items():
        for factor in (1, 2) * REPEATS:
            marks.zero()
            repeat(call, factor * CALLS)
            marks.dump(f"{name} x{factor}".encode())
    os._exit(0)  # what frameworks do at the end takes long here, and is not asked for


def repeat(call, times):
    for _ in range(times):
        call()


def calls(backend):
    """{"numpy tanh: native": call, ...}"""
    from dispatch_calls import ARITY, contestants

    made = {}
    for op in ARITY:
        for who, call in contestants(backend, op).items():
            if who != "xp":
                made[f"{backend} {op}: {who}"] = call
    return made


def counted(backend, folder):
    """{"numpy tanh: native": instructions a call, ...}"""
    library = Path(folder) / "marks.so"
    if not library.exists():
        source = Path(folder) / "marks.c"
        source.write_text(MARKS)
        subprocess.run(
            ["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
        )
    out = Path(folder) / backend
    out.mkdir()
    environment = {
        **os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_PLATFORMS": "cpu", "TF_ENABLE_ONEDNN_OPTS": "0",
    }  # fmt: skip
    command = [
        "valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}/counts",
        sys.executable, __file__, "--count", backend, str(library),
    ]  # fmt: skip
    if shutil.which("setarch"):
        # The same addresses in every run: dicts of objects hash by them.
        command = ["setarch", platform.machine(), "-R", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{backend} under valgrind: {done.stderr[-1500:]}")
    return per_call(out)


def per_call(folder):
    found = {}
    for path in folder.iterdir():
        text = path.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (.+) x(\d)$", text, re.MULTILINE)
        totals = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if name and totals:
            found.setdefault(name[1], {}).setdefault(name[2], []).append(int(totals[1]))
    # The least of some repeats: what happens once in a while is not of the call.
    return {
        name: round((min(at["2"]) - min(at["1"])) / CALLS) for name, at in sorted(found.items())
    }


def versions():
    found = {"trellis": trellis_version(), "python": platform.python_version()}
    return found | {name: metadata.version(package) for name, package in PACKAGES.items()}


def compare(counts, recorded):
    """Print the table; the rows of ours that grew too much."""
    old, grown = recorded["instructions"], []
    print(f"recorded with {recorded['versions']}\nnow           {versions()}\n")
    print(f"{'':<24}{'native':>10}{'trellis':>10}{'over':>9}   {'recorded':>10}{'ratio':>8}")
    for name, ours in counts.items():
        if not name.endswith(": trellis"):
            continue
        row = name.removesuffix(": trellis")
        native, before = counts[f"{row}: native"], old.get(name)
        ratio = ours / before if before else float("nan")
        mark = "  grew" if before and ratio > ALLOWED else ""
        print(f"{row:<24}{native:>10,}{ours:>10,}{ours - native:>9,}   "
              f"{before or 0:>10,}{ratio:>8.3f}{mark}")  # fmt: skip
        grown += [row] if mark else []
    return grown


def main():
    missing = [name for name in ("valgrind", "cc") if shutil.which(name) is None]
    if not missing and not Path("/usr/include/valgrind/callgrind.h").exists():
        missing = ["valgrind/callgrind.h"]
    if missing:
        print(INSTALL.format(", ".join(missing)))
        return 2
    chosen = [b for b in BACKENDS if b in sys.argv[1:]] or USUAL
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else None
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for backend in chosen:
            print(f"counting {backend}", flush=True)
            counts |= counted(backend, folder)
    if "--record" in sys.argv or recorded is None:
        kept = {} if recorded is None else recorded["instructions"]
        document = {"versions": versions(), "calls": CALLS, "instructions": {**kept, **counts}}
        RECORDED.write_text(json.dumps(document, indent=1) + "\n")
    grown = compare(counts, recorded or json.loads(RECORDED.read_text()))
    if grown:
        print(f"\nmore than {ALLOWED - 1:.0%} more instructions than recorded:", ", ".join(grown))
    return 1 if grown and "--record" not in sys.argv else 0


if __name__ == "__main__":
    if "--count" in sys.argv:
        count(*sys.argv[2:4])
    sys.exit(main())
