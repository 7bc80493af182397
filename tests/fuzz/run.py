"""`make fuzz`: draw calls with fresh seeds for as long as asked, and print what differs.

    python tests/fuzz/run.py --minutes 10
    python tests/fuzz/run.py --only linalg.svd --seed 7     # what a finding's line says
"""

import argparse
import logging
import os
import random
import sys
import time
import traceback
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
logging.getLogger("tensorflow").setLevel(logging.ERROR)  # it counts how often it compiles
sys.path.insert(0, str(Path(__file__).parents[1]))

from fnmatch import fnmatch

import fuzz.draws as draws
from fuzz.allowed import ALLOWED
from fuzz.comparing import SILENT
from fuzz.drawing import STRATEGIES
from fuzz.searching import Search
from memory import Memory

assert draws
EXAMPLES = 40


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default="*", help="a pattern of names: 'linalg.*'")
    parser.add_argument("--seed", type=int, help="one round with this seed, for all that match")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    ops = [op for op in STRATEGIES if fnmatch(op, asked.only)]
    search, memory, known, round_ = Search(), Memory(), set(), 0
    while round_ == 0 or (asked.seed is None and time.monotonic() < end):
        random.shuffle(ops)
        for op in ops:
            if asked.seed is None and time.monotonic() > end:
                break
            seed = random.randrange(2**31) if asked.seed is None else asked.seed
            try:
                found = search.run(op, seed, asked.examples, known)
            except Exception:
                print(f"BROKEN DRAW {op} --seed {seed}\n{traceback.format_exc()}", flush=True)
                continue
            if found is not None:
                known.add(found.key)
                print(f"FOUND {found}", flush=True)
                print(
                    f"  again: python tests/fuzz/run.py --only '{op}' --seed {seed}"
                    f" --examples {asked.examples}",
                    flush=True,
                )
            memory.release_if_grown()
        round_ += 1
    examples = sum(search.examples.values())
    print(f"{len(search.examples)} functions, {examples} calls on four frameworks, "
          f"{len(known)} findings")  # fmt: skip
    for op, reason in SILENT.items():
        print(f"NumPy had no answer for a call of {op}: {reason}")
    if asked.only == "*" and asked.seed is None:
        for entry in set(ALLOWED) - search.used:
            print(f"not met in this run, stale? {entry.ops}: {entry.reason}")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
