"""The board server: the page of every project, its badges, and the HTTP API.

``trellis-board serve --store board.sqlite`` starts it; `make_app` is the ASGI application, for any
other server.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated

import anyio.to_thread
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from fastapi.security import HTTPAuthorizationCredentials
from fastapi.security.utils import get_authorization_scheme_param
from sqlalchemy import Connection, select
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Scope

from . import __version__, schema
from .api import Access, ProjectName, api_router
from .badges import all_badges
from .feed import atom_feed, recent_regressions
from .front_page import front_page, project_lines
from .kept import Kept
from .limits import AnswerHead, BodyLimit, RateLimit, Refused, SafeHeaders
from .migrations import version_of
from .page_data import document
from .queries import UnknownNameError, find_project, project_names
from .questions import QuestionError, Row
from .ready import Ready
from .rows import Joint, board_rows, joint_score
from .static_page import page_files
from .store import Store, StoreError

__all__ = ["make_app"]

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_MOST_CACHED = 64
_MOST_PROJECTS = 1000  # whose joint score, two numbers, is remembered
_MOST_CACHED_BYTES = 256_000_000
_LARGE = 1_000_000
_POSTED = re.compile(r"/api/v1/projects/([^/]+)/parts")


def make_app(
    store: Store,
    *,
    read_openly: bool = True,
    most_bytes: int = 64_000_000,
    requests_per_minute: int = 600,
    patience: float = 10.0,
    prepare: bool = False,
) -> FastAPI:
    """The application that serves `store`; a posted body may take its time for `patience`
    seconds. With `prepare`, the pages of large boards are made before somebody opens them."""
    app = FastAPI(
        title="Conformance board",
        version="1",
        description="Which behaviour works on which backend. Post parts of runs, read cells.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # both would load scripts from elsewhere
        redoc_url=None,
    )
    access = Access(store, read_openly)
    cache, kept = _Cache(), Kept(board_rows)

    def read_joint(connection: Connection, id: int, branch: str | None) -> Joint:
        return joint_score(kept(connection, id, branch))

    joint = Kept(read_joint, _MOST_PROJECTS)

    def make(project: str) -> None:
        with store.reading() as connection:
            id = find_project(connection, project)

            def overview() -> dict[str, bytes]:
                return _document(connection, id, project, "overview")

            cache.get(connection, id, "data/overview", overview)
            joint(connection, id)
            for row in kept(connection, id):
                _ = row.words, row.names  # the first question would wait for all of them

    ready = Ready(make)
    app.include_router(
        api_router(store, access, kept, ready.soon if prepare else lambda project: None)
    )
    _add_pages(app, store, access, cache, kept, joint)
    if prepare:
        with store.reading() as connection:
            for project in project_names(connection):
                ready.soon(project)
    app.add_exception_handler(RequestValidationError, _invalid)
    # The last one added is the outermost.
    check = _body_check(access)
    app.add_middleware(BodyLimit, most_bytes=most_bytes, check=check, patience=patience)
    # An answer may be a whole board: level 5 takes twice the time for a tenth less.
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)
    app.add_middleware(RateLimit, per_minute=requests_per_minute)
    app.add_middleware(AnswerHead)
    app.add_middleware(SafeHeaders)
    return app


def _body_check(access: Access) -> Callable[[Scope], Awaitable[bool]]:
    """Whether a request may have a body: only a posted part has one, and only from its project."""

    async def check(scope: Scope) -> bool:
        posted = _POSTED.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
        if scope["method"] != "POST" or not posted:
            return False
        headers = {key.decode("latin-1"): value for key, value in scope["headers"]}
        bearer = _bearer(headers.get("authorization", b"").decode("latin-1"))
        try:
            await anyio.to_thread.run_sync(access.may_write, posted.group(1), bearer)
        except HTTPException as error:
            raise Refused(error.status_code, error.detail, dict(error.headers or {})) from error
        return True

    return check


class _Cache:
    """What was made for a project, as long as its revision stays the same.

    The page of a large board has 20 MB: of all that is kept, what was asked for longest ago goes
    when it is too much. An older revision of anything goes at once.
    """

    def __init__(self, most_bytes: int = _MOST_CACHED_BYTES) -> None:
        self._kept: OrderedDict[tuple[int, str], tuple[int, Mapping[str, bytes]]] = OrderedDict()
        self._bytes = 0
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        # Two that ask for the same page at once must not make it twice; others need not wait.
        self._making = [threading.Lock() for _ in range(16)]

    def get(
        self,
        connection: Connection,
        project: int,
        kind: str,
        make: Callable[[], Mapping[str, bytes]],
    ) -> Mapping[str, bytes]:
        table, key = schema.project, (project, kind)
        query = select(table.c.revision).where(table.c.id == project)
        with self._making[hash(key) % len(self._making)]:
            revision: int = connection.execute(query).scalar_one()
            with self._lock:
                if key in self._kept and self._kept[key][0] == revision:
                    self._kept.move_to_end(key)
                    return self._kept[key][1]
            made = make()
            with self._lock:
                self._forget(key)
                self._kept[key] = revision, made
                self._bytes += _size(made)
                while self._kept and (
                    self._bytes > self._most_bytes or len(self._kept) > _MOST_CACHED
                ):
                    self._forget(next(iter(self._kept)))
            return made

    def _forget(self, key: tuple[int, str]) -> None:
        if key in self._kept:
            self._bytes -= _size(self._kept.pop(key)[1])


def _size(made: Mapping[str, bytes]) -> int:
    return sum(map(len, made.values()))


def _document(connection: Connection, id: int, project: str, name: str) -> dict[str, bytes]:
    """A document of the page; a large one packed too, which is not done for each who asks."""
    content = json.dumps(document(connection, id, project, name), separators=(",", ":")).encode()
    if len(content) < _LARGE:
        return {name: content}
    return {name: content, f"{name}.gz": gzip.compress(content, 5, mtime=0)}


def _add_pages(
    app: FastAPI,
    store: Store,
    access: Access,
    cache: _Cache,
    kept: Kept[list[Row]],
    joint: Kept[Joint],
) -> None:
    files, broken = page_files(), Kept(recent_regressions)

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        lines = []
        if access.read_openly:
            with store.reading() as connection:
                lines = project_lines(connection, read_joint=joint)
        if len(lines) == 1:
            return RedirectResponse(f"p/{lines[0].name}/")
        return HTMLResponse(front_page(lines))

    @app.get("/front.css", include_in_schema=False)
    def style() -> Response:
        return Response(files["front.css"], media_type=_TYPES["css"])

    @app.get("/health", include_in_schema=False)
    def health() -> Response:
        """For those who watch a server: 200 if the store answers, 503 if it does not."""
        try:
            with store.reading() as connection:
                version = version_of(connection)
        except StoreError as error:
            return JSONResponse({"status": "no store", "detail": str(error)[:200]}, 503)
        return JSONResponse({"status": "ok", "schema": version, "version": __version__})

    @app.get("/p/{project}", include_in_schema=False)
    def without_slash(project: ProjectName) -> Response:
        return RedirectResponse(f"{project}/")

    # The page itself holds no data, so it is open to all; its documents are not.
    @app.get("/p/{project}/", include_in_schema=False)
    def page(project: ProjectName) -> Response:
        return Response(files["index.html"], media_type=_TYPES["html"])

    @app.get("/p/{project}/data/{name}.json", include_in_schema=False)
    def data(project: ProjectName, name: str, request: Request) -> Response:
        def make(connection: Connection, id: int) -> dict[str, bytes]:
            return _document(connection, id, project, name)

        return answer(request, project, "application/json", f"data/{name}", name, make)

    @app.get("/p/{project}/badges/{name}", include_in_schema=False)
    def badge(project: ProjectName, name: str, request: Request) -> Response:
        def make(connection: Connection, id: int) -> dict[str, bytes]:
            badges = all_badges(connection, id, project)
            return {file: svg.encode() for file, svg in badges.items()}

        return answer(request, project, _TYPES["svg"], "badges", name, make)

    @app.get("/p/{project}/feed.xml", include_in_schema=False)
    def feed(
        project: ProjectName, request: Request, q: Annotated[str, Query(max_length=1000)] = ""
    ) -> Response:
        def make(connection: Connection, id: int) -> dict[str, bytes]:
            return {"feed.xml": atom_feed(connection, id, project, q, broken, kept).encode()}

        # Strangers can think of any number of questions: their answers are not cached.
        kind = None if q else "feed"
        try:
            return answer(request, project, "application/atom+xml", kind, "feed.xml", make)
        except QuestionError as error:
            raise HTTPException(400, str(error)) from error

    @app.get("/p/{project}/{file}", include_in_schema=False)
    def page_file(project: ProjectName, file: str) -> Response:
        # A look-up in a dictionary: no name can lead to another file.
        if file not in files:
            raise HTTPException(404, "no such file")
        return Response(files[file], media_type=_TYPES[file.rpartition(".")[2]])

    def answer(
        request: Request,
        project: str,
        media_type: str,
        kind: str | None,
        name: str,
        make: Callable[[Connection, int], Mapping[str, bytes]],
    ) -> Response:
        access.may_read(project, _bearer(request.headers.get("authorization")))
        try:
            with store.reading() as connection:
                id = find_project(connection, project)
                if kind is None:
                    made = make(connection, id)
                else:
                    made = cache.get(connection, id, kind, lambda: make(connection, id))
        except UnknownNameError as error:
            raise HTTPException(404, str(error)) from error
        if name not in made:
            raise HTTPException(404, f"no {name!r} here")
        is_packed = f"{name}.gz" in made and "gzip" in request.headers.get("accept-encoding", "")
        content = made[f"{name}.gz" if is_packed else name]
        tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if is_packed:
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)


def _bearer(header: str | None) -> HTTPAuthorizationCredentials | None:
    scheme, value = get_authorization_scheme_param(header)
    if scheme.lower() != "bearer" or not value:
        return None
    return HTTPAuthorizationCredentials(scheme=scheme, credentials=value)


def _invalid(_request: Request, error: Exception) -> Response:
    """What was wrong with a request, without repeating its content, which may be anything."""
    assert isinstance(error, RequestValidationError)
    problems = [
        {
            "type": each["type"],
            # A key that nobody knows is content too.
            "loc": [step[:100] if isinstance(step, str) else step for step in each["loc"]],
            "msg": each["msg"][:1000],
        }
        for each in error.errors()[:20]
    ]
    return Response(json.dumps({"detail": problems}), 422, media_type="application/json")
