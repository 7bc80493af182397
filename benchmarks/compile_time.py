"""What does compiling a training step cost, compared with hand-written code, in a cold process?

The first call of a step, less the second: tracing and the framework's compiler, in processor time
of the process and of the compilers that it starts. Each measurement is a new process with empty
caches. torch's own step is compiled in the two pieces that its documentation recommends, loss and
optimizer, so that both sides compile the same arithmetic. The GPT has 105,000 parameters, AdamW,
clipping and dropout; its rows without one of these show what each adds. The scan has 300 steps of a
recurrence. Native code and Trellis compile side by side, each on a core of its own.

    python benchmarks/compile_time.py [--quick | --long] [--only NAME] [backend ...]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

from harness import QUICK, Report, Row, one_core

BACKENDS = ("torch", "jax", "tensorflow")
NAMES = ("mlp", "gpt", "scan", "scan and gradient")
# Minutes of torch's compiler.
LONG_NAMES = ("cnn", "deep_transformer", "gpt without dropout", "gpt without clipping")
LIMIT = 1.2
LONG = "--long" in sys.argv


def seconds() -> float:
    """Processor time so far, of this process and of those it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def step_of(backend: str, name: str, contestant: str):
    if name.startswith("scan"):
        import scans

        maker = scans.trellis_step if contestant == "trellis" else scans.native_step
        return maker(backend, "gradient" in name)
    if name.startswith("gpt"):
        options = {
            "dropout": 0.0 if "dropout" in name else 0.1,
            "clip": None if "clipping" in name else 1.0,
        }
        import gpt

        maker = gpt.trellis_step if contestant == "trellis" else gpt.native_step
        return maker(backend, **options)
    import models

    if contestant == "trellis":
        return models.steps(name, backend)["compiled"]
    w, (x, y) = models.weights(name), models.data(name)
    return import_module(f"native.with_{backend}").steps(name, w, x, y)["compiled whole"]


def once(backend: str, name: str, contestant: str, core: str) -> None:
    """In a process of its own: print the time that the first call takes beyond the second."""
    if core != "None":
        os.sched_setaffinity(0, {int(core)})
    one_core()
    step = step_of(backend, name, contestant)
    start = seconds()
    float(step())
    middle = seconds()
    float(step())
    print(json.dumps(2 * middle - start - seconds()))


def pair(backend: str, name: str) -> dict[str, float]:
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    names = ("native", "trellis")
    chosen = [cores[i % len(cores)] if cores else None for i in range(len(names))]
    with ThreadPoolExecutor(2 if len(cores) > 1 else 1) as pool:
        found = pool.map(lambda who, core: measured(backend, name, who, core), names, chosen)
        return dict(zip(names, found))


def measured(backend: str, name: str, contestant: str, core: int | None) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": folder,
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # workers are not waited for, nor counted
        }
        done = subprocess.run(
            [sys.executable, __file__, "--once", backend, name, contestant, str(core)],
            env=environment,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    chosen = [b for b in sys.argv[1:] if b in BACKENDS] or list(BACKENDS)
    names = ("mlp",) if QUICK else (*NAMES, *(LONG_NAMES if LONG else ()))
    if "--only" in sys.argv:
        names = (sys.argv[sys.argv.index("--only") + 1],)
    report = Report("compile_time", "Compiling a training step, in a cold process")
    for backend in chosen:
        for name in names:
            taken = pair(backend, name)
            row = Row(f"{backend} {name}", taken, dict.fromkeys(taken, 0.0), LIMIT)
            report.rows.append(row)
            print(f"{row.what:<34}", *[f"{k} {v:.2f} s" for k, v in taken.items()],
                  f"ratio {row.ratio('trellis'):.2f}", flush=True)  # fmt: skip
    others = [b for b in BACKENDS if b not in chosen]
    report.save(keep=(lambda what: what.split()[0] in others) if others else None)


if __name__ == "__main__":
    once(*sys.argv[2:6]) if "--once" in sys.argv else main()
