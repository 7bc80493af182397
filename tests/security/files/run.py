"""`make fuzz-files MINUTES=5 ONLY='onnx*'`: new seeds for every reader of files, for minutes each.

Cases that are bad stay in build/fuzz-files; `python -m files.run --seed S --case I --only T` from
tests/security writes one again.
"""

import argparse
import fnmatch
import secrets
import sys
import time
from pathlib import Path

from .targets import TARGETS
from .watching import watch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5.0, help="for each target")
    parser.add_argument("--only", default="*", help="a pattern of targets")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--out", type=Path, default=Path("build/fuzz-files"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in TARGETS:
        if not fnmatch.fnmatchcase(name, arguments.only):
            continue
        until = time.monotonic() + 60 * arguments.minutes
        found = watch(name, arguments.seed, 10**9, until, arguments.out)
        print(f"{name}, seed {arguments.seed}: {found}", flush=True)
        for what, seed, case in found.bad:
            print(f"  {what}: seed {seed}, case {case}", flush=True)
        for seed, case, what in found.bare.values():
            print(f"  other words: seed {seed}, case {case}: {what}", flush=True)
        failed = failed or bool(found.bad) or found.share < 0.99
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
