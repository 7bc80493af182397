"""What broke is told: as an issue, to a webhook, with owners."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from trellis_board.commands import main
from trellis_board.queries import find_project
from trellis_board.settings import save
from trellis_board.spans import spans
from trellis_board.store import Store

from .helpers import make_part


@pytest.fixture
def broken(tmp_path):
    """A store whose second run broke one of two cells."""
    path = tmp_path / "board.sqlite"
    store = Store.open(path)
    for run, outcome in (("1", "success"), ("2", "failure")):
        part = make_part(run, started=float(run), tanh__torch=outcome, sin__torch="success")
        store.for_project("p").record(part)
    with store.writing() as connection:
        save(connection, find_project(connection, "p"), 'url = "https://boards.example/p/p/"')
    return str(path)


@pytest.fixture
def hook():
    """A server that keeps what it is sent, and answers as it is told."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(int(self.path.strip("/")))
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    thread.join()
    server.server_close()


def diff(store, *more, base="1", head="2"):
    return main(["diff", "--base", base, "--head", head, "--store", store, *more])


def test_an_issue_has_a_title_and_a_body(broken, capsys):
    assert diff(broken, "--issue") == 1
    title, empty, *body = capsys.readouterr().out.splitlines()
    assert title == "1 regression in p at c0ffee2"
    assert empty == ""
    assert "test&#95;tanh" in "\n".join(body) or "test_tanh" in "\n".join(body)


def test_a_webhook_hears_of_what_broke(broken, hook):
    address, seen = hook
    assert diff(broken, "--webhook", f"{address}/200") == 1
    (sent,) = seen
    assert (sent["project"], sent["regressions"]) == ("p", 1)
    assert sent["link"] == "https://boards.example/p/p/"
    assert [(c["kind"], c["test"]) for c in sent["changes"]] == [("new failure", "test_tanh")]
    assert "1 regression" in sent["text"]
    assert diff(broken, "--webhook", f"{address}/200", base="1", head="1") == 0
    assert len(seen) == 1, "nothing broke, nothing is said"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/500", "answered 500"),
        ("/302", "elsewhere"),
        ("file:///etc/passwd", "expected an address"),
    ],
)
def test_a_webhook_that_does_not_listen_is_told(broken, hook, capsys, address, said):
    server, _ = hook
    assert diff(broken, "--webhook", server + address if address[0] == "/" else address) == 2
    assert said in capsys.readouterr().err


def test_flaky_cells_have_an_owner_and_an_age(tmp_path, capsys):
    path = tmp_path / "board.sqlite"
    store = Store.open(path)
    for number, outcome in enumerate(["success", "failure", "success", "failure"], start=1):
        part = make_part(str(number), started=float(number), a__x=outcome, b__x=outcome)
        part.commit = None
        store.for_project("p").record(part)
    with store.writing() as connection:
        owners = {"@all": "*", "@b": "ops::test_b"}
        text = "\n".join(
            f'[[owner]]\nname = "{name}"\ntests = ["{tests}"]' for name, tests in owners.items()
        )
        save(connection, find_project(connection, "p"), text)
    assert main(["flaky", "--store", str(path)]) == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.endswith("owner @all")
    assert second.endswith("owner @b")
    assert "now failure, since 2" in first, "days since 1970"


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ("sss", "green in 1 to 3"),
        ("fss", "green since 2"),
        ("sff", "broken since 2"),
        ("sfs", "broken in 2"),
        ("fff", "broken in 1 to 3"),
        ("kss", "green since 2"),
        ("ssk", "skipped since 3"),
        ("fskfs", "broken in 1, 4"),
    ],
)
def test_spans_of_versions(outcomes, told):
    names = {"s": "success", "f": "failure", "k": "skipped"}
    row = {f"jax {place}": names[letter] for place, letter in enumerate(outcomes, start=1)}
    assert spans(row | {"numpy": "success"}) == {"jax": told}
