"""How much of the table of mistakes is clear: `python tests/sweep_mistakes.py numpy torch`."""

import argparse
import os
from collections import Counter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import trellis
from trellis.conformance.good_calls import all_calls
from trellis.conformance.mistakes import KNOWN, is_clear, mistakes_in, outcome


def sweep(backends: list[str], labels: list[str]) -> None:
    counts = {backend: Counter() for backend in backends}
    divided = 0
    for name, call in all_calls().items():
        for mistake in mistakes_in(call):
            if labels and not mistake.where.endswith(tuple(labels)):
                continue
            if KNOWN.get((name, mistake.where), "").startswith("so many"):
                continue
            answers = set()
            for backend in backends:
                other = "torch" if backend == "numpy" else "numpy"
                foreign = trellis.namespace(other).from_numpy(np.ones(3, "float32"))
                found = outcome(call, mistake, backend, foreign)
                is_error = isinstance(found, Exception)
                kind = "answers" if not is_error else "clear" if is_clear(found) else "raw"
                counts[backend][kind] += 1
                answers.add(kind == "answers")
                if kind == "raw":
                    print(backend, name, mistake.where, repr(found)[:200])
            if len(answers) > 1:
                divided += 1
                print("divided:", name, mistake.where)
    for backend, found in counts.items():
        share = found["clear"] / (found["clear"] + found["raw"])
        print(f"{backend}: {share:.2%} of the errors are clear; {dict(found)}")
    print(f"{divided} of the pairs are divided")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("backends", nargs="*", default=["numpy"])
    parser.add_argument("--only", action="append", default=[], help="how the mistake is called")
    given = parser.parse_args()
    sweep(given.backends, [f": {label}" for label in given.only])
