"""`make fuzz`: draw calls with fresh seeds for as long as asked, and print what differs.

python tests/fuzz/run.py --minutes 10
python tests/fuzz/run.py --only linalg.svd --seed 7          # what a finding's line says
python tests/fuzz/run.py --only torch:linalg.det --seed 7    # one op with torch's samples
"""

import argparse
import logging
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
logging.getLogger("tensorflow").setLevel(logging.ERROR)  # it counts how often it compiles
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import draws as draws
from fuzz.allowed import ALLOWED
from fuzz.comparing import SILENT, Difference
from fuzz.drawing import STRATEGIES
from fuzz.opinfo import samples
from fuzz.searching import Search
from memory import Memory

# Calls of one function before the next one has its turn.
EXAMPLES = 12


class Run:
    """One run of both oracles: what was looked at, and what was found."""

    def __init__(self, examples: int):
        self.examples = examples
        self.search, self.counts = Search(), Counter()
        self.known: set[tuple[object, ...]] = set()

    def turn(self, name: str, seed: int) -> None:
        """Some calls of one function, drawn or out of torch's samples."""
        try:
            for found in self._found(name, seed):
                self.known.add(found.key)
                print(f"FOUND {found}", flush=True)
                print(
                    f"  again: python tests/fuzz/run.py --only '{name}' --seed {seed}"
                    f" --examples {self.examples}",
                    flush=True,
                )
        except Exception:
            print(f"BROKEN {name} --seed {seed}\n{traceback.format_exc()}", flush=True)

    def _found(self, name: str, seed: int) -> Iterator[Difference]:
        if not name.startswith("torch:"):
            found = self.search.run(name, seed, self.examples, self.known)
            yield from [found] if found else []
            return
        for op in samples.op_db()[name.removeprefix("torch:")]:
            dtype = samples.DTYPES[seed % len(samples.DTYPES)]
            yield from samples.search(
                op, dtype, seed, self.examples, self.known, self.search.used, self.counts
            )

    def report(self, is_whole: bool) -> None:
        drawn = sum(self.search.examples.values())
        print(
            f"{len(self.search.examples)} functions with {drawn} drawn calls, "
            f"{self.counts.pop('compared', 0)} of torch's samples, on four frameworks: "
            f"{len(self.known)} findings"
        )
        for op, reason in SILENT.items():
            print(f"NumPy had no answer for a call of {op}: {reason}")
        for text, count in self.counts.items():
            if "refused" in text:
                print(f"refused by all four, {count} times: {text}")
        for entry in set(ALLOWED) - self.search.used if is_whole else ():
            print(f"not met in this run, stale? {entry.ops}: {entry.reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", default="*", help="a pattern of names: 'linalg.*', 'torch:*'")
    parser.add_argument("--seed", type=int, help="one turn with this seed, for all that match")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    names = [*STRATEGIES, *[f"torch:{name}" for name in samples.op_db()]]
    names = [name for name in names if fnmatch(name, asked.only)]
    run, memory, is_first = Run(asked.examples), Memory(), True
    while is_first or (asked.seed is None and time.monotonic() < end):
        random.shuffle(names)
        for name in names:
            if asked.seed is None and time.monotonic() > end:
                break
            run.turn(name, random.randrange(2**31) if asked.seed is None else asked.seed)
            memory.release_if_grown()
        is_first = False
    run.report(is_whole=asked.only == "*" and asked.seed is None)
    return 1 if run.known else 0


if __name__ == "__main__":
    sys.exit(main())
