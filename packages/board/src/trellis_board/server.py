"""The board server: the page of every project, its badges, and the HTTP API.

``trellis-board serve --store board.sqlite`` starts it; `make_app` is the ASGI application, for any
other server.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from html import escape
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.security import HTTPAuthorizationCredentials
from fastapi.security.utils import get_authorization_scheme_param
from sqlalchemy import func, select
from starlette.middleware.gzip import GZipMiddleware

from . import schema
from .api import Access, ProjectName, api_router
from .badges import all_badges
from .limits import BodyLimit, RateLimit, SafeHeaders
from .page_data import document
from .queries import UnknownNameError, find_project, project_names
from .static_page import page_files
from .store import Store

__all__ = ["make_app"]

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_MOST_CACHED = 64


def make_app(
    store: Store,
    *,
    read_openly: bool = True,
    most_bytes: int = 64_000_000,
    requests_per_minute: int = 600,
) -> FastAPI:
    """The application that serves `store`."""
    app = FastAPI(
        title="Conformance board",
        version="1",
        description="Which behaviour works on which backend. Post parts of runs, read cells.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # both would load scripts from elsewhere
        redoc_url=None,
    )
    access = Access(store, read_openly)
    app.include_router(api_router(store, access))
    _add_pages(app, store, access)
    app.add_exception_handler(RequestValidationError, _invalid)
    # The last one added is the outermost.
    app.add_middleware(BodyLimit, most_bytes=most_bytes)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    app.add_middleware(RateLimit, per_minute=requests_per_minute)
    app.add_middleware(SafeHeaders)
    return app


def _add_pages(app: FastAPI, store: Store, access: Access) -> None:
    files = page_files()
    cache: OrderedDict[tuple[object, ...], bytes] = OrderedDict()

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        names: list[str] = []
        if access.read_openly:
            with store.reading() as connection:
                names = list(project_names(connection))
        if len(names) == 1:
            return RedirectResponse(f"p/{names[0]}/")
        links = "".join(f'<li><a href="p/{escape(n)}/">{escape(n)}</a></li>' for n in names)
        hint = f"<ul>{links}</ul>" if links else "<p>Open /p/&lt;project&gt;/ to see a board.</p>"
        return HTMLResponse(f"<!doctype html><title>Boards</title><h1>Boards</h1>{hint}")

    @app.get("/p/{project}", include_in_schema=False)
    def without_slash(project: ProjectName) -> Response:
        return RedirectResponse(f"{project}/")

    # The page itself holds no data, so it is open to all; its documents are not.
    @app.get("/p/{project}/", include_in_schema=False)
    def page(project: ProjectName) -> Response:
        return Response(files["index.html"], media_type=_TYPES["html"])

    @app.get("/p/{project}/data/{name}.json", include_in_schema=False)
    def data(project: ProjectName, name: str, request: Request) -> Response:
        return answer(request, project, "application/json", f"data/{name}", _document(name))

    @app.get("/p/{project}/badges/{name}", include_in_schema=False)
    def badge(project: ProjectName, name: str, request: Request) -> Response:
        return answer(request, project, _TYPES["svg"], f"badges/{name}", _badge(name))

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
        name: str,
        make: Callable[[Any, int, str], bytes],
    ) -> Response:
        access.may_read(project, _bearer(request))
        try:
            with store.reading() as connection:
                id = find_project(connection, project)
                state = connection.execute(
                    select(func.count(schema.part.c.id), func.max(schema.part.c.id))
                    .join(schema.run, schema.run.c.id == schema.part.c.run_id)
                    .where(schema.run.c.project_id == id)
                ).one()
                key = (project, name, *state)
                content = cache.get(key) or make(connection, id, project)
                cache[key] = content
        except UnknownNameError as error:
            raise HTTPException(404, str(error)) from error
        if len(cache) > _MOST_CACHED:
            cache.popitem(last=False)
        tag = f'"{state[0]}-{state[1]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)


def _document(name: str) -> Callable[[Any, int, str], bytes]:
    def make(connection: Any, project: int, project_name: str) -> bytes:
        found = document(connection, project, project_name, name)
        return json.dumps(found, separators=(",", ":")).encode()

    return make


def _badge(name: str) -> Callable[[Any, int, str], bytes]:
    def make(connection: Any, project: int, project_name: str) -> bytes:
        found = all_badges(connection, project, project_name).get(name)
        if found is None:
            raise UnknownNameError(f"no badge {name!r}")
        return found.encode()

    return make


def _bearer(request: Request) -> HTTPAuthorizationCredentials | None:
    scheme, value = get_authorization_scheme_param(request.headers.get("authorization"))
    if scheme.lower() != "bearer" or not value:
        return None
    return HTTPAuthorizationCredentials(scheme=scheme, credentials=value)


def _invalid(_request: Request, error: Exception) -> Response:
    """What was wrong with a request, without repeating its content, which may be anything."""
    assert isinstance(error, RequestValidationError)
    problems = [{key: e[key] for key in ("type", "loc", "msg")} for e in error.errors()[:20]]
    return Response(json.dumps({"detail": problems}), 422, media_type="application/json")
