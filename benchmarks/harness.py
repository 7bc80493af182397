"""Measuring side by side: interleaved rounds, medians, ratios to the first contestant.

Machines are noisy, so contestants take turns within one process and one run, and only ratios are
quoted. Every benchmark prints a table and writes JSON to build/benchmarks/.
"""

import gc
import json
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "TF_CPP_MIN_LOG_LEVEL", "3"
)  # TensorFlow's start-up messages would mix with the tables
RESULTS = Path(__file__).resolve().parent.parent / "build" / "benchmarks"
QUICK = "--quick" in sys.argv


clock = time.perf_counter


def one_core(*, by_cpu_time: bool = True) -> None:
    """Keep this process and all that it starts on one core, before a framework is imported.

    Every framework counts the cores it may use, so all of them work with one thread each, peers
    included: what is compared is the work, not the ways to share it among cores. Time is then the
    processor time of the whole process: on one core the same as that of the clock, and blind to
    what else the machine does.
    """
    global clock
    clock = time.process_time if by_cpu_time else time.perf_counter
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


@dataclass
class Row:
    """One line of a table: what was done, and the seconds each contestant took per call."""

    what: str
    seconds: dict[str, float]
    spread: dict[str, float]
    limit: float | dict[str, float] | None = None  # on the ratio of Trellis, or of some contestants
    unit: str = "s"  # or "B"; "exponent", whose limit is on the difference; or any other word

    @property
    def reference(self) -> str:
        return next(iter(self.seconds))

    def ratio(self, name: str) -> float:
        return self.seconds[name] / self.seconds[self.reference]


@dataclass
class Report:
    """The rows of one question."""

    name: str
    question: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        what: str,
        contestants: dict[str, Callable[[], Any]],
        *,
        limit: float | dict[str, float] | None = None,
        **kw: Any,
    ) -> Row:
        """Time the contestants (the first is the reference) and print the row."""
        seconds, spread = measure(contestants, **kw)
        row = Row(what, seconds, spread, limit)
        self.rows.append(row)
        print(line(row), flush=True)
        return row

    def save(self, *, keep: Callable[[str], bool] | None = None) -> None:
        """Write the JSON file; rows of the last one whose names `keep` accepts stay, if this run
        was partial."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        if keep is not None and path.exists():
            old = json.loads(path.read_text())
            self.rows = [Row(**row) for row in old["rows"] if keep(row["what"])] + self.rows
            self.notes = list(dict.fromkeys([*old["notes"], *self.notes]))
        document = {**asdict(self), "machine": machine(), "quick": QUICK}
        path.write_text(json.dumps(document, indent=1))


def measure(
    contestants: dict[str, Callable[[], Any]], *, rounds: int = 15, budget: float = 1.2
) -> tuple[dict[str, float], dict[str, float]]:
    """Median seconds per call of each contestant, and the spread (interquartile range / median).

    `budget` is about how many seconds the whole row may take.
    """
    rounds = max(5, rounds // 3) if QUICK else rounds
    budget = budget / 6 if QUICK else budget
    repeats = {}
    for name, call in contestants.items():
        sample(call, 1)  # compile, allocate, warm caches
        once = max(min(sample(call, 1), sample(call, 1)), 1e-7)
        repeats[name] = max(1, min(20_000, int(budget / len(contestants) / rounds / once)))
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in contestants.items():
                samples[name].append(sample(call, repeats[name]))
    finally:
        if was_enabled:
            gc.enable()
    medians = {name: statistics.median(values) for name, values in samples.items()}
    spread = {}
    for name, values in samples.items():
        low, _, high = statistics.quantiles(values, n=4)
        spread[name] = (high - low) / medians[name]
    return medians, spread


def sample(call: Callable[[], Any], repeats: int) -> float:
    """Seconds per call over some calls; one that lives in another process takes the time there
    itself."""
    if hasattr(call, "sample"):
        return float(call.sample(repeats))
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def line(row: Row) -> str:
    parts = [f"{row.what:<44}"]
    for name, value in row.seconds.items():
        parts.append(
            f"{name} {shown(value, row.unit)} ({row.ratio(name):.2f}, ±{row.spread[name]:.0%})"
        )
    return "  ".join(parts)


def shown(value: float, unit: str) -> str:
    """A number with its unit, as a table shows it."""
    if unit == "s":
        return duration(value)
    return f"{value / 1e6:.0f} MB" if unit == "B" else f"{value:.2f}"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    packages = ("numpy", "jax", "torch", "tensorflow-cpu", "autograd", "optax", "keras")
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "trellis": trellis_version(),
        "at": time.strftime("%Y-%m-%d %H:%M"),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": versions,
    }


def trellis_version() -> str:
    """Read and not imported: this file loads no framework."""
    path = Path(__file__).resolve().parent.parent / "src" / "trellis" / "__init__.py"
    found = re.search(r'^__version__ = "(.+)"', path.read_text(), re.MULTILINE)
    return found[1] if found else "unknown"
