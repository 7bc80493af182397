"""The HTTP API: who may do what, limits, and nothing but data in its answers."""

from __future__ import annotations

import gzip
import json
import threading
import time

import pytest
import uvicorn
from starlette.testclient import TestClient

from trellis_board.client import Client
from trellis_board.recording import project_id
from trellis_board.server import make_app
from trellis_board.tokens import create_token, list_tokens, revoke_token

from .helpers import count, free_port, latest_cells, make_part, outcomes

URL = "/api/v1/projects/mine/parts"


def token_for(store, project="mine", scope="write"):
    with store.writing() as connection:
        return create_token(connection, project_id(connection, project), scope)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def body(**cells):
    return make_part(**cells).to_json()


@pytest.fixture
def client(store):
    return TestClient(make_app(store), raise_server_exceptions=False)


def test_a_part_is_recorded(store, client):
    answer = client.post(URL, json=body(tanh__numpy="success"), headers=bearer(token_for(store)))
    assert answer.status_code == 201
    assert answer.json() == {"run": "1", "shard": "a", "cells": 1}
    assert outcomes(store) == {("test_tanh", "numpy"): "success"}


def test_tokens_that_do_not_count_change_nothing(store, client):
    revoked = token_for(store)
    with store.writing() as connection:
        revoke_token(connection, list_tokens(connection)[-1].id)
    refused = {
        "missing": ({}, 401),
        "wrong": (bearer("board_wrong"), 401),
        "not bearer": ({"Authorization": "Basic board"}, 401),
        "revoked": (bearer(revoked), 401),
        "foreign": (bearer(token_for(store, project="other")), 403),
        "read only": (bearer(token_for(store, scope="read")), 403),
    }
    before = count(store)
    for name, (headers, status) in refused.items():
        answer = client.post(URL, json=body(tanh__numpy="success"), headers=headers)
        assert answer.status_code == status, name
    assert count(store) == before


@pytest.mark.parametrize(
    "change",
    [
        {"run": ""},
        {"run": None},
        {"started": "soon"},
        {"started": -1},
        {"extra": 1},
        {"link": "javascript:alert(1)"},
        {"results": [{"module": "m", "test": "t", "backend": "b", "outcome": "green"}]},
        {"results": [{"module": "m", "test": "t\x00", "backend": "b", "outcome": "success"}]},
        {"results": [{"module": "m", "test": "\ud800", "backend": "b", "outcome": "success"}]},
        {"results": [{"module": "m", "test": "t" * 1001, "backend": "b", "outcome": "success"}]},
    ],
)
def test_a_body_that_does_not_fit_is_refused_whole(store, client, change):
    content = json.dumps({**body(tanh__numpy="success"), **change})
    headers = {**bearer(token_for(store)), "Content-Type": "application/json"}
    answer = client.post(URL, content=content, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert count(store).runs == 0


def test_the_commit_of_a_run_cannot_change(store, client):
    headers = bearer(token_for(store))
    assert client.post(URL, json={**body(), "commit": "aaaa"}, headers=headers).status_code == 201
    answer = client.post(URL, json={**body(), "commit": "bbbb", "shard": "b"}, headers=headers)
    assert answer.status_code == 409
    assert "belongs to commit aaaa" in answer.json()["detail"]


def test_bodies_have_a_size_limit_packed_and_unpacked(store):
    client = TestClient(make_app(store, most_bytes=5000))
    headers = bearer(token_for(store))
    large = json.dumps({**body(), "python": " " * 6000}).encode()
    assert client.post(URL, content=large, headers=headers).status_code == 413
    packed = gzip.compress(large)
    assert len(packed) < 5000
    zipped = {**headers, "Content-Encoding": "gzip"}
    assert client.post(URL, content=packed, headers=zipped).status_code == 413
    assert client.post(URL, content=b"no gzip", headers=zipped).status_code == 400
    assert client.post(URL, content=packed[:40], headers=zipped).status_code == 400
    assert count(store).runs == 0


def test_requests_have_a_rate_limit(store):
    client = TestClient(make_app(store, requests_per_minute=5))
    codes = [client.get("/api/v1/projects").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    assert int(client.get("/api/v1/projects").headers["retry-after"]) > 0


def test_reading_openly(store, client):
    store.for_project("mine").record(make_part("1", tanh__numpy="success", tanh__torch="success"))
    store.for_project("mine").record(
        make_part("2", started=2000, tanh__numpy="success", tanh__torch="failure")
    )
    assert client.get("/api/v1/projects").json() == ["mine"]
    base = "/api/v1/projects/mine"
    assert [run["name"] for run in client.get(f"{base}/runs").json()] == ["2", "1"]
    (cell,) = client.get(f"{base}/cells", params={"outcome": "failure"}).json()
    assert (cell["test"], cell["backend"], cell["run"]) == ("test_tanh", "torch", "2")
    where = {"module": "ops", "test": "test_tanh", "backend": "torch"}
    past = client.get(f"{base}/history", params=where).json()
    assert [result["outcome"] for result in past] == ["failure", "success"]
    found = client.get(f"{base}/diff", params={"base": "1"}).json()
    assert found["regressions"] == 1
    assert client.get(f"{base}/diff", params={"base": "HEAD"}).status_code == 404
    assert client.get("/api/v1/projects/none/cells").status_code == 404


def test_reading_with_a_token(store):
    store.for_project("mine").record(make_part("1", tanh__numpy="success"))
    store.for_project("other").record(make_part("1", tanh__numpy="success"))
    client = TestClient(make_app(store, read_openly=False))
    mine = bearer(token_for(store, scope="read"))
    for path in (
        "/api/v1/projects/mine/cells",
        "/p/mine/data/overview.json",
        "/p/mine/badges/all.svg",
    ):
        assert client.get(path).status_code == 401
        assert client.get(path, headers=mine).status_code == 200
        assert client.get(path.replace("mine", "other"), headers=mine).status_code == 403
    assert client.get("/api/v1/projects", headers=mine).json() == ["mine"]
    assert client.get("/api/v1/projects").status_code == 401
    assert client.get("/p/mine/").status_code == 200, "the page itself holds no data"
    assert "mine" not in client.get("/").text


def test_the_page_and_its_files(store, client):
    store.for_project("mine").record(make_part("1", tanh__numpy="success"))
    assert client.get("/").url.path == "/p/mine/"
    page = client.get("/p/mine/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for name in ("board.css", "app.js", "model.js", "mark.svg"):
        assert client.get(f"/p/mine/{name}").status_code == 200
    overview = client.get("/p/mine/data/overview.json")
    assert overview.json()["project"] == "mine"
    again = client.get(
        "/p/mine/data/overview.json", headers={"If-None-Match": overview.headers["etag"]}
    )
    assert again.status_code == 304
    store.for_project("mine").record(make_part("2", tanh__numpy="failure"))
    assert len(client.get("/p/mine/data/overview.json").json()["runs"]) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/p/mine/../../etc/passwd",
        "/p/mine/..%2f..%2fserver.py",
        "/p/mine/data/..%2f..%2fboard.json",
        "/p/mine/data/history-999999.json",
        "/p/mine/data/run-99999999999999999999.json",
        "/p/mine/badges/..%2fall.svg",
        "/p/mine/__init__.py",
    ],
)
def test_no_path_leads_anywhere_else(store, client, path):
    store.for_project("mine").record(make_part("1", tanh__numpy="success"))
    assert client.get(path).status_code in (404, 422)


def test_names_are_escaped_in_badges(store, client):
    part = make_part("1")
    part.results = [*make_part(tanh__numpy="success").results]
    part.results[0].module = part.results[0].backend = "<script>alert(1)</script>"
    store.for_project("mine").record(part)
    svg = client.get("/p/mine/badges/backend.script.alert.1...script.svg")
    assert svg.status_code == 200
    assert "<script>" not in svg.text


def test_the_plugins_client_over_a_real_socket(store):
    port = free_port()
    config = uvicorn.Config(make_app(store), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        address = f"http://127.0.0.1:{port}/"
        Client(address, "mine", token_for(store)).record(make_part(tanh__numpy="hollow"))
        with pytest.raises(RuntimeError, match=r"the server answered 401: .*valid token"):
            Client(address, "mine", "board_wrong").record(make_part(tanh__numpy="success"))
    finally:
        server.should_exit = True
        thread.join()
    assert latest_cells(store)["test_tanh", "numpy"].outcome == "hollow"
    with pytest.raises(RuntimeError, match="cannot reach"):
        Client(address, "mine", "board_x").record(make_part())
