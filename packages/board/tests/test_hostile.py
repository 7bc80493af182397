"""What strangers may send, and what they may call things: nobody else is held up or fooled."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import socket
import sqlite3
import threading
import time
import urllib.request
from contextlib import closing
from xml.etree import ElementTree

import pytest
import uvicorn
from pydantic import ValidationError
from starlette.testclient import TestClient

from trellis_board import api_models
from trellis_board.badges import badge
from trellis_board.beside import side_by_side
from trellis_board.clean import name_of
from trellis_board.client import Client
from trellis_board.commands import main
from trellis_board.connections import bounded_protocol
from trellis_board.diff import compare
from trellis_board.diff_text import as_markdown, as_text
from trellis_board.feed import atom_feed
from trellis_board.junit import JUnitError, read_junit
from trellis_board.merging import merge_store
from trellis_board.queries import find_project, runs
from trellis_board.records import Part, Result
from trellis_board.server import make_app
from trellis_board.settings import parse_settings
from trellis_board.static_page import write_page
from trellis_board.store import Store, StoreError
from trellis_board.table_files import export_tables
from trellis_board.tables import read_table, write_table
from trellis_board.texts import on_one_line

from .helpers import count, free_port, make_part, outcomes
from .test_api import URL, bearer, body, token_for

# Bodies that are small when packed.


def with_results(text):
    head = json.dumps({"run": "1", "shard": "", "started": 1})[:-1]
    return f'{head}, "results": [{text}]}}'.encode()


MANY = 100_000
UNKNOWN_KEYS = ",".join(f'"{key}":0' for key in range(MANY))


@pytest.mark.parametrize(
    "content",
    [
        with_results(",".join(["{}"] * MANY)),
        with_results(",".join(["0"] * MANY)),
        with_results("{" + UNKNOWN_KEYS + "}"),
        b"{" + UNKNOWN_KEYS.encode() + b"}",
        with_results("")[:-1] + b', "versions": {' + UNKNOWN_KEYS.encode() + b"}}",
        with_results("")[:-1] + b', "broken": [' + b"{}," * MANY + b"{}]}",
        b'{"' + b"k" * 1_000_000 + b'": 1}',
    ],
    ids=["results", "numbers", "keys", "top keys", "versions", "broken", "long key"],
)
def test_the_errors_of_a_body_are_few(store, content, monkeypatch):
    """What made a server busy was not the check, but a list of everything that is wrong."""
    found = []
    real = api_models.PartIn.model_validate

    def counting(document):
        try:
            return real(document)
        except ValidationError as error:
            found.append(error.error_count())
            raise

    monkeypatch.setattr(api_models.PartIn, "model_validate", counting)
    client = TestClient(make_app(store))
    packed = {**bearer(token_for(store)), "Content-Encoding": "gzip"}
    answer = client.post(URL, content=gzip.compress(content), headers=packed)
    assert answer.status_code == 422
    assert found[0] <= 250, "all that a part can be wrong in, and one result"
    assert len(answer.content) < 30_000
    assert count(store).runs == 0


def test_a_body_has_no_more_values_than_a_part(store):
    client = TestClient(make_app(store))
    content = gzip.compress(with_results("[]," * 4_000_000 + "[]"))
    assert len(content) < 20_000
    packed = {**bearer(token_for(store)), "Content-Encoding": "gzip"}
    answer = client.post(URL, content=content, headers=packed)
    assert answer.status_code == 400
    assert "more than 3000000 values" in answer.json()["detail"]


def test_brackets_in_texts_are_no_values(store):
    client = TestClient(make_app(store))
    part = body(tanh__numpy="failure")
    part["results"][0]["message"] = '[\\",{"' * 4000
    part["results"] = [{**part["results"][0], "test": f"t{number}"} for number in range(300)]
    assert client.post(URL, json=part, headers=bearer(token_for(store))).status_code == 201


def test_a_body_is_checked_outside_of_the_event_loop(store, monkeypatch):
    threads = []
    real = api_models.read_part
    monkeypatch.setattr(
        "trellis_board.api.read_part",
        lambda content: threads.append(threading.current_thread().name) or real(content),
    )
    client = TestClient(make_app(store))
    client.post(URL, json=body(tanh__numpy="success"), headers=bearer(token_for(store)))
    assert threads[0].startswith("AnyIO worker thread")


# Connections that wait.


@pytest.fixture
def served(store):
    """A server as `trellis-board serve` starts it, with few connections and little patience."""
    port = free_port()
    config = uvicorn.Config(
        make_app(store, requests_per_minute=100_000),
        host="127.0.0.1",
        port=port,
        log_level="error",
        http=bounded_protocol(most=20, patience=0.6),
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield port
    server.should_exit = True
    thread.join()


def connect(port, sent=b"", receive_buffer=None):
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", port))
    connection.sendall(sent)
    return connection


def is_closed(connection):
    try:
        return connection.recv(100_000) == b""
    except ConnectionResetError:
        return True


HALF = b"GET /api/v1/projects HTTP/1.1\r\nHost: board\r\nX-Slow: "


def test_half_a_header_does_not_wait_forever(served):
    waiting = [connect(served, sent) for sent in (b"", b"G", HALF) for _ in range(4)]
    drips = connect(served, HALF)
    for connection in waiting:
        assert is_closed(connection)
    with pytest.raises(OSError, match=r"Broken pipe|reset"):  # one byte at a time is no progress
        drip(drips)


def drip(connection):
    for _ in range(200):
        connection.sendall(b"x")
        time.sleep(0.02)


def test_those_who_wait_are_in_nobodys_way(served):
    crowd = []
    for number in range(150):
        crowd.append(connect(served, HALF))
        if number % 10 == 9:
            address = f"http://127.0.0.1:{served}/api/v1/projects"
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.status == 200
    assert all(is_closed(connection) for connection in crowd)


def test_half_a_second_request_does_not_wait_forever(served):
    request = b"GET /api/v1/projects HTTP/1.1\r\nHost: board\r\n\r\n"
    connection = connect(served, request)
    assert b"200 OK" in connection.recv(100_000)
    connection.sendall(HALF)
    assert is_closed(connection)


def test_who_never_reads_the_answer_is_cut_off(store, served):
    part = make_part()
    for number in range(20_000):
        part.results.append(Result("m", f"test_{number}_{'x' * 200}", "numpy", "success"))
    store.for_project("mine").record(part)
    request = b"GET /api/v1/projects/mine/cells HTTP/1.1\r\nHost: board\r\n\r\n"
    connection = connect(served, request, receive_buffer=4096)
    assert connection.recv(15) == b"HTTP/1.1 200 OK"
    time.sleep(3)  # five times the patience
    received = 0
    with contextlib.suppress(ConnectionResetError):  # or the end, when the buffers were empty
        while more := connection.recv(100_000):
            received += len(more)
    assert received < 5_000_000, "of eight million bytes"


def test_who_reads_slowly_gets_it_all(store, served):
    part = make_part()
    for number in range(2000):
        part.results.append(Result("m", f"test_{number}_{'x' * 200}", "numpy", "success"))
    store.for_project("mine").record(part)
    request = b"GET /api/v1/projects/mine/cells HTTP/1.0\r\nHost: board\r\n\r\n"
    connection = connect(served, request, receive_buffer=4096)
    received = bytearray()
    begun = time.monotonic()
    while more := connection.recv(20_000):
        received += more
        if time.monotonic() - begun < 2:  # three times the patience
            time.sleep(0.05)
    assert json.loads(received.partition(b"\r\n\r\n")[2])[-1]["test"].startswith("test_1999_")


def test_the_command_serves_with_these_bounds(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: started.append(options))
    assert main(["serve", "--store", str(tmp_path / "b.sqlite")]) == 0
    assert started[0]["http"].__name__ == "BoundedProtocol"
    assert started[0]["host"] == "127.0.0.1"


# Servers that are not what they seem.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_token_follows_no_redirect(answering, status):
    thief, seen = answering(201)
    address, _ = answering(status, Location=f"{thief}/api")
    with pytest.raises(RuntimeError, match=rf"(?s){status}") as raised:
        Client(address, "mine", "board_secret").record(make_part())
    assert seen == []
    assert "board_secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, b'{"run": "1", "shard": "a", "cells": 0}'),
        (201, b"<html>Welcome to the hotel</html>"),
        (201, b'{"run": "2", "shard": "a", "cells": 0}'),
        (201, b"[" * 9000),
        (204, b""),
    ],
)
def test_another_answer_is_no_success(answering, status, content):
    address, _ = answering(status, content)
    with pytest.raises(RuntimeError, match="but not that the part was recorded"):
        Client(address, "mine", "board_x").record(make_part())


def test_the_answer_of_a_board_is_success(answering):
    address, seen = answering(201, b'{"run": "1", "shard": "a", "cells": 0}')
    Client(address, "mine", "board_x").record(make_part())
    assert seen[0]["Authorization"] == "Bearer board_x"


# Names.

HOSTILE = [
    "[click](javascript:alert(1))",
    "![x](https://tracker.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "a\n# Heading",
    "a\r\n\r\n## Approved by the maintainers",
    "a\rb",
    "a\u2028b\u2029c\x85d\x0be\x0cf",
    "` | </code> | `",
    "**bold** _it_ __it__ ~~no~~",
    "https://evil.example www.evil.example @somebody #1",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe",
    "&#91;a&#93;(javascript&#58;b)",
    "a|b|c",
    "\\",
    "$$x$$ {{ x }} {% x %} :smile:",
]
# What would be live in one of the dialects, were it not quoted.
LIVE = re.compile(
    r"\]\(|<img|javascript:|^#|https?://evil|www\.|@|\*\*|~~|_it_|\$\$|\{\{|:smile:|\x1b|\r|[\u2028\u202e]",
    re.MULTILINE,
)


TABLES = {"module": ["m"], "test": ["test"], "backend": ["b"], "run": ["old", "new"]}


@pytest.fixture
def hostile(store):
    """A store in which everything has a hostile name, as a merged file could bring them."""
    project = store.for_project("p")
    for run, outcome in (("old", "success"), ("new", "failure")):
        for number, name in enumerate(HOSTILE):
            result = Result(f"m {name}", f"test {name}", f"b {name}", outcome, link=name)
            part = Part(f"{run} {name}"[:200], "a", number + 1.0 + 1000 * (run == "new"))
            part.results, part.link, part.commit = [result], name, f"c {name}"
            project.record(part)
    # Older versions kept names as they came: they may be in any store.
    with store.writing() as connection:
        for table, words in TABLES.items():
            for raw in (f"{word} {name}" for word in words for name in HOSTILE):
                change = f"UPDATE {table} SET name = ? WHERE name = ?"
                connection.exec_driver_sql(change, (raw, name_of(raw)))
        connection.exec_driver_sql("UPDATE part SET link = 'javascript:alert(1)'")
        connection.exec_driver_sql("UPDATE result SET link = 'javascript:alert(1)' WHERE id % 2")
    return store


def test_a_comment_has_no_markup_but_its_own(hostile):
    with hostile.reading() as connection:
        project = find_project(connection, None)
        every = runs(connection, project)
        old = [run for run in every if run.name.startswith("old")]
        new = [run for run in every if run.name.startswith("new")]
        for base in old:
            found = compare(connection, project, [base, *old], [new[0], *new])
            comment = as_markdown(found)
            text = as_text(found)
            head = comment.split("\n", 1)[1]
            assert not LIVE.search(head), LIVE.search(head)
            assert "\x1b" not in text
            for line in comment.splitlines():
                if line.startswith("| <code>"):
                    assert line.count("|") == 4, "no row is broken"
            rows = [line for line in comment.splitlines() if line.startswith("| <code>")]
            assert len(rows) == len(HOSTILE)


def without_badges(text):
    return re.sub(r"<img src=https://img\.shields\.io/badge/-\w+-\w+>", "", text)


def test_tables_have_no_markup_but_their_own(hostile):
    with hostile.reading() as connection:
        tables = export_tables(connection, find_project(connection, None))
    assert len(tables) == len(HOSTILE)
    for table in tables.values():
        text = write_table(table)
        assert not LIVE.search(without_badges(text)), text
        assert len(text.splitlines()) == 3
        again = read_table(text)
        assert list(again.rows) == [on_one_line(row) for row in table.rows]
        assert write_table(again) == text


def test_a_page_that_compares_has_no_markup_but_its_own(hostile):
    with hostile.reading() as connection:
        project = find_project(connection, None)
        page, cells, _ = side_by_side(connection, (project, "p"), (project, "p"))
    assert cells == len(HOSTILE)
    assert not LIVE.search(re.sub(r"^##? (?=m|p)", "", page, flags=re.MULTILINE))


def test_the_markdown_command_has_no_markup_but_its_own(hostile, capsys):
    assert main(["markdown", "--store", hostile.engine.url.database]) == 0
    told = re.sub(r"^## m", "", capsys.readouterr().out, flags=re.MULTILINE)
    assert not LIVE.search(without_badges(told))


@pytest.mark.parametrize("command", ["runs", "flaky"])
def test_no_name_drives_the_terminal(hostile, capsys, command):
    assert main([command, "--store", hostile.engine.url.database]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_every_picture_and_feed_is_xml(hostile, tmp_path):
    with hostile.reading() as connection:
        write_page(connection, find_project(connection, None), tmp_path)
    pictures = list((tmp_path / "badges").iterdir())
    assert len(pictures) == 2 * len(HOSTILE) + 1
    for file in (*pictures, tmp_path / "feed.xml"):
        ElementTree.fromstring(file.read_bytes())
    ElementTree.fromstring(badge("\x00\x1f\ud800￾<&\"'", "\x08", "red"))


def test_the_documents_have_no_unsafe_link(hostile, tmp_path):
    with hostile.reading() as connection:
        write_page(connection, find_project(connection, None), tmp_path)
    for file in (tmp_path / "data").iterdir():
        assert '"javascript:alert(1)"' not in file.read_text()


@pytest.mark.parametrize("letter", ["a", "é", "💥", "\x01", "/"])
def test_a_long_name_does_not_stop_the_page(store, tmp_path, letter):
    part = make_part(tanh__numpy="success")
    for number in (150, 999, 5000):
        name = letter * number
        part.results += [
            Result(name, name, name, "success"),
            Result(f"{name}2", name, f"{name}2", "failure"),
        ]
    store.for_project("p").record(part)
    with store.reading() as connection:
        project = find_project(connection, None)
        files = write_page(connection, project, tmp_path / "page")
        tables = export_tables(connection, project)
        assert len(atom_feed(connection, project, "p")) > 0
    assert len(list((tmp_path / "page" / "badges").iterdir())) == 2 * 7 + 1
    assert len(tables) == 7
    assert files > 20
    assert len(badge(letter * 5000, "1 / 1", "red")) < 3000


def test_names_are_cut_but_stay_apart(store):
    part = make_part()
    long = "x" * 5000
    part.results = [Result("m", f"{long}{number}", "b", "success") for number in range(3)]
    store.for_project("p").record(part)
    assert len(outcomes(store)) == 3


def test_links_in_settings_are_addresses():
    for link in ("javascript:alert(1)", "https://x\x01", "https://a b", 'https://a"', "//x"):
        with pytest.raises(ValueError, match="expected an address"):
            parse_settings(f"url = {json.dumps(link)}")


# Files.


@pytest.mark.parametrize(
    "text",
    [
        b"<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>",
        b"<?xml version='1.0'?>" + b"<!-- " + b"x" * 5000 + b" --><!DOCTYPE x><testsuite/>",
        b" " * 5000
        + b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><testsuite>&a;</testsuite>",
        "<?xml version='1.0' encoding='utf-16'?><!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>".encode(
            "utf-16"
        ),
        b"<!DOCTYPE x SYSTEM 'https://tracker.example/x.dtd'><testsuite/>",
        b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>"
        + b"".join(
            b"<!ENTITY %c '%s'>" % (c, b"&%c;" % (c - 1) * 10) for c in range(ord("b"), ord("k"))
        )
        + b"]><testsuite name='&j;'/>",
    ],
    ids=["plain", "after a comment", "after spaces", "utf-16", "external", "billion laughs"],
)
def test_junit_has_no_document_type(text):
    with pytest.raises(JUnitError, match=r"document types|not XML: XML or text declaration"):
        read_junit(text, backend="x", run="1", shard="s", at=0.0)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00",
        b"<testsuite",
        b"<?xml version='1.0' encoding='nobody-knows'?><testsuite/>",
        b"<?xml version='1.0' encoding='utf-7'?><testsuite/>",
        b"\xff\xfe<testsuite/>",
        "\ud800",
        b"<testsuite>&unknown;</testsuite>",
    ],
)
def test_what_is_no_xml_is_said_in_words(text):
    with pytest.raises(JUnitError, match="not XML"):
        read_junit(text, backend="x", run="1", shard="s", at=0.0)


def test_times_and_names_in_junit_may_be_anything(store):
    case = '<testcase name="{0}" classname="{0}" time="{1}"/>'.format("é" * 5000, "1e999")
    for year in ("0001-01-01T00:00:00", "9999-12-31T23:59:59-23:59", "x", "1969-01-01"):
        text = f'<testsuite timestamp="{year}">{case}</testsuite>'
        part = read_junit(text, backend="x", run=year, shard="s", at=5.0)
        assert (part.started, part.results[0].duration) == (5.0, None)
        store.for_project("p").record(part)


def test_deep_xml_is_read():
    depth = 100_000
    text = "<testsuite>" * depth + "</testsuite>" * depth
    assert read_junit(text, backend="x", run="1", shard="s", at=0.0).results == []


def test_what_is_no_file_is_not_read(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.xml")
    for path in (tmp_path / "pipe.xml", "/dev/zero", tmp_path):
        arguments = ["import", str(path), "--backend", "x", "--store", str(tmp_path / "b.sqlite")]
        assert main(arguments) == 2
        assert "is no file" in capsys.readouterr().err


def damaged(path, *statements):
    """A store with one run, changed by hand."""
    Store.open(path).for_project("p").record(make_part(tanh__numpy="success"))
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n"


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE result"],
        ["ALTER TABLE result RENAME TO r", f"CREATE VIEW result AS {ENDLESS}"],
        ["CREATE TRIGGER t AFTER UPDATE ON project BEGIN DELETE FROM run; END"],
        ["UPDATE part SET versions = 7"],
        ["UPDATE part SET versions = '{'"],
        ["UPDATE part SET versions = '[1]'"],
        [f"UPDATE part SET versions = '{'[' * 100_000}'"],
        ["UPDATE part SET started = 'soon'"],
        ["UPDATE run SET started = 1e300"],
        ["UPDATE run SET started = -1e300"],
        ["UPDATE run SET name = x'ff00'"],
        ["UPDATE test SET name = 7"],
        ["UPDATE result SET outcome = 'green'"],
        ["UPDATE result SET message = x'00'"],
        ["PRAGMA foreign_keys = OFF", "DELETE FROM backend"],
        ["PRAGMA foreign_keys = OFF", "DELETE FROM test"],
        ["UPDATE project SET name = '../../x'"],
        ["UPDATE board_schema SET version = 'x'"],
        ["UPDATE board_schema SET version = 99999"],
        ["UPDATE project SET settings = '{\"columns\": 7}'"],
    ],
    ids=lambda statements: statements[-1][:60],
)
def test_a_damaged_store_is_refused_in_words(tmp_path, capsys, statements):
    source = damaged(tmp_path / "source.sqlite", *statements)
    target = tmp_path / "target.sqlite"
    code = main(["merge", str(source), "--store", str(target)])
    told = capsys.readouterr()
    if code == 0:  # what can be repaired is taken, and can be shown
        assert main(["html", "--store", str(target), "--out", str(tmp_path / "page")]) in (0, 2)
    else:
        assert code == 2
        assert told.err.startswith("trellis-board merge: ")


@pytest.mark.parametrize(
    "statement",
    ["UPDATE cell SET test_id = 77", "UPDATE cell SET backend_id = 77", "UPDATE cell SET at = 'x'"],
)
def test_the_page_of_a_damaged_store_is_refused_in_words(tmp_path, capsys, statement):
    source = damaged(tmp_path / "s.sqlite", "PRAGMA foreign_keys = OFF", statement)
    code = main(["html", "--store", str(source), "--out", str(tmp_path / "page")])
    told = capsys.readouterr().err
    assert code == 0 or (code == 2 and told.startswith("trellis-board html: "))
    assert code == 2 or "backend" in statement, "cells of an unknown backend are not shown"


@pytest.mark.parametrize("table", ["result", "cell", "standing"])
@pytest.mark.parametrize("command", ["runs", "flaky", "html"])
def test_an_outcome_that_no_board_knows_is_told(tmp_path, capsys, table, command):
    source = damaged(tmp_path / "s.sqlite", f"UPDATE {table} SET outcome = 'green'")
    out = ["--out", str(tmp_path / "page")] if command == "html" else []
    code = main([command, "--store", str(source), *out])
    assert code == (2 if command == "html" else 0), "the page alone shows every outcome"
    assert ("has the outcome 'green'" in capsys.readouterr().err) == (command == "html")


@pytest.mark.parametrize(
    "content", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_file_that_is_no_store_is_refused_in_words(tmp_path, capsys, content):
    source, target = tmp_path / "source.sqlite", str(tmp_path / "target.sqlite")
    source.write_bytes(content)
    assert main(["merge", str(source), "--store", target]) == (0 if content == b"" else 2)
    if content:
        assert "not a database" in capsys.readouterr().err


def test_a_store_that_is_cut_off_is_refused_in_words(tmp_path):
    source = damaged(tmp_path / "source.sqlite", "PRAGMA journal_mode = DELETE")
    whole = source.read_bytes()
    target = Store.open(tmp_path / "target.sqlite")
    for size in range(100, len(whole), len(whole) // 20):
        source.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"source\.sqlite|damaged|no board store"):
            merge_store(Store.open(source), target)


def test_a_store_with_a_program_in_it_is_not_opened(tmp_path):
    source = damaged(tmp_path / "s.sqlite", "CREATE VIEW v AS SELECT 1")
    with pytest.raises(StoreError, match="it has a view 'v'"):
        Store.open(source)


@pytest.mark.parametrize(
    "line",
    ["{}", "7", "[]", "null", '["end"]', '["plan", 7, 8]', '["session", "p", 7]', "[" * 9999],
)
def test_a_journal_of_nonsense_is_no_trouble(tmp_path, capsys, line):
    (tmp_path / "b.sqlite-run-1-x.jsonl").write_text(f"{line}\n")
    Store.open(tmp_path / "b.sqlite").for_project("p").record(make_part(tanh__numpy="success"))
    assert main(["runs", "--store", str(tmp_path / "b.sqlite")]) == 0
