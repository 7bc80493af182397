"""The HTTP API: results are posted with a token, and read openly or with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Connection

from .api_models import CellOut, ChangeOut, DiffOut, PartIn, Problem, Recorded, RunOut
from .diff import compare
from .page_data import HISTORY_DEPTH, safe_link
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
from .recording import PROJECT_PATTERN
from .refs import resolve
from .store import Store
from .tokens import TokenInfo, find_token

__all__ = ["Access", "api_router"]

Answer = TypeVar("Answer")
ProjectName = Annotated[str, Path(pattern=f"^{PROJECT_PATTERN}$")]
Filter = Annotated[str | None, Query(max_length=1000)]
Ref = Annotated[str, Query(min_length=1, max_length=200)]
Bearer = Annotated[
    HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, bearerFormat="token"))
]

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "No token, or one that is wrong or revoked"},
    403: {"model": Problem, "description": "A token of another project or without this right"},
    404: {"model": Problem, "description": "No such project, run or commit"},
    429: {"model": Problem, "description": "Too many requests"},
}


class Access:
    """Who may read and write what."""

    def __init__(self, store: Store, read_openly: bool) -> None:
        self._store = store
        self.read_openly = read_openly

    def token(self, bearer: HTTPAuthorizationCredentials | None) -> TokenInfo:
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

    def may_write(self, project: str, bearer: HTTPAuthorizationCredentials | None) -> None:
        """Refuse the request unless its token may write to `project`."""
        token = self.token(bearer)
        if token.project != project or token.scope != "write":
            raise HTTPException(403, f"this token may not write to project {project}")

    def may_read(self, project: str, bearer: HTTPAuthorizationCredentials | None) -> None:
        """Refuse the request unless `project` may be read by everybody or by its token."""
        if not self.read_openly and self.token(bearer).project != project:
            raise HTTPException(403, f"this token may not read project {project}")


def api_router(store: Store, access: Access) -> APIRouter:
    """The routes below ``/api/v1``."""
    router = APIRouter(prefix="/api/v1", responses=_PROBLEMS)

    def read(
        project: str,
        bearer: HTTPAuthorizationCredentials | None,
        answer: Callable[[Connection, int], Answer],
    ) -> Answer:
        access.may_read(project, bearer)
        try:
            with store.reading() as connection:
                return answer(connection, find_project(connection, project))
        except UnknownNameError as error:
            raise HTTPException(404, str(error)) from error

    @router.get("/projects")
    def list_projects(bearer: Bearer) -> list[str]:
        """The projects that may be read."""
        if not access.read_openly:
            return [access.token(bearer).project]
        with store.reading() as connection:
            return list(project_names(connection))

    @router.post(
        "/projects/{project}/parts",
        status_code=201,
        responses={
            400: {"model": Problem, "description": "A body that is no JSON or no gzip"},
            409: {"model": Problem, "description": "The run belongs to another commit"},
            413: {"model": Problem, "description": "Too large"},
        },
    )
    def record_part(project: ProjectName, part: PartIn, bearer: Bearer) -> Recorded:
        """Record one part of a run, whole or not at all; a named shard replaces itself."""
        access.may_write(project, bearer)
        try:
            store.for_project(project).record(part.to_part())
        except ValueError as error:
            raise HTTPException(409, str(error)) from error
        return Recorded(run=part.run, shard=part.shard, cells=len(part.results))

    @router.get("/projects/{project}/runs")
    def list_runs(
        project: ProjectName, bearer: Bearer, limit: Annotated[int, Query(ge=1, le=1000)] = 50
    ) -> list[RunOut]:
        """The runs of a project, newest first."""
        return read(
            project,
            bearer,
            lambda connection, id: [_run_out(run) for run in runs(connection, id, limit)],
        )

    @router.get("/projects/{project}/cells")
    def list_cells(
        project: ProjectName,
        bearer: Bearer,
        module: Filter = None,
        test: Filter = None,
        backend: Filter = None,
        outcome: Filter = None,
    ) -> list[CellOut]:
        """The latest result of every cell that fits the filters."""

        def answer(connection: Connection, id: int) -> list[CellOut]:
            wanted = {"module": module, "test": test, "backend": backend, "outcome": outcome}
            return [
                cell
                for cell in _cells_out(connection, id, latest(connection, id))
                if all(value in (None, getattr(cell, key)) for key, value in wanted.items())
            ]

        return read(project, bearer, answer)

    @router.get("/projects/{project}/history")
    def cell_history(
        project: ProjectName,
        bearer: Bearer,
        module: Annotated[str, Query(max_length=1000)],
        test: Annotated[str, Query(max_length=1000)],
        backend: Annotated[str, Query(max_length=200)],
    ) -> list[CellOut]:
        """The results of one cell, newest first."""

        def answer(connection: Connection, id: int) -> list[CellOut]:
            ids = [
                test_id
                for found in modules(connection, id)
                if found.name == module
                for test_id, name in found.tests.items()
                if name == test
            ]
            results = history(connection, id, ids, HISTORY_DEPTH)
            return [c for c in _cells_out(connection, id, results) if c.backend == backend]

        return read(project, bearer, answer)

    @router.get("/projects/{project}/diff")
    def diff(project: ProjectName, bearer: Bearer, base: Ref, head: Ref = "latest") -> DiffOut:
        """What changed between two runs, commits or branches."""

        def answer(connection: Connection, id: int) -> DiffOut:
            found = compare(
                connection,
                id,
                resolve(connection, id, base, ask_git=False),
                resolve(connection, id, head, ask_git=False),
            )
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


def _run_out(run: RunInfo) -> RunOut:
    return RunOut(name=run.name, commit=run.commit, branch=run.branch, started=run.started)


def _cells_out(
    connection: Connection, project: int, results: Iterable[CellResult]
) -> list[CellOut]:
    names = {t: (m.name, name) for m in modules(connection, project) for t, name in m.tests.items()}
    backends = backend_names(connection, project)
    run_by_id = {run.id: run for run in runs(connection, project)}
    links = {id: part.link for id, part in parts(connection, project).items()}
    return [
        CellOut(
            module=names[c.test_id][0],
            test=names[c.test_id][1],
            backend=backends[c.backend_id],
            outcome=c.outcome,  # type: ignore[arg-type]  # the database holds no other
            duration=c.duration,
            comparisons=c.comparisons,
            attempts=c.attempts,
            message=c.message,
            at=c.at,
            run=run_by_id[c.run_id].name,
            commit=run_by_id[c.run_id].commit,
            link=safe_link(c.link if c.link is not None else links[c.part_id]),
        )
        for c in results
    ]
