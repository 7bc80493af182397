"""Mutation testing: are there tests that notice when the code changes?

    make mutants                              # a slice of each target: one of 40
    make mutants ONLY=optim SHARE=3/20        # the third of twenty disjoint slices of one target
    make mutants ONLY='_random' SHARE=1/1     # all mutants of a target

listing.py lists the mutants (the operators of mutmut), measuring.py which tests run which lines,
trying.py tries each mutant on the tests of its lines, the quickest first, until one fails, all in a
copy of the tree, build/mutants/tree. What was tried is kept in build/mutants and not tried again,
but for survivors with `--again`. Survivors are printed; those that no test could notice, or need
not, are listed in survivors.toml with the reason.

The slices are random, from a fixed seed: each is a sample of the whole, and the interval printed
with the score is that of such a sample (Wilson, 95 %).
"""

import argparse
import fnmatch
import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "build" / "mutants"
TREE = OUT / "tree"
KEPT = ROOT / "docs" / "data" / "mutants.json"
SEED = 20260101
FRAMEWORKS = ("torch", "jax", "tensorflow")
# A mutant may take so many times what its tests take, and a bit: then it does not end.
PATIENCE, LEAST = 6, 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="*", help="names of targets in targets.toml, with *")
    parser.add_argument("--files", default="*", help="only mutants of these files, with *")
    parser.add_argument("--share", default="1/40", help="which slice, of how many")
    parser.add_argument("--backend", action="append", help="backends of the tests; default: numpy")
    parser.add_argument("--lister", default=sys.executable, help="the Python that has mutmut")
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="of tests, as measured, that a mutant must survive",
    )
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--write", metavar="DATE", help="store the counts, measured on that day")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    copy_tree()
    targets = tomllib.loads((HERE / "targets.toml").read_text())
    reports = []
    for name, target in targets.items():
        if fnmatch.fnmatch(name, options.only):
            reports.append(Target(name, target, options).tried())
            print(reports[-1].text(), flush=True)
    if options.write:
        write(reports, options.write)


def copy_tree():
    """What git knows and what it would, as it is now; times stay, and with them compiled files."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    wanted = {name for name in names.split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    for path in [*(TREE / "src").rglob("*.py"), *(TREE / "tests").rglob("*.py")]:
        if str(path.relative_to(TREE)) not in wanted:
            path.unlink()


class Target:
    def __init__(self, name, target, options):
        self.name, self.target, self.options = name, target, options
        self.files = sorted(
            {str(path.relative_to(ROOT)) for each in target["files"] for path in ROOT.glob(each)}
        )
        self.backends = options.backend or ["numpy"]
        backends = [word for each in self.backends for word in ("--backend", each)]
        self.arguments = target.get("options", backends)
        self.elsewhere = tuple(target.get("elsewhere", ()))
        self.folder = OUT / name
        self.folder.mkdir(exist_ok=True)

    def tried(self):
        measured = self.measured()
        chosen = self.chosen(self.listed())
        plan = [self.planned(mutant, measured) for mutant in chosen]
        kept = self.folder / "results.jsonl"
        done = self.done(kept)
        left = [m for m in plan if m["id"] not in done and m["tests"]]
        if left:
            (self.folder / "plan.json").write_text(
                json.dumps(
                    {
                        "pytest": self.arguments,
                        "tests": sorted({t.partition("::")[0] for m in left for t in m["tests"]}),
                        "heavy": heavy(self.backends),
                        "mutants": left,
                    }
                )
            )
            self.start("trying.py", self.folder / "plan.json", kept)
            done = self.done(kept)
        return Report(self, plan, done)

    def start(self, script, *arguments):
        environment = {
            **os.environ,
            "PYTHONPATH": f"{TREE / 'src'}{os.pathsep}{TREE / 'packages/board/src'}",
            "PYTHONDONTWRITEBYTECODE": "1" if script == "trying.py" else "",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "PYTEST_DEBUG_TEMPROOT": str(OUT),
        }
        with open(self.folder / f"{script}.log", "w") as log:
            subprocess.run(
                [sys.executable, str(HERE / script), *map(str, arguments)],
                cwd=TREE,
                env=environment,
                check=True,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def measured(self):
        """Seconds of each test, and the tests of each line. Test files that changed are measured
        again; all of them when the watched files changed."""
        watched = digest([ROOT / file for file in self.files], *self.arguments)
        kept = self.folder / f"lines-{watched}.json"
        found = {"stamps": {}, "seconds": {}, "failed": [], "lines": {}}
        if kept.exists():
            found = json.loads(kept.read_text())
        tests = [path for each in self.target["tests"] for path in files_in(ROOT / each)]
        stamps = {str(path.relative_to(ROOT)): digest([path]) for path in tests}
        stale = sorted(file for file in stamps if stamps[file] != found["stamps"].get(file))
        if stale:
            print(f"{self.name}: measuring which lines {len(stale)} files of tests run", flush=True)
            out = self.folder / "measured.json"
            files = json.dumps([str(TREE / file) for file in self.files])
            self.start("measuring.py", out, files, "--", *self.arguments, *stale)
            found = merged(found, json.loads(out.read_text()), stale)
            found["stamps"] = stamps
            kept.write_text(json.dumps(found))
        for test in found["failed"]:
            print(f"{self.name}: left out, as it fails without mutants: {test}")
        return found

    def listed(self):
        kept = (
            self.folder
            / f"mutants-{digest([HERE / 'listing.py', *[ROOT / f for f in self.files]])}.jsonl"
        )
        if not kept.exists():
            command = [self.options.lister, str(HERE / "listing.py"), *self.files]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            kept.write_text(done.stdout)
        return [json.loads(line) for line in kept.read_text().splitlines()]

    def chosen(self, mutants):
        number, of = map(int, self.options.share.split("/"))
        shuffled = sorted(mutants, key=lambda m: (m["file"], m["start"], m["end"], m["text"]))
        random.Random(SEED).shuffle(shuffled)
        mine = shuffled[number - 1 :: of]
        return [m for m in mine if fnmatch.fnmatch(Path(m["file"]).name, self.options.files)]

    def planned(self, mutant, measured):
        """A mutant with its tests, in the order in which they are run."""
        path = str(TREE / mutant["file"])
        source = (ROOT / mutant["file"]).read_text()
        lines = measured["lines"].get(path, {})
        first, last = mutant["lines"]
        tests = {t for n in range(first, last + 1) for t in lines.get(str(n), ())}
        tests |= {test for test in measured["seconds"] if test.startswith(self.elsewhere)}
        early = "" in tests or not mutant["deferred"]
        deferred = mutant["deferred"] and tests != {""}
        if not deferred:  # runs at import alone: all that touch the file, or else all
            tests = {test for found in lines.values() for test in found if test}
            tests = tests or set(measured["seconds"])
        # A test that takes arrays to another framework would import it anew for each mutant.
        # The board's tests only speak of frameworks.
        names = () if "options" in self.target else FRAMEWORKS
        others = [name for name in names if name not in self.backends]
        tests = {test for test in tests if not any(name in test for name in others)}
        ordered = quickest(tests, measured["seconds"], self.options.seconds)
        seconds = sum(measured["seconds"][test] for test in ordered)
        before, after = shown(source, mutant)
        name = f"{mutant['file']} {mutant['function']}: {before} => {after}"
        return {
            **mutant,
            "id": f"{digest([], name)}-{mutant['start']}",
            "name": name,
            "path": path,
            "early": early,
            "deferred": deferred,
            "tests": ordered,
            "limit": LEAST + PATIENCE * seconds,
        }

    def done(self, kept):
        if not kept.exists():
            return {}
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
        found = {row["id"]: row for row in rows if row["outcome"] != "unswapped"}
        if self.options.again:
            self.options.again = False
            return {id: row for id, row in found.items() if row["outcome"] != "survived"}
        return found


def heavy(backends):
    """What takes long to import, and is imported by many tests."""
    modules = ["numpy", "scipy.stats", "torch", "jax", "optax"]
    return modules + (["tensorflow"] if "tensorflow" in backends else [])


def quickest(tests, seconds, enough):
    """Quick tests first, and the first rows of all functions before the others of one; no more
    than `enough` seconds of them."""
    rows = {}
    for test in sorted(tests, key=lambda test: seconds.get(test, 0)):
        if test in seconds:
            rows.setdefault(test.partition("[")[0], []).append(test)
    cost = {t: (n + 1) * seconds[t] for found in rows.values() for n, t in enumerate(found)}
    chosen, total = [], 0.0
    for test in sorted(cost, key=lambda test: (cost[test], test)):
        total += seconds[test]
        if chosen and total > enough:
            break
        chosen.append(test)
    return chosen


def shown(source, mutant):
    """The lines that change, before and after."""
    start = source.rfind("\n", 0, mutant["start"]) + 1
    end = source.find("\n", mutant["end"])
    after = source[start : mutant["start"]] + mutant["text"] + source[mutant["end"] : end]
    return one_line(source[start:end]), one_line(after)


def one_line(text):
    return " ".join(text.split())


def files_in(path):
    """The files of tests at a path, or below it."""
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def merged(old, new, files):
    """What was measured, with that of some files of tests in place of what they had."""
    names = tuple(f"{file}::" for file in files)
    lines = {}
    for measured, is_old in ((old, True), (new, False)):
        for file, numbers in measured["lines"].items():
            for number, tests in numbers.items():
                known = lines.setdefault(file, {}).setdefault(number, [])
                known += [
                    t for t in tests if t not in known and not (is_old and t.startswith(names))
                ]
    left = {test: s for test, s in old["seconds"].items() if not test.startswith(names)}
    failed = [test for test in old["failed"] if not test.startswith(names)]
    return {"seconds": left | new["seconds"], "failed": failed + new["failed"], "lines": lines}


def digest(paths, *words):
    parts = [path.read_bytes() for path in paths] + [word.encode() for word in words]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


class Report:
    """What became of the mutants of a slice."""

    def __init__(self, target, plan, done):
        self.target, self.plan = target, plan
        self.by_outcome = {name: [] for name in OUTCOMES}
        for mutant in plan:
            outcome = done[mutant["id"]]["outcome"] if mutant["tests"] else "survived"
            if outcome == "survived":
                outcome = REASONS.get(mutant["name"], ("survived", ""))[0]
            self.by_outcome[outcome].append(mutant)

    def text(self):
        lines = [
            f"{m['name']}   [line {m['lines'][0]}{'' if m['tests'] else ', which no test runs'}]"
            for m in self.by_outcome["survived"]
        ]
        counts = self.counts()
        told = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES)
        head = (
            f"{self.target.name} {self.target.options.share}: {counts['mutants']} mutants, {told}"
        )
        return "\n".join([*lines, f"{head}: {score(counts)}"])

    def counts(self):
        found = {outcome: len(mutants) for outcome, mutants in self.by_outcome.items()}
        return {
            "share": self.target.options.share,
            "tests": self.target.target.get("on", " and ".join(self.target.backends)),
            "all": len(self.target.listed()),
            "mutants": len(self.plan),
            **found,
        }


OUTCOMES = ("killed", "timeout", "survived", "accepted", "equivalent")


def reasons():
    """From the name of a mutant that survived to `equivalent` or `accepted`, and the reason."""
    groups = tomllib.loads((HERE / "survivors.toml").read_text())
    return {
        name: (kind, group["reason"])
        for kind, found in groups.items()
        for group in found
        for name in group["mutants"]
    }


REASONS = reasons()


def score(counts):
    """The share that was noticed of those that a test could notice, with its interval.

    >>> score({"killed": 89, "timeout": 1, "survived": 8, "accepted": 2, "equivalent": 5})
    '90.0 % noticed (82.6 to 94.5)'
    """
    dead = counts["killed"] + counts["timeout"]
    n = dead + counts["survived"] + counts["accepted"]
    low, high = wilson(dead, n)
    return f"{100 * dead / max(1, n):.1f} % noticed ({100 * low:.1f} to {100 * high:.1f})"


def write(reports, date):
    """Bring the counts into docs/data/mutants.json, and from there into docs/tests.md."""
    sys.path.insert(0, str(HERE.parent))
    from page_tables import filled

    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept |= {report.target.name: {"date": date, **report.counts()} for report in reports}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    page = ROOT / "docs" / "tests.md"
    page.write_text(filled(page.read_text(), "mutants", table_of(kept)))


def table_of(kept):
    from page_tables import table

    columns = ["tried", "killed", "out of time", "survived", "equivalent"]
    rows = [
        [
            *(f"`{name}`", f"{x['mutants']:,} of {x['all']:,}", x["killed"], x["timeout"]),
            *(x["survived"] + x["accepted"], x["equivalent"]),
            *(score(x).replace(" noticed", ""), x["tests"], x["date"]),
        ]
        for name, x in sorted(kept.items())
    ]
    head = ["package", *columns, "noticed (95 % interval)", "tests on", "measured"]
    return table(head, rows)


def wilson(hits, n, z=1.96):
    """The interval of a share, by Wilson's formula, from a sample.

    >>> [round(x, 3) for x in wilson(90, 100)]
    [0.826, 0.945]
    """
    if n == 0:
        return 0.0, 1.0
    p = hits / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


if __name__ == "__main__":
    main()
