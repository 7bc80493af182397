"""The HTTP API: who may do what, limits, and nothing but data in its answers."""

from __future__ import annotations

import gzip
import json
import random
import socket
import threading
import time

import pytest
import uvicorn
from sqlalchemy import text
from starlette.testclient import TestClient

import trellis_board.api as api_module
import trellis_board.server as server_module
from trellis_board.client import Client
from trellis_board.commands import main
from trellis_board.queries import UnknownNameError, find_project
from trellis_board.ready import Ready
from trellis_board.recording import project_id
from trellis_board.records import BrokenModule, Result
from trellis_board.server import make_app
from trellis_board.settings import save
from trellis_board.store import Store
from trellis_board.tokens import create_token, list_tokens, revoke_token

from .helpers import EVIL, count, free_port, latest_cells, make_part, outcomes

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
        {"started": True},
        {"started": "12"},
        {"extra": 1},
        {"link": "javascript:alert(1)"},
        {"results": [{"module": "m", "test": "t", "backend": "b", "outcome": "green"}]},
        {"results": [{"module": "m", "test": "t\x00", "backend": "b", "outcome": "success"}]},
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


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 10_000, b"1" * 10_000, b'{"run": "\\ud800"}']
)
def test_a_body_that_is_no_json_is_refused(store, client, content):
    answer = client.post(URL, content=content, headers=bearer(token_for(store)))
    assert answer.status_code == 400
    assert "not JSON" in answer.json()["detail"]


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


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:0:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("testclient", "another", False),
    ],
)
def test_a_network_of_ipv6_is_one_client(store, one, other, shared):
    app = make_app(store, requests_per_minute=3)
    few = [TestClient(app, client=(address, 1)) for address in (one, other)]
    for _ in range(3):
        assert few[0].get("/health").status_code == 200
    assert few[0].get("/health").status_code == 429
    assert few[1].get("/health").status_code == (429 if shared else 200)


def test_few_large_answers_are_made_at_a_time(store, client, monkeypatch):
    store.for_project("mine").record(make_part("1", tanh__numpy="success"))
    monkeypatch.setattr(api_module, "_PATIENCE", 0.01)
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slow(*arguments):
        begun.release()
        assert go_on.wait(30)
        return latest(*arguments)

    latest = api_module.latest
    monkeypatch.setattr(api_module, "latest", slow)
    url, codes = "/api/v1/projects/mine/cells", []
    asking = [
        threading.Thread(target=lambda: codes.append(client.get(url).status_code)) for _ in range(2)
    ]
    for thread in asking:
        thread.start()
    for _ in asking:
        assert begun.acquire(timeout=30)
    refused = client.get(url)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    assert client.get("/api/v1/projects/mine/rows").status_code == 200
    go_on.set()
    for thread in asking:
        thread.join()
    assert codes == [200, 200]
    assert client.get(url).status_code == 200


def test_what_is_kept_for_pages_has_a_limit(store):
    store.for_project("mine").record(make_part("1", tanh__numpy="success"))
    cache = server_module._Cache(most_bytes=100)
    made = []
    with store.reading() as connection:
        project = find_project(connection, "mine")

        def ask(kind, size):
            def make():
                made.append(kind)
                return {kind: b"x" * size}

            return len(cache.get(connection, project, kind, make)[kind])

        for kind, size in (("a", 40), ("b", 40), ("a", 40), ("c", 40), ("a", 40)):
            assert ask(kind, size) == size
        assert made == ["a", "b", "c"]
        ask("b", 40)
        assert made == ["a", "b", "c", "b"], "it was asked for longest ago"
        assert ask("huge", 1000) == 1000
        assert ask("huge", 1000) == 1000, "what is too large is made each time"
    store.for_project("mine").record(make_part("2", started=2000, tanh__numpy="success"))
    with store.reading() as connection:
        ask("a", 40)
        ask("a", 40)
    store.for_project("mine").record(make_part("3", started=3000, tanh__numpy="success"))
    with store.reading() as connection:
        ask("a", 40)
    assert len(cache._kept) == 1, "of one page the newest revision alone"
    assert cache._bytes == 40


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


@pytest.mark.parametrize(("status", "kept"), [(503, True), (429, True), (401, False), (0, True)])
def test_what_a_server_cannot_take_is_kept_for_the_next_run(
    run_pytest, sample, store, answering, status, kept
):
    port = free_port()
    address = answering(status)[0] if status else f"http://127.0.0.1:{port}"
    words = ("-p", "cacheprovider", "--board-project=mine", "test_cells.py", "-k", "by_assert")
    token = {"BOARD_TOKEN": token_for(store), "BOARD_RUN_ID": "7"}
    done = run_pytest(f"--board={address}", *words, **token)
    assert done.returncode == 1
    assert "NOTHING WAS RECORDED" in done.stdout
    journals = [*sample.glob(".pytest_cache/**/*.jsonl")]
    assert bool(journals) == kept, done.stdout
    assert ("board: kept for the next run in" in done.stdout) == kept
    if status:
        return
    told = str(journals[0])
    config = uvicorn.Config(make_app(store), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        done = run_pytest(f"--board={address}", *words, **{**token, "BOARD_RUN_ID": "8"})
    finally:
        server.should_exit = True
        thread.join()
    assert "board: run 7 was kept: recorded" in done.stdout, told
    assert count(store).runs == 2
    assert not [*sample.glob(".pytest_cache/**/*.jsonl")]


@pytest.fixture
def served(store):
    """A server on a real socket, with little patience; its port."""
    port = free_port()
    app = make_app(store, patience=0.5)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield port
    server.should_exit = True
    thread.join()


def begin_post(port, length, token=None, project="mine"):
    """The headers of a post whose body does not come."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    lines = [
        f"POST /api/v1/projects/{project}/parts HTTP/1.1",
        "Host: board",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *([f"Authorization: Bearer {token}"] if token else []),
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def read_all(connection):
    """The whole answer: it ends because the server closes the connection."""
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_a_token_is_asked_for_before_the_body_is_read(store, served):
    foreign = token_for(store, project="other")
    for token, status in ((None, 401), ("board_wrong", 401), (foreign, 403)):
        # Not one byte of the body is sent, so an answer can only come from the headers.
        answer = read_all(begin_post(served, 50_000_000, token))
        assert answer.startswith(f"HTTP/1.1 {status} ")
        assert "connection: close" in answer
    refused = begin_post(served, 50_000_000)
    with refused, pytest.raises(OSError, match=r"Broken pipe|reset"):
        refused.sendall(b" " * 50_000_000)


def test_half_a_body_does_not_wait_forever(store, served):
    token = token_for(store)
    waiting = [begin_post(served, 1000, token) for _ in range(20)]
    for connection in waiting[10:]:
        connection.sendall(b'{"run": ')
    for connection in waiting:
        answer = read_all(connection)
        assert answer.startswith("HTTP/1.1 408 ")
        assert "came to a halt" in answer
    assert count(store).runs == 0


def test_only_a_posted_part_has_a_body(store, client):
    for method, path in (("POST", "/p/mine/"), ("PUT", URL), ("POST", "/nowhere")):
        answer = client.request(method, path, content=b"x" * 1000)
        assert answer.status_code in (404, 405)


def test_all_badges_are_made_at_once_and_kept(store, client, monkeypatch):
    store.for_project("mine").record(make_part("1", tanh__numpy="success", tanh__torch="success"))
    made = []
    real = server_module.all_badges
    monkeypatch.setattr(server_module, "all_badges", lambda *rest: made.append(rest) or real(*rest))
    for _ in range(2):
        for name in ("all", "backend.numpy", "backend.torch", "module.ops"):
            assert client.get(f"/p/mine/badges/{name}.svg").status_code == 200
    assert client.get("/p/mine/badges/none.svg").status_code == 404
    assert len(made) == 1
    # The same shard again: same number of parts, and SQLite uses the row ids again.
    store.for_project("mine").record(make_part("1", tanh__numpy="failure"))
    assert "0 / 1" in client.get("/p/mine/badges/all.svg").text
    assert len(made) == 2


def test_an_open_board_asks_readers_for_no_token(store):
    def protected(read_openly):
        paths = make_app(store, read_openly=read_openly).openapi()["paths"]
        return {
            (method, path)
            for path, methods in paths.items()
            for method, operation in methods.items()
            if operation.get("security")
        }

    post = ("post", "/api/v1/projects/{project}/parts")
    assert protected(read_openly=True) == {post}
    assert post in protected(read_openly=False)
    assert len(protected(read_openly=False)) == 8


def test_other_branches_can_be_read(store, client):
    for run, branch, outcome in (("1", "main", "success"), ("2", "feature", "failure")):
        part = make_part(run, started=float(run), tanh__numpy=outcome)
        part.branch = branch
        store.for_project("mine").record(part)
    base = "/api/v1/projects/mine"

    def outcomes_of(path, **where):
        return [cell["outcome"] for cell in client.get(f"{base}/{path}", params=where).json()]

    cell = {"module": "ops", "test": "test_tanh", "backend": "numpy"}
    assert outcomes_of("cells") == outcomes_of("history", **cell) == ["success"]
    assert outcomes_of("cells", branch="feature") == ["failure"]
    assert outcomes_of("history", branch="feature", **cell) == ["failure"]
    assert outcomes_of("cells", branch="none") == []
    named = [run["name"] for run in client.get(f"{base}/runs", params={"branch": "main"}).json()]
    assert named == ["1"]
    found = client.get(f"{base}/diff", params={"base": "main", "head": "feature"}).json()
    assert found["regressions"] == 1
    assert client.get(f"{base}/diff", params={"base": "main"}).status_code == 404


def test_a_run_of_the_future_is_refused(store, client):
    headers = bearer(token_for(store))
    answer = client.post(URL, json={**body(), "started": 4e9}, headers=headers)
    assert answer.status_code == 409
    assert "in the future" in answer.text
    assert count(store).runs == 0


def test_a_document_belongs_to_its_project(store, client):
    store.for_project("mine").record(make_part("1", tanh__numpy="success"))
    store.for_project("other").record(make_part("1", secret__numpy="success"))
    assert client.get("/p/other/data/run-2.json").status_code == 200
    assert client.get("/p/mine/data/run-2.json").status_code == 404
    assert client.get("/p/mine/data/history-2.json").status_code == 404
    assert client.get("/p/mine/data/overview-2.json").status_code == 404


def test_the_feed_is_served(store, client):
    store.for_project("mine").record(make_part("1", started=1, tanh__numpy="success"))
    store.for_project("mine").record(make_part("2", started=2, tanh__numpy="failure"))
    answer = client.get("/p/mine/feed.xml")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    assert "1 regression in run 2" in answer.text


def test_a_large_part_without_a_right_says_why_it_was_not_taken(store, served):
    part = make_part()
    noise = random.Random(0)
    for number in range(300):  # random, so that it stays large when it is packed
        message = noise.randbytes(15_000).hex()
        part.results.append(Result("m", f"test_{number}", "numpy", "failure", message=message))
    client = Client(f"http://127.0.0.1:{served}", "mine", "board_wrong")
    with pytest.raises(RuntimeError, match=r"answered 401|is BOARD_TOKEN a valid token"):
        client.record(part)
    assert count(store).runs == 0


def test_health_and_head(store, client):
    store.for_project("mine").record(make_part(tanh__numpy="success"))
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    for path in ("/health", "/p/mine/", "/p/mine/data/overview.json", "/api/v1/projects"):
        whole, head = client.get(path), client.head(path)
        assert head.status_code == whole.status_code == 200
        assert head.content == b""
        assert head.headers["content-type"] == whole.headers["content-type"]
    assert client.head("/p/gone/data/overview.json").status_code == 404
    with store.writing() as connection:
        connection.execute(text("DROP TABLE board_schema"))
        connection.execute(text("CREATE VIEW board_schema AS SELECT 1 / 0 AS no_version"))
    assert client.get("/health").status_code == 503


def test_the_front_page_of_an_organisation(store, client, tmp_path):
    store.for_project("one").record(
        make_part("1", started=1.0, tanh__numpy="success", tanh__torch="failure")
    )
    assert client.get("/", follow_redirects=False).headers["location"] == "p/one/"
    store.for_project("two").record(make_part("1", tanh__numpy="success", tanh__torch="success"))
    with store.writing() as connection:
        for name, text_ in (("one", f"title = {json.dumps(EVIL)}"), ("two", "target = 100")):
            save(connection, find_project(connection, name), text_)
    for run, outcome in (("2", "success"), ("3", "success")):
        part = make_part(run, started=float(run), tanh__numpy="success", tanh__torch=outcome)
        store.for_project("one").record(part)
    page = client.get("/").text
    assert EVIL not in page
    assert 'href="p/one/"' in page
    assert "<strong>100%</strong> 1 of 1" in page
    assert '<span class="met">target 100%</span>' in page
    assert "from 0% to 100% in 3 runs" in page
    assert "d ago at c0ffee3" in page
    assert client.get("/front.css").status_code == 200
    out = str(tmp_path / "site")
    assert main(["html", "--all", "--store", store.engine.url.database, "--out", out]) == 0
    written = (tmp_path / "site" / "index.html").read_text()
    assert 'href="p/two/index.html"' in written
    assert (tmp_path / "site" / "p" / "two" / "index.html").exists()
    assert "one" not in client_of_private(store).get("/").text, (
        "names of private boards are not told"
    )


def test_a_score_names_modules_that_could_not_be_imported(store, client):
    part = make_part("1", tanh__numpy="success", tanh__torch="success")
    part.broken = [BrokenModule("tests/test_new", "ImportError")]
    store.for_project("one").record(part)
    expected = {"green": 1, "of": 1, "target": None, "broken": ["tests/test_new"]}
    assert client.get("/api/v1/projects/one/score").json() == expected


def client_of_private(store):
    return TestClient(make_app(store, read_openly=False))


def test_a_server_makes_what_takes_long_before_it_is_asked():
    made = []
    done = threading.Event()

    def make(project):
        made.append(project)
        if project == "last":
            done.set()
        raise UnknownNameError("nobody is there to be told")

    ready = Ready(make, pause=0)
    for project in ("first", "last"):
        ready.soon(project)
    assert done.wait(30)
    assert made == ["first", "last"]
    done.clear()
    ready.soon("last")
    assert done.wait(30), "a thread that had come to its end begins anew"


def test_shards_that_come_after_each_other_are_waited_for():
    made = []
    ready = Ready(made.append, pause=1000)
    for _ in range(5):
        ready.soon("shards")
    ((first, due),) = ready._asked.values()
    assert 1000 <= due - first <= 10_000
    assert made == []


def test_a_large_document_is_packed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "_LARGE", 10)
    store = Store.open(tmp_path / "b.sqlite")
    store.for_project("mine").record(make_part(tanh__numpy="success"))
    client = TestClient(make_app(store, prepare=True))
    path = "/p/mine/data/overview.json"
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    again = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]}
    assert client.get(path, headers=again).status_code == 304
    assert packed.headers["etag"] != plain.headers["etag"]
