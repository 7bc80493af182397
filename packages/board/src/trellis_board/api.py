"""The HTTP API: results are posted with a token, and read openly or with one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import ValidationError
from sqlalchemy import Connection

from .api_models import (
    CellOut,
    ChangeOut,
    DiffOut,
    NotReadableError,
    Problem,
    Recorded,
    RowOut,
    RunOut,
    ScoreOut,
    part_schema,
    read_part,
)
from .branches import board_of
from .broken import broken_modules
from .diff import compare
from .kept import Kept
from .page_data import HISTORY_DEPTH
from .queries import (
    CellResult,
    RunInfo,
    UnknownNameError,
    backend_names,
    find_project,
    history,
    latest,
    modules,
    parts,
    project_names,
    runs,
)
from .questions import QuestionError, Row
from .recording import PROJECT_PATTERN
from .refs import resolve, resolve_base
from .rows import joint_score, matching_rows
from .settings import read_settings
from .store import Store
from .texts import safe_link
from .tokens import TokenInfo, find_token

__all__ = ["Access", "api_router"]

Answer = TypeVar("Answer")
ProjectName = Annotated[str, Path(pattern=f"^{PROJECT_PATTERN}$")]
Filter = Annotated[str | None, Query(max_length=1000)]
Ref = Annotated[str, Query(min_length=1, max_length=200)]
Credentials = HTTPAuthorizationCredentials | None

_MOST_LARGE_ANSWERS = 2
_PATIENCE = 10.0  # seconds until a large answer is refused, because others are being made

_TOKEN = HTTPBearer(auto_error=False, bearerFormat="token", description="board_...")
_BUSY: dict[int | str, dict[str, Any]] = {
    429: {"model": Problem, "description": "Too many requests"},
}
_UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "No such project, run or commit"},
}
_NO_QUESTION: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "A text that is no question"},
}
_NOT_ALLOWED: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "No token, or one that is wrong or revoked"},
    403: {"model": Problem, "description": "A token of another project or without this right"},
}


class Access:
    """Who may read and write what."""

    def __init__(self, store: Store, read_openly: bool) -> None:
        self._store = store
        self.read_openly = read_openly

    def token(self, bearer: Credentials) -> TokenInfo:
        """The token of a request; 401 if it has none that counts."""
        found = None
        if bearer is not None:
            with self._store.reading() as connection:
                found = find_token(connection, bearer.credentials)
        if found is None:
            raise HTTPException(
                401,
                "a valid token is needed: Authorization: Bearer board_...",
                {"WWW-Authenticate": "Bearer"},
            )
        return found

    def may_write(self, project: str, bearer: Credentials) -> None:
        """Refuse the request unless its token may write to `project`."""
        token = self.token(bearer)
        if token.project != project or token.scope != "write":
            raise HTTPException(403, f"this token may not write to project {project}")

    def may_read(self, project: str, bearer: Credentials) -> None:
        """Refuse the request unless `project` may be read by everybody or by its token."""
        if not self.read_openly and self.token(bearer).project != project:
            raise HTTPException(403, f"this token may not read project {project}")


def api_router(
    store: Store, access: Access, kept: Kept[list[Row]], changed: Callable[[str], None]
) -> APIRouter:
    """The routes below ``/api/v1``. Where reading is open, nothing asks a reader for a token.

    `changed` is called with the name of a project that has got a new part.
    """
    router = APIRouter(prefix="/api/v1", responses=_BUSY)
    few = threading.BoundedSemaphore(_MOST_LARGE_ANSWERS)
    write_token = Depends(_TOKEN)
    read_token = Depends(_nobody if access.read_openly else _TOKEN)
    to_read = _UNKNOWN if access.read_openly else _UNKNOWN | _NOT_ALLOWED

    def read(
        project: str,
        bearer: Credentials,
        answer: Callable[[Connection, int], Answer],
    ) -> Answer:
        access.may_read(project, bearer)
        try:
            with store.reading() as connection:
                return answer(connection, find_project(connection, project))
        except UnknownNameError as error:
            raise HTTPException(404, str(error)) from error

    @router.get("/projects", responses={} if access.read_openly else _NOT_ALLOWED)
    def list_projects(bearer: Credentials = read_token) -> list[str]:
        """The projects that may be read."""
        if not access.read_openly:
            return [access.token(bearer).project]
        with store.reading() as connection:
            return list(project_names(connection))

    @router.post(
        "/projects/{project}/parts",
        status_code=201,
        responses=_NOT_ALLOWED
        | {
            400: {"model": Problem, "description": "A body that is no JSON or no gzip"},
            408: {"model": Problem, "description": "The body came to a halt"},
            409: {
                "model": Problem,
                "description": "The run belongs to another commit, or to the future",
            },
            413: {"model": Problem, "description": "Too large"},
        },
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": part_schema()}},
            }
        },
    )
    def record_part(
        project: ProjectName,
        body: Annotated[bytes, Depends(_whole_body)],
        bearer: Credentials = write_token,
    ) -> Recorded:
        """Record one part of a run, whole or not at all; a named shard replaces itself."""
        access.may_write(project, bearer)
        # The body is read here, in a thread: FastAPI would read it where all requests wait.
        try:
            part = read_part(body)
        except NotReadableError as error:
            raise HTTPException(400, str(error)) from error
        except ValidationError as error:
            raise RequestValidationError(
                error.errors(include_input=False, include_url=False, include_context=False)
            ) from error
        try:
            store.for_project(project).record(part.to_part())
        except ValueError as error:
            raise HTTPException(409, str(error)) from error
        changed(project)
        return Recorded(run=part.run, shard=part.shard, cells=len(part.results))

    @router.get("/projects/{project}/runs", responses=to_read)
    def list_runs(
        project: ProjectName,
        branch: Filter = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        bearer: Credentials = read_token,
    ) -> list[RunOut]:
        """The runs of a project, newest first; of all branches or of one."""

        def answer(connection: Connection, id: int) -> list[RunOut]:
            of = None if branch is None else board_of(connection, id, branch)
            return [_run_out(run) for run in runs(connection, id, limit, of)]

        return read(project, bearer, answer)

    @router.get("/projects/{project}/cells", responses=to_read, response_model=list[CellOut])
    def list_cells(
        project: ProjectName,
        module: Filter = None,
        test: Filter = None,
        backend: Filter = None,
        outcome: Filter = None,
        branch: Filter = None,
        bearer: Credentials = read_token,
    ) -> Response:
        """The latest result of every cell that fits the filters, on the default or another
        branch."""
        wanted = {"module": module, "test": test, "backend": backend, "outcome": outcome}
        asked = {key: value for key, value in wanted.items() if value is not None}

        def answer(connection: Connection, id: int) -> str:
            found = latest(connection, id, branch)
            return _as_json(_cells_out(connection, id, found, asked))

        # A large board is a gigabyte while it is answered with.
        if not few.acquire(timeout=_PATIENCE):
            raise HTTPException(
                429,
                "others are asking for all cells; try again later",
                {"Retry-After": "30"},
            )
        try:
            return _plain(read(project, bearer, answer))
        finally:
            few.release()

    @router.get(
        "/projects/{project}/rows", responses=to_read | _NO_QUESTION, response_model=list[RowOut]
    )
    def list_rows(
        project: ProjectName,
        q: Annotated[str, Query(max_length=1000)] = "",
        branch: Filter = None,
        bearer: Credentials = read_token,
    ) -> Response:
        """The rows that a question asks for, such as ``torch:failure and jax:success``."""

        def answer(connection: Connection, id: int) -> bytes:
            return rows_as_json(matching_rows(connection, id, q, branch, kept))

        try:
            return _plain(read(project, bearer, answer))
        except QuestionError as error:
            raise HTTPException(400, str(error)) from error

    @router.get("/projects/{project}/score", responses=to_read)
    def joint(
        project: ProjectName, branch: Filter = None, bearer: Credentials = read_token
    ) -> ScoreOut:
        """The joint score: tests that are green on all backends."""

        def answer(connection: Connection, id: int) -> ScoreOut:
            green, of = joint_score(kept(connection, id, branch))
            target = read_settings(connection, id).target
            broken = broken_modules(connection, id, branch)
            return ScoreOut(green=green, of=of, target=target, broken=broken)

        return read(project, bearer, answer)

    @router.get("/projects/{project}/history", responses=to_read, response_model=list[CellOut])
    def cell_history(
        project: ProjectName,
        module: Annotated[str, Query(max_length=1000)],
        test: Annotated[str, Query(max_length=1000)],
        backend: Annotated[str, Query(max_length=200)],
        branch: Filter = None,
        bearer: Credentials = read_token,
    ) -> Response:
        """The results of one cell, newest first."""

        def answer(connection: Connection, id: int) -> str:
            ids = [
                test_id
                for found in modules(connection, id)
                if found.name == module
                for test_id, name in found.tests.items()
                if name == test
            ]
            results = history(connection, id, ids, HISTORY_DEPTH, branch)
            return _as_json(_cells_out(connection, id, results, {"backend": backend}))

        return _plain(read(project, bearer, answer))

    @router.get("/projects/{project}/diff", responses=to_read)
    def diff(
        project: ProjectName, base: Ref, head: Ref = "latest", bearer: Credentials = read_token
    ) -> DiffOut:
        """What changed between two runs, commits or branches."""

        def answer(connection: Connection, id: int) -> DiffOut:
            after = resolve(connection, id, head, ask_git=False)
            before = resolve_base(connection, id, base, after, ask_git=False)
            found = compare(connection, id, before, after)
            return DiffOut(
                base=[_run_out(run) for run in found.base],
                head=[_run_out(run) for run in found.head],
                regressions=len(found.regressions),
                changes=[
                    ChangeOut(
                        kind=c.kind,
                        module=c.module,
                        test=c.test,
                        backend=c.backend,
                        before=c.before,
                        after=c.after,
                        is_regression=c.is_regression,
                    )
                    for c in found.changes
                ],
            )

        return read(project, bearer, answer)

    return router


async def _whole_body(request: Request) -> bytes:
    return await request.body()


def _nobody() -> None:
    """The token of a reader where none is asked for."""


def _plain(answer: str | bytes) -> Response:
    # Already what the model describes; to check 60,000 cells one by one would take seconds.
    return Response(answer, media_type="application/json")


def _as_json(values: Iterable[dict[str, Any]]) -> str:
    # One by one: a million dicts at a time would take ten times the memory of their text.
    return f"[{','.join(map(_json, values))}]"


def rows_as_json(rows: Iterable[Row]) -> bytes:
    """Rows in the form of `RowOut`. Rows with equal cells share them, so these are written once.

    An answer may have 30 MB: it is joined once, and no copy is made of it.
    """
    known: dict[tuple[int, frozenset[str], str | None], bytes] = {}
    written = [b"["]
    for row in rows:
        key = id(row.cells), row.never, row.group
        rest = known.get(key)
        if rest is None:
            cells = {column: cell.outcome for column, cell in row.cells.items()}
            text = _json({"group": row.group, "cells": cells, "never": sorted(row.never)})
            rest = known[key] = f",{text[1:]},".encode()
        written += row.names, rest
    if len(written) > 1:
        written[-1] = written[-1][:-1]  # the last comma
    written.append(b"]")
    return b"".join(written)


_json = json.JSONEncoder(separators=(",", ":")).encode


def _run_out(run: RunInfo) -> RunOut:
    return RunOut(name=run.name, commit=run.commit, branch=run.branch, started=run.started)


def _cells_out(
    connection: Connection, project: int, results: Iterable[CellResult], asked: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Results in the form of `CellOut`, those whose values are as `asked`."""
    names = {t: (m.name, name) for m in modules(connection, project) for t, name in m.tests.items()}
    backends = backend_names(connection, project)
    run_by_id = {run.id: (run.name, run.commit) for run in runs(connection, project)}
    links = {id: safe_link(part.link) for id, part in parts(connection, project).items()}
    for c in results:
        module, test = names[c.test_id]
        known = {
            "module": module,
            "test": test,
            "backend": backends[c.backend_id],
            "outcome": c.outcome,
        }
        if any(known[key] != value for key, value in asked.items()):
            continue
        run, commit = run_by_id[c.run_id]
        yield {
            **known,
            "duration": c.duration,
            "comparisons": c.comparisons,
            "attempts": c.attempts,
            "message": c.message,
            "at": c.at,
            "run": run,
            "commit": commit,
            "link": safe_link(c.link) if c.link is not None else links[c.part_id],
        }
