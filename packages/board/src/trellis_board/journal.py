"""What a session has done so far, written down as it goes, for the case that it dies.

A journal is a file next to the store with one JSON array per line. A session that comes to its end
records its part and deletes the journal. One that is killed leaves it, and the next run, or the
next ``trellis-board`` command, records what it says: the tests that finished, an error for the one
that was running, and the rest as not run. One that cannot reach its server or database leaves it
too, with the whole part in it.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .records import BrokenModule, Cell, Part, Result, merge

if TYPE_CHECKING:
    from .recorder import Attempt, Pass

try:
    import fcntl
except ImportError:  # Windows: there an open file cannot be renamed, which tells the same
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal", "part_of", "place_for", "read", "recover", "store_of", "write_plan"]


def place_for(address: str, cache: Path | None) -> Path | None:
    """The beginning of the paths of all journals of a store; None if there is no place for them.

    >>> place_for("build/board.sqlite", None).as_posix()
    'build/board.sqlite-run-'
    """
    if "://" not in address:
        return Path(f"{address}-run-")
    if cache is None:
        return None
    return cache / f"{hashlib.sha256(address.encode()).hexdigest()[:12]}-run-"


def store_of(path: str) -> str:
    """The store of a journal beside it; any other path is that of a store.

    >>> store_of("parts/b.sqlite-run-7-c0ffee00.jsonl"), store_of("b.sqlite")
    ('parts/b.sqlite', 'b.sqlite')
    """
    return re.sub(r"-run-[^/\\]*\.jsonl$", "", path)


_quoted = json.encoder.encode_basestring_ascii


class Journal:
    """An open journal. Lines go to the operating system at once, so a dying process loses none."""

    def __init__(self, place: Path) -> None:
        self.path = place.with_name(f"{place.name}{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl")
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if fcntl is not None:
            # Held until this process ends, however it ends: then the journal was left behind.
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, *line: Any) -> None:
        """Append one line."""
        os.write(self._file, f"{json.dumps(line)}\n".encode())

    def write_end(self, node_id: str, attempt: Attempt | Pass) -> None:
        """Append how a test ended. Written by hand: it is done for every test."""
        if isinstance(attempt, tuple):
            duration, comparisons, at = attempt
            outcome, number, message = "success", 1, '""'
        else:
            duration, comparisons, at = attempt.duration or 0.0, attempt.comparisons, attempt.at
            outcome, number, message = attempt.outcome, attempt.number, _quoted(attempt.message)
        count = "null" if comparisons is None else comparisons
        line = (
            f'["end",{_quoted(node_id)},"{outcome}",{duration:.6f},{count},'
            f"{number},{message},{at or 0:.3f}]\n"
        )
        os.write(self._file, line.encode())

    def keep(self, part: Part) -> None:
        """Append a part that could not be recorded, and close it: the next run records it."""
        self.write("whole", part.to_json())
        os.close(self._file)

    def discard(self) -> None:
        """Close and delete it: all that it says is recorded, or not wanted."""
        os.close(self._file)
        self.path.unlink(missing_ok=True)


def write_plan(path: Path, plan: dict[str, Cell], versions: dict[str, str]) -> None:
    """Append what is going to run. A worker does this: its controller collects nothing."""
    line = json.dumps(["plan", [[node_id, *cell] for node_id, cell in plan.items()], versions])
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def recover(place: Path, record: Callable[[str, Part], None]) -> list[str]:
    """Record what dead sessions left behind, and say so; `record` takes a project and a part."""
    said = []
    for path in _left_behind(place):
        story = read(path)
        if story.part:
            try:
                part = part_of(story)
                record(story.project, part)
            except Exception as error:
                run = story.part.get("run")
                said.append(f"run {run} {story.fate} and could not be recorded: {error}; {path}")
                continue
            said.append(f"run {part.run} {story.fate}: recorded {len(part.results)} cells of it")
        path.unlink(missing_ok=True)
    return said


def _left_behind(place: Path) -> Iterator[Path]:
    """The journals of sessions that have died; each is locked until the next one is asked for."""
    for path in sorted(place.parent.glob(f"{glob.escape(place.name)}*.jsonl")):
        try:
            if fcntl is None:
                path.replace(path)
            with path.open("r+b") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
        except OSError:
            continue


@dataclass
class Story:
    """What a journal tells."""

    project: str = "default"
    part: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Cell] | None = None
    versions: dict[str, str] = field(default_factory=dict)
    collecting: str | None = None
    running: list[str] = field(default_factory=list)
    ended: dict[str, list[Any]] = field(default_factory=dict)
    broken: list[BrokenModule] = field(default_factory=list)
    whole: dict[str, Any] | None = None

    @property
    def fate(self) -> str:
        """Why its session did not record it."""
        return "had died" if self.whole is None else "was kept"

    def take(self, kind: str, *rest: Any) -> None:
        """Take one line."""
        if kind == "session":
            self.project, self.part = rest[0], dict(rest[1])
        elif kind == "collecting":
            self.collecting = rest[0]
        elif kind == "broken":
            self.broken.append(BrokenModule(*rest))
        elif kind == "plan":
            self.plan = {node_id: (module, row, column) for node_id, module, row, column in rest[0]}
            self.versions = rest[1]
        elif kind == "whole":
            self.whole = dict(rest[0])
        elif kind == "start":
            self.running.append(rest[0])
        elif kind == "end":
            self.ended[rest[0]] = list(rest[1:])


def read(path: Path) -> Story:
    """The story of a journal. Its last line may be half written."""
    story = Story()
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            # A line that nobody wrote, or only half of it, tells nothing.
            with contextlib.suppress(ValueError, TypeError, IndexError, RecursionError):
                story.take(*json.loads(line))
    return story


def part_of(story: Story) -> Part:
    """The part that a session would have recorded, had it lived, with its death in it; or the one
    that it could not record."""
    if story.whole is not None:
        return Part.from_json(story.whole)
    plan = story.plan or {}
    results = [
        Result(*plan[node_id], *values)
        for node_id, values in story.ended.items()
        if node_id in plan
    ]
    died = [node_id for node_id in story.running if node_id not in story.ended]
    if not story.running:  # one process, which does one test after the other as planned
        died = [node_id for node_id in plan if node_id not in story.ended][:1]
    at = f" in {', '.join(died)}" if died else ""
    broken = list(story.broken)
    if story.plan is None and story.collecting is not None:
        message = "pytest died while it collected this module"
        broken.append(BrokenModule(story.collecting, message))
    for node_id, cell in plan.items():
        if node_id in died:
            message = "pytest died while this test ran"
            results.append(Result(*cell, outcome="error", message=message))
        elif node_id not in story.ended:
            message = f"not run: pytest died before{at}"
            results.append(Result(*cell, outcome="died", message=message))
    return Part(
        **{**story.part, "versions": {**story.part.get("versions", {}), **story.versions}},
        results=_one_per_cell(results),
        broken=broken,
    )


def _one_per_cell(results: Iterable[Result]) -> list[Result]:
    by_cell: dict[Cell, Result] = {}
    for result in results:
        cell = result.cell
        by_cell[cell] = merge(by_cell[cell], result) if cell in by_cell else result
    return list(by_cell.values())
