"""Watches a worker: counts its answers, ends it when it hangs, and begins again after the case."""

import collections
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HANG = 10.0  # seconds
_TO_START = 240.0
_MEGABYTES = 2000
_CHUNK = 200  # cases of one process


class Count:
    """What was seen of one target."""

    def __init__(self):
        self.how = collections.Counter()
        self.bare = {}  # one case for each kind of error
        self.bad = []  # executions, crashes, hangs, too much memory

    def add(self, answer, seed):
        self.how[answer["how"]] += 1
        if answer["how"] == "bare":
            self.bare.setdefault(
                answer["what"].partition(": ")[0], (seed, answer["end"], answer["what"])
            )
        if answer.get("ran"):
            self.note("execution", seed, answer["end"])
        if answer.get("megabytes", 0) > _MEGABYTES:
            self.note(f"memory ({answer['megabytes']} MB)", seed, answer["end"])

    def note(self, what, seed, case):
        self.how[what.partition(" ")[0]] += 1
        self.bad.append((what, seed, case))

    @property
    def files(self):
        return self.how["read"] + self.how["ours"] + self.how["bare"]

    @property
    def share(self):
        """The share of errors in our words."""
        errors = self.how["ours"] + self.how["bare"]
        return self.how["ours"] / errors if errors else 1.0

    def __str__(self):
        names = ("execution", "crash", "hang", "memory")
        seen = ", ".join([f"{name} {self.how[name]}" for name in names])
        return f"{self.files} files, {self.how['read']} read; {seen}; {self.share:.2%} in our words"


def watch(target, seed, count, until=None, kept=None):
    """Read `count` cases, or as many as there is time for; cases that are bad go to `kept`."""
    found, first = Count(), 0
    with tempfile.TemporaryDirectory() as folder:
        while first < count and (until is None or time.monotonic() < until):
            first = _some(
                target, seed, first, min(_CHUNK, count - first), folder, found, until, kept
            )
    return found


def _some(target, seed, first, count, folder, found, until, kept):
    """One process; returns the number of the case to go on with."""
    place = Path(__file__).parents[1]
    path = os.pathsep.join([str(place), str(place.parent), *[each for each in sys.path if each]])
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "files.worker",
            target,
            str(seed),
            str(first),
            str(count),
            folder,
            *([str(kept)] if kept else []),
        ],
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    case, limit = None, _TO_START
    try:
        for line in _lines(process, lambda: limit):
            if line is None:
                if case is None:
                    raise RuntimeError(f"the worker of {target} did not start")
                found.note("hang", seed, case)
                _keep(folder, kept, f"{target}-hang-{seed}-{case}")
                return case + 1
            answer = json.loads(line)
            if "begin" in answer:
                case, limit = answer["begin"], HANG
            elif "end" in answer:
                case, limit = None, _TO_START  # between two cases nothing may happen
                found.add(answer, seed)
                if answer["end"] == first + count - 1:
                    return first + count
                if until is not None and time.monotonic() > until:
                    return first + count
        if case is None:
            raise RuntimeError(f"the worker of {target} ended with {process.wait()}")
        found.note(f"crash (exit code {process.wait()})", seed, case)
        _keep(folder, kept, f"{target}-crash-{seed}-{case}")
        return case + 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _lines(process, limit):
    """Lines of the output; None if there is none for too long."""
    descriptor, rest = process.stdout.fileno(), b""
    while True:
        while b"\n" in rest:
            line, _, rest = rest.partition(b"\n")
            yield line
        ready, _, _ = select.select([descriptor], [], [], limit())
        if not ready:
            yield None
            return
        chunk = os.read(descriptor, 65536)
        if not chunk:
            return
        rest += chunk


def _keep(folder, kept, name):
    if kept is not None and (Path(folder) / "case").exists():
        shutil.copytree(Path(folder) / "case", Path(kept) / name, dirs_exist_ok=True)
