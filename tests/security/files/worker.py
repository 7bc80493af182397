"""Reads damaged files of one target, one after the other; says before each which, and after how.

    python -m files.worker TARGET SEED FIRST COUNT FOLDER [KEPT]

Case number i of a seed is always the same file. FOLDER holds the case that is being read; cases
that are bad are copied to KEPT.
"""

import json
import os
import random
import resource
import shutil
import sys
import traceback
import warnings
from pathlib import Path

from .mutations import Mutator
from .targets import TARGETS, written

_TOO_MUCH = 8 << 30  # bytes: where the machine is protected; 2 GB are reported


def main():
    name, seed, first, count, folder, *kept = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    warnings.simplefilter("ignore")
    target, folder = TARGETS[name], Path(folder)
    canary = str(folder / "canary")
    goods = target.make()
    from trellis.convert.apart.process import kept_children

    with kept_children() as children:
        read(target, goods[0], folder)  # imports what is needed, and starts the children
        _protect()
        own = target.own()
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for i in range(int(first), int(first) + int(count)):
            case = made(name, int(seed), i, goods, canary)
            keep(case, folder)
            for child in children.values():  # to start one takes seconds, which are not the case's
                child.restart()
            print(json.dumps({"begin": i}), file=answers, flush=True)
            before = memory()
            answer = {"end": i, **read(target, case, folder, own)}
            answer["megabytes"] = round(memory() - before)
            answer["ran"] = Path(canary).exists()
            Path(canary).unlink(missing_ok=True)
            if kept and (answer["ran"] or answer["how"] == "bare" or answer["megabytes"] > 2000):
                place = Path(kept[0]) / f"{name}-{answer['how']}-{seed}-{i}"
                shutil.copytree(folder / "case", place, dirs_exist_ok=True)
            print(json.dumps(answer), file=answers, flush=True)


def made(name, seed, i, goods, canary):
    """The i-th damaged file: one part of a good one is changed, sometimes several times."""
    chance = random.Random(f"{name} {seed} {i}")
    mutator = Mutator(chance, canary)
    files = dict(chance.choice(goods))
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        part = chance.choice(sorted(files))
        files[part] = mutator.of(part, files[part])
    return files


def keep(case, folder):
    shutil.rmtree(folder / "case", ignore_errors=True)
    written(folder / "case", case)


def read(target, case, folder, own=()):
    if not own:
        keep(case, folder)
    try:
        target.read(folder / "case")
    except BaseException as error:  # also the panic of a Rust library
        if not own or isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, own):
            return {"how": "ours"}
        places = traceback.extract_tb(error.__traceback__)
        ours = [f for f in places if "trellis" in f.filename and "/files/" not in f.filename]
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
        return {"how": "bare", "what": f"{type(error).__name__} at {where}: {error}"[:300]}
    return {"how": "read"}


def memory():
    """Megabytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _protect():
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _TOO_MUCH, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
