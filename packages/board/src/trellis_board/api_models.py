"""What the HTTP API takes and gives, with its limits: the source of the OpenAPI description."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    model_validator,
)
from pydantic_core import from_json

from .clean import LINK, MESSAGE, NAME, SHORT, TIME
from .outcomes import OUTCOMES
from .records import Part

__all__ = [
    "CellOut",
    "ChangeOut",
    "DiffOut",
    "NotReadableError",
    "PartIn",
    "Problem",
    "Recorded",
    "RowOut",
    "RunOut",
    "ScoreOut",
    "part_schema",
    "read_part",
]

_MOST_RESULTS = 200_000
_MOST_VERSIONS = 200
# Ten values a result, and then some; what is packed well has many more, and all in memory.
_MOST_VALUES = 15 * _MOST_RESULTS
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


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


def _few_keys(value: object) -> object:
    """Refuse a long table as a whole: each of its entries would be an error of its own."""
    if isinstance(value, dict) and len(value) > _MOST_VERSIONS:
        raise ValueError(f"{len(value)} entries; expected {_MOST_VERSIONS} at most")
    return value


_Storable = AfterValidator(_storable)
_TEXT = r"^[^\x00]*$"  # PostgreSQL takes no NUL
Name = Annotated[str, Field(min_length=1, max_length=NAME, pattern=_TEXT), _Storable]
ShortName = Annotated[str, Field(min_length=1, max_length=SHORT, pattern=_TEXT), _Storable]
Short = Annotated[str, Field(max_length=SHORT, pattern=_TEXT), _Storable]
Message = Annotated[str, Field(max_length=MESSAGE, pattern=_TEXT), _Storable]
# ASCII without quotes and angles: other languages disagree with Python about what a space is.
Link = Annotated[str, Field(max_length=LINK, pattern=r"^https?://[!#-;=?-~]+$")]
_Number = BeforeValidator(_number)
_FewKeys = BeforeValidator(_few_keys)
Time = Annotated[float, Field(ge=0, le=TIME, allow_inf_nan=False), _Number]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False), _Number]
Count = Annotated[int, Field(ge=0, le=2**31 - 1), _Number]
OutcomeName = Literal["success", "skipped", "xfailed", "hollow", "died", "failure", "error"]
assert OutcomeName.__args__ == tuple(OUTCOMES)  # type: ignore[attr-defined]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _no_more_keys_than_fields(cls, value: Any) -> Any:
        # Each unknown key would be an error of its own, and a body has room for millions.
        if isinstance(value, dict) and len(value) > len(cls.model_fields):
            raise ValueError(f"{len(value)} keys; expected some of {', '.join(cls.model_fields)}")
        return value


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
    backends: Annotated[list[Short], Field(max_length=1000), FailFast()] = []


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
    versions: Annotated[dict[Short, Short], Field(max_length=_MOST_VERSIONS), _FewKeys] = {}
    # The first entry that does not fit is enough to refuse all.
    results: Annotated[list[ResultIn], Field(max_length=_MOST_RESULTS), FailFast()] = []
    broken: Annotated[list[BrokenModuleIn], Field(max_length=1000), FailFast()] = []

    def to_part(self) -> Part:
        """The record this describes."""
        return Part.from_json(self.model_dump())


class NotReadableError(ValueError):
    """A body that is no JSON, or has more values than a part can."""


def read_part(body: bytes) -> PartIn:
    """The part in a posted body; this can take a second, so it has no place in an event loop."""
    values = _TEXTS.sub(b"", body)
    if sum(map(values.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise NotReadableError(f"the body has more than {_MOST_VALUES} values; send smaller parts")
    try:
        document = from_json(body)
    except ValueError as error:
        raise NotReadableError(f"the body is not JSON: {error}") from error
    return PartIn.model_validate(document)


def part_schema() -> dict[str, Any]:
    """What `read_part` takes, as a JSON schema without references."""
    schema = PartIn.model_json_schema()
    definitions = schema.pop("$defs")

    def whole(value: Any) -> Any:
        if isinstance(value, list):
            return [whole(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return whole(definitions[value["$ref"].rpartition("/")[2]])
        return {key: whole(each) for key, each in value.items()}

    return {key: whole(value) for key, value in schema.items()}


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


class RowOut(BaseModel):
    """One row of a board, and the outcomes of its cells."""

    module: str
    test: str
    group: str | None
    cells: dict[str, OutcomeName]
    never: list[str]


class ScoreOut(BaseModel):
    """Rows that are green on all backends, out of those that ran on two or more."""

    green: int
    of: int
    target: float | None
    broken: list[str]
    """Modules that could not be imported: none of their tests is counted, or all are red."""


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
