"""What the HTTP API takes and gives, with its limits: the source of the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from .outcomes import OUTCOMES
from .records import Part

__all__ = ["CellOut", "ChangeOut", "DiffOut", "PartIn", "Problem", "Recorded", "RunOut"]


def _storable(text: str) -> str:
    """Refuse what a database cannot hold as text, and no description can forbid."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("text must not contain half a surrogate pair") from None
    return text


def _number(value: object) -> object:
    """Refuse what Python would take for a number and the description does not: true, "1.5"."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError("expected a number")
    return value


_Storable = AfterValidator(_storable)
_TEXT = r"^[^\x00]*$"  # PostgreSQL takes no NUL
Name = Annotated[str, Field(min_length=1, max_length=1000, pattern=_TEXT), _Storable]
ShortName = Annotated[str, Field(min_length=1, max_length=200, pattern=_TEXT), _Storable]
Short = Annotated[str, Field(max_length=200, pattern=_TEXT), _Storable]
Message = Annotated[str, Field(max_length=30_000, pattern=_TEXT), _Storable]
# ASCII without quotes and angles: other languages disagree with Python about what a space is.
Link = Annotated[str, Field(max_length=2000, pattern=r"^https?://[!#-;=?-~]+$")]
_Number = BeforeValidator(_number)
Time = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False), _Number]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False), _Number]
Count = Annotated[int, Field(ge=0, le=2**31 - 1), _Number]
OutcomeName = Literal["success", "skipped", "xfailed", "hollow", "failure", "error"]
assert OutcomeName.__args__ == tuple(OUTCOMES)  # type: ignore[attr-defined]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ResultIn(_Strict):
    """What happened to one test on one backend."""

    module: Name
    test: Name
    backend: ShortName
    outcome: OutcomeName
    duration: Seconds | None = None
    comparisons: Count | None = None
    attempts: Annotated[int, Field(ge=1, le=10_000), _Number] = 1
    message: Message = ""
    at: Time | None = None
    link: Link | None = None


class BrokenModuleIn(_Strict):
    """A module that could not be collected."""

    module: Name
    message: Message = ""
    backends: Annotated[list[Short], Field(max_length=1000)] = []


class PartIn(_Strict):
    """One part of a run: recorded whole or not at all."""

    run: ShortName
    shard: Short
    started: Time
    commit: Short | None = None
    branch: Short | None = None
    link: Link | None = None
    python: Short | None = None
    platform: Short | None = None
    versions: Annotated[dict[str, Short], Field(max_length=200)] = {}
    results: Annotated[list[ResultIn], Field(max_length=200_000)] = []
    broken: Annotated[list[BrokenModuleIn], Field(max_length=1000)] = []

    def to_part(self) -> Part:
        """The record this describes."""
        return Part.from_json(self.model_dump())


class Recorded(BaseModel):
    """The answer to a recorded part."""

    run: str
    shard: str
    cells: int


class RunOut(BaseModel):
    """One run."""

    name: str
    commit: str | None
    branch: str | None
    started: float


class CellOut(BaseModel):
    """The latest result of one cell, or one of its history."""

    module: str
    test: str
    backend: str
    outcome: OutcomeName
    duration: float | None
    comparisons: int | None
    attempts: int
    message: str
    at: float
    run: str
    commit: str | None
    link: str | None


class ChangeOut(BaseModel):
    """One cell that differs between two runs."""

    kind: str
    module: str
    test: str
    backend: str
    before: str | None
    after: str | None
    is_regression: bool


class DiffOut(BaseModel):
    """What changed between two runs or commits."""

    base: list[RunOut]
    head: list[RunOut]
    regressions: int
    changes: list[ChangeOut]


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
