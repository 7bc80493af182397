"""What is recorded: a part of a run and its results, as dataclasses and as JSON.

A *run* is one execution of a suite on one commit. It consists of one or more *parts*: one for a
plain `pytest` call, one per shard where a suite is spread over machines. A part is recorded whole
or not at all.

>>> result = Result("test_ops", "test_tanh", "numpy", "success")
>>> part = Part(run="42", shard="", started=0.0, results=[result])
>>> Part.from_json(part.to_json()) == part
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from .outcomes import OUTCOMES, severity, worst

__all__ = ["BrokenModule", "Cell", "Part", "Result", "merge"]

Number = TypeVar("Number", int, float)

Cell = tuple[str, str, str]
"""The names of a module, a test in it, and a backend."""


@dataclass
class Result:
    """What happened to one test on one backend."""

    module: str
    test: str
    backend: str
    outcome: str
    duration: float | None = None
    comparisons: int | None = None
    """How many comparisons were made; None when it is not known, as for imported tables."""
    attempts: int = 1
    message: str = ""
    """Error text, or the reason of a skip, an expected failure or a hollow pass."""
    at: float | None = None
    """When it finished, in seconds since 1970; the part's start if not given."""
    link: str | None = None
    """Where to read about this one result; the part's link if not given."""

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(
                f"outcome {self.outcome!r} of {self.module}::{self.test}; "
                f"expected one of {', '.join(OUTCOMES)}"
            )

    @property
    def cell(self) -> Cell:
        """The cell this result belongs to."""
        return self.module, self.test, self.backend


@dataclass
class BrokenModule:
    """A test module, or a folder of them, that could not be collected.

    Every cell it had becomes an error; where only some backends were tested, their cells.
    """

    module: str
    message: str
    backends: list[str] = field(default_factory=list)
    """Names of columns; all if empty."""


@dataclass
class Part:
    """One recorded part of a run: where, when and with what it ran, and its results."""

    run: str
    shard: str
    started: float
    commit: str | None = None
    branch: str | None = None
    link: str | None = None
    python: str | None = None
    platform: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    broken: list[BrokenModule] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """A form that `json.dumps` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Part:
        """The part that `to_json` was called on."""
        values = dict(document)
        values["results"] = [Result(**result) for result in values.get("results", [])]
        values["broken"] = [BrokenModule(**module) for module in values.get("broken", [])]
        return cls(**values)


def merge(one: Result, other: Result) -> Result:
    """One result for two tests that share a cell: the worst outcome, and the sum of the rest."""
    bad = one if severity(one.outcome) >= severity(other.outcome) else other
    return Result(
        *one.cell,
        outcome=worst([one.outcome, other.outcome]),
        duration=_sum(one.duration, other.duration),
        comparisons=_sum(one.comparisons, other.comparisons),
        attempts=max(one.attempts, other.attempts),
        message=bad.message,
        at=max((at for at in (one.at, other.at) if at is not None), default=None),
        link=bad.link,
    )


def _sum(a: Number | None, b: Number | None) -> Number | None:
    return b if a is None else a if b is None else a + b
