"""Which commit, or which version of a package, broke one cell: ``trellis-board bisect``.

Of n candidates at most ceil(log2 n) + 1 are run: first the last one, which must be red, then the
middle of what is left. Results are kept in a file, so that a search that was interrupted goes on.

>>> outcomes = iter(["failure", "success", "failure"])
>>> Search(["a", "b", "c", "d"], known={}).run(lambda candidate: next(outcomes))
Found(first_bad='c', last_good='b', runs=3)
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .outcomes import OUTCOMES, is_red

__all__ = [
    "Cell",
    "Found",
    "NothingToFindError",
    "Search",
    "commits_between",
    "in_commit",
    "in_version",
    "read_state",
    "recorded",
    "versions_between",
    "write_state",
]

_LONGEST = 3600.0  # seconds that one run may take


class NothingToFindError(ValueError):
    """The newest candidate is not red, or a candidate says neither green nor red."""


@dataclass(frozen=True)
class Cell:
    """One cell by its names, as ``tests/test_ops::test_tanh[float32] @ torch``."""

    module: str
    test: str
    backend: str

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Read ``MODULE::TEST @ BACKEND``."""
        found = re.fullmatch(r"(.+?)::(.+?)\s+@\s+(.+)", text.strip())
        if found is None:
            raise ValueError(f"cell {text!r}; expected 'MODULE::TEST @ BACKEND'")
        return cls(*found.groups())


@dataclass(frozen=True)
class Found:
    """The first candidate that is red, and the last one before it that is known to be green."""

    first_bad: str
    last_good: str | None
    runs: int


@dataclass
class Search:
    """A search among candidates from old to new; `known` outcomes cost no run.

    The candidate before the first one is taken to be green: it is what the user says was good.
    """

    candidates: Sequence[str]
    known: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str], None] = lambda line: None

    def run(self, outcome_of: Callable[[str], str]) -> Found:
        """Find the first candidate that is red; `outcome_of` runs one."""
        runs = 0

        def is_bad(place: int) -> bool:
            nonlocal runs
            candidate = self.candidates[place]
            outcome = self.known.get(candidate)
            if outcome is None:
                runs += 1
                most = self.most_runs
                self.tell(f"run {runs} of at most {most}: {candidate} ...")
                outcome = outcome_of(candidate)
            self.tell(f"{candidate}: {outcome}")
            if outcome != "success" and not is_red(outcome):
                raise NothingToFindError(
                    f"{candidate} is {outcome}, which is neither green nor red; leave it out with "
                    "--skip, or mend why it cannot be run"
                )
            return is_red(outcome)

        good, bad = -1, len(self.candidates) - 1
        if not is_bad(bad):
            raise NothingToFindError(f"{self.candidates[bad]} is green: there is nothing to find")
        while bad - good > 1:
            middle = (good + bad) // 2
            if is_bad(middle):
                bad = middle
            else:
                good = middle
        last_good = self.candidates[good] if good >= 0 else None
        return Found(self.candidates[bad], last_good, runs)

    @property
    def most_runs(self) -> int:
        """How many runs it can take."""
        return math.ceil(math.log2(len(self.candidates))) + 1 if self.candidates else 0


def commits_between(root: Path, span: str) -> list[str]:
    """The commits of ``good..bad`` from old to new, by git; of merges, those of the main line."""
    if span.startswith("-") or ".." not in span:
        raise ValueError(f"commits {span!r}; expected GOOD..BAD")
    listed = _run(["git", "rev-list", "--first-parent", "--reverse", span], root)
    commits = listed.stdout.split()
    if not commits:
        raise ValueError(f"git knows no commits in {span!r}: {listed.stderr.strip()[:200]}")
    return commits


def versions_between(package: str, span: str, python: str = sys.executable) -> list[str]:
    """The versions of a package after the good one up to the bad one, from old to new, by pip.

    ``0.6`` as the good one is the oldest 0.6.x, as the bad one the newest: what lies between is
    tried, and nothing is taken to be green that may be red.
    """
    good, dots, bad = span.partition("..")
    if not (dots and good and bad) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", package):
        raise ValueError(f"{package} {span!r}; expected a package and GOOD..BAD, as jax 0.6..0.10")
    listed = _run([python, "-m", "pip", "index", "versions", package], Path.cwd())
    found = re.search(r"Available versions: (.*)", listed.stdout)
    if found is None:
        raise ValueError(f"pip knows no versions of {package}: {listed.stderr.strip()[-200:]}")
    every = sorted({v.strip() for v in found[1].split(",")}, key=_numbers)
    named = [v for v in every if _is_of(v, good)]
    begin = _numbers(named[0] if named else good)
    return [
        v for v in every if begin < _numbers(v) and (_numbers(v) <= _numbers(bad) or _is_of(v, bad))
    ]


def _is_of(version: str, name: str) -> bool:
    """Whether a version is what `name` says, or one of its series.

    >>> _is_of("0.6.2", "0.6"), _is_of("0.6", "0.6.0"), _is_of("0.60.0", "0.6")
    (True, True, False)
    """
    numbers, wanted = _numbers(version), _numbers(name)
    missing = len(wanted) - len(numbers)
    return (*numbers, *[0] * missing)[: len(wanted)] == wanted


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def in_commit(root: Path, cell: Cell, command: str | None) -> Callable[[str], str]:
    """Runs the cell at a commit, in a fresh work tree and with this Python."""

    def outcome_of(commit: str) -> str:
        with tempfile.TemporaryDirectory(prefix="board-bisect-") as folder:
            place = Path(folder) / "tree"
            made = _run(["git", "worktree", "add", "--detach", "--quiet", str(place), commit], root)
            if made.returncode:
                raise ValueError(f"git cannot check out {commit[:10]}: {made.stderr.strip()[:200]}")
            try:
                # The package of that commit, not the one that is installed here.
                own = [str(each) for each in (place / "src", place) if each.is_dir()]
                return _outcome(place, Path(folder), cell, command, sys.executable, own)
            finally:
                _run(["git", "worktree", "remove", "--force", str(place)], root)

    return outcome_of


def in_version(
    root: Path, cell: Cell, command: str | None, package: str, install: Sequence[str]
) -> Callable[[str], str]:
    """Runs the cell with a version of a package, in a fresh environment."""

    def outcome_of(version: str) -> str:
        with tempfile.TemporaryDirectory(prefix="board-bisect-") as folder:
            place = Path(folder) / "environment"
            made = _run([sys.executable, "-m", "venv", str(place)], root)
            python = str(place / ("Scripts" if os.name == "nt" else "bin") / "python")
            if not made.returncode:
                wanted = [f"{package}=={version}", *install]
                made = _run([python, "-m", "pip", "install", "--quiet", *wanted], root)
            if made.returncode:
                raise NothingToFindError(
                    f"{package} {version} cannot be installed here: {made.stderr.strip()[-300:]}; "
                    "leave it out with --skip"
                )
            return _outcome(root, Path(folder), cell, command, python)

    return outcome_of


def _outcome(
    root: Path,
    folder: Path,
    cell: Cell,
    command: str | None,
    python: str,
    path: Sequence[str] = (),
) -> str:
    """Record a run of the cell's module into a store of its own, and read the cell from there."""
    store = folder / "bisect.sqlite"
    words = shlex.split(command) if command else [python, "-m", "pytest", "-q", f"{cell.module}.py"]
    if python != sys.executable and words[0] in ("pytest", "python", "python3"):
        words = [python, *(["-m", "pytest"] if words[0] == "pytest" else []), *words[1:]]
    paths = [*path, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    _run([*words, "--board", str(store), "--board-run", "bisect"], root, environment)
    if not store.exists():
        return "died"
    return next(iter(recorded(str(store), None, cell).values()), "died")


def recorded(address: str, project_name: str | None, cell: Cell) -> dict[str, str]:
    """The outcomes of a cell that a store has, by commit; of one commit the newest."""
    from .queries import backend_names, find_project, modules, runs, states_of_run
    from .store import Store

    store = Store.open(address, create=False)
    found: dict[str, str] = {}
    with store.reading() as connection:
        project = find_project(connection, project_name)
        backends = {name: id for id, name in backend_names(connection, project).items()}
        tests = {
            (module.name, name): test
            for module in modules(connection, project)
            for test, name in module.tests.items()
        }
        wanted = tests.get((cell.module, cell.test)), backends.get(cell.backend)
        for run in runs(connection, project):
            state = states_of_run(connection, run.id).get(wanted)  # type: ignore[arg-type]
            if state is not None and state.outcome != "died":
                found.setdefault(run.commit or "", state.outcome)
    store.close()
    return found


def read_state(file: Path, question: Mapping[str, str]) -> dict[str, str]:
    """What an earlier search for the same cell found, by candidate."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(kept, dict) or kept.get("question") != dict(question):
        return {}
    outcomes = kept.get("outcomes")
    return (
        {k: v for k, v in outcomes.items() if v in OUTCOMES} if isinstance(outcomes, dict) else {}
    )


def write_state(file: Path, question: Mapping[str, str], outcomes: Mapping[str, str]) -> None:
    """Keep what was found, whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(json.dumps({"question": dict(question), "outcomes": dict(outcomes)}))
    shutil.move(part, file)


def _run(
    words: Sequence[str], root: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=root, env=environment, capture_output=True, text=True, timeout=_LONGEST
    )
