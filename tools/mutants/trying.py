"""Tries mutants: `python trying.py PLAN RESULTS`, started by run.py in the copy of the tree.

The frameworks are imported once. A child collects the tests once, and forks for each mutant: the
grandchild exchanges the code of the functions that were changed, and runs the tests of the line
until one fails. What runs while modules are imported (tables, classes, defaults) cannot be
exchanged so: then the changed file is imported, in a fork that has not imported Trellis yet.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import types
import warnings
from pathlib import Path

import pytest

# Seconds of the clock after which a mutant is stuck; the limit of processor time is its own.
STUCK = 600
MORE_MEMORY = 6 * 2**30


def main():
    plan = json.loads(Path(sys.argv[1]).read_text())
    with open(sys.argv[2], "a") as stream:
        tried = Tried(plan, stream)
        import_heavy(plan["heavy"])
        swapped = [m for m in plan["mutants"] if m["deferred"]]
        if swapped:
            in_a_fork(lambda: collected(plan, tried, swapped))
        again = tried.to_import()
        for mutant in plan["mutants"]:
            if not mutant["deferred"] or mutant["id"] in again:
                tried.note(mutant, *imported(plan, mutant))


def import_heavy(names):
    sys.path.insert(0, "tests")
    with contextlib.suppress(ImportError):
        importlib.import_module("programs")  # before JAX, which reads the environment
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class Tried:
    """The results, a line each. Those that a fork wrote are read back from the file."""

    def __init__(self, plan, stream):
        self.plan, self.stream = plan, stream

    def note(self, mutant, outcome, by, seconds):
        row = {"id": mutant["id"], "outcome": outcome, "by": by, "seconds": round(seconds, 2)}
        self.stream.write(json.dumps(row) + "\n")
        self.stream.flush()

    def to_import(self):
        """Mutants of functions that also run at import: a survivor is tried again."""
        rows = [json.loads(line) for line in Path(self.stream.name).read_text().splitlines()]
        last = {row["id"]: row["outcome"] for row in rows}
        early = {m["id"] for m in self.plan["mutants"] if m["early"]}
        return {id for id, outcome in last.items() if outcome == "unswapped"} | {
            id for id, outcome in last.items() if outcome == "survived" and id in early
        }


# Functions whose code is exchanged ----------------------------------------------------------------


def collected(plan, tried, mutants):
    loop = Loop(plan, tried, mutants)
    status = pytest.main([*plan["pytest"], *plan["tests"], *QUIET], plugins=[loop])
    if not loop.ran:
        print(f"Not all mutants were tried: pytest ended with {status}.", file=sys.stderr)
        os._exit(9)


QUIET = ("-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")


class Loop:
    """In place of pytest's own loop over tests: one over mutants."""

    def __init__(self, plan, tried, mutants):
        self.plan, self.tried, self.mutants = plan, tried, mutants
        self.ran = False
        self.pipe = None
        self.sound = {}

    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        files = {m["path"] for m in self.mutants}
        for file in files:  # also those that would be imported late
            importlib.import_module(module_of(file))
        functions = {}
        for each in gc.get_objects():
            # Not isinstance(): proxies would be asked, and some warn.
            if type(each) is types.FunctionType and each.__code__.co_filename in files:
                key = each.__code__.co_filename, each.__code__.co_qualname
                functions.setdefault(key, []).append(each)
        gc.collect()
        gc.freeze()
        for mutant in self.mutants:
            with changed(mutant) as source:
                outcome, by, seconds = self.tried_on(items, functions, mutant, source)
            self.tried.note(mutant, outcome, by, seconds)
        self.ran = True
        return True

    def tried_on(self, items, functions, mutant, source):
        tests = [items[test] for test in mutant["tests"] if test in items]

        def child():
            return self.run(tests) if exchange(functions, mutant, source) else 3

        outcome, by, seconds = in_a_fork_with_pipe(self, child, mutant["limit"])
        while outcome == "killed" and not self.is_sound(items, by):
            tests[:] = [item for item in tests if item.nodeid != by]
            outcome, by, more = in_a_fork_with_pipe(self, child, mutant["limit"])
            seconds += more
        return outcome, by, seconds

    def is_sound(self, items, test):
        """Whether a test that failed passes alone without a mutant."""
        if test not in self.sound and test in items:
            outcome, _, _ = in_a_fork_with_pipe(self, lambda: self.run([items[test]]), 120)
            self.sound[test] = outcome == "survived"
        return self.sound.get(test, True)

    def run(self, tests):
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return 0

    def pytest_runtest_logreport(self, report):
        if report.failed:
            os.write(self.pipe, report.nodeid.encode())
            os._exit(1)


def module_of(file):
    """The name that a file below PYTHONPATH is imported by."""
    (folder,) = [x for x in os.environ["PYTHONPATH"].split(os.pathsep) if file.startswith(x)]
    parts = Path(file).relative_to(folder).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def exchange(functions, mutant, source):
    """Give the live functions below `mutant["function"]` the code of `source`."""
    wanted = mutant["function"]
    done = False
    for code in codes(compile(source, mutant["path"], "exec", dont_inherit=True)):
        if code.co_qualname == wanted or code.co_qualname.startswith(f"{wanted}.<locals>."):
            for function in functions.get((mutant["path"], code.co_qualname), ()):
                if function.__code__.co_freevars != code.co_freevars:
                    return False
                function.__code__ = code
                done = True
    return done


def codes(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes(each)


# Files that are imported changed ------------------------------------------------------------------


def imported(plan, mutant):
    loop = FirstFailure()

    def child():
        status = pytest.main([*plan["pytest"], "-x", *mutant["tests"], *QUIET], plugins=[loop])
        return 1 if status else 0  # also where the tests cannot be collected

    with changed(mutant):
        return in_a_fork_with_pipe(loop, child, mutant["limit"] + 60)


class FirstFailure:
    pipe = None

    def pytest_runtest_logreport(self, report):
        if report.failed:
            os.write(self.pipe, report.nodeid.encode())
            os._exit(1)


# Forks --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def changed(mutant):
    """The file with the change in it, for whoever reads it; then as it was, also in its time."""
    path, stat = Path(mutant["path"]), os.stat(mutant["path"])
    before = path.read_text()
    source = before[: mutant["start"]] + mutant["text"] + before[mutant["end"] :]
    path.write_text(source)
    try:
        yield source
    finally:
        path.write_text(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def in_a_fork(fn):
    pid = os.fork()
    if pid == 0:
        try:
            fn()
            os._exit(0)
        finally:
            os._exit(9)
    if os.waitpid(pid, 0)[1]:
        sys.exit("The tests did not run.")


def in_a_fork_with_pipe(loop, fn, limit):
    """Outcome, the test that noticed, and seconds."""
    start = time.monotonic()
    reading, loop.pipe = os.pipe()
    with warnings.catch_warnings():
        # JAX warns at each fork; nothing of it has run here, so there is no thread to lose.
        warnings.filterwarnings("ignore", message=".*os.fork", category=RuntimeWarning)
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setpgid(0, 0)
            seconds = int(limit) + 1
            used = int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 5))
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * os.sysconf("SC_PAGESIZE") + MORE_MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            status = fn()
        finally:
            os._exit(status)
    os.close(loop.pipe)
    handle = os.pidfd_open(pid)
    is_over = bool(select.select([handle], [], [], STUCK)[0])
    os.close(handle)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # also what a test has started
    _, status = os.waitpid(pid, 0)
    by = os.read(reading, 65536).decode(errors="replace") if is_over else ""
    os.close(reading)
    seconds = time.monotonic() - start
    if not is_over or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return "timeout", "", seconds
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return "survived", "", seconds
    if code == 3:
        return "unswapped", "", seconds
    return "killed", by, seconds


if __name__ == "__main__":
    main()
