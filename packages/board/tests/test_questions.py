"""Questions about rows: the same answers from the command, the HTTP API, the feed and the page."""

from __future__ import annotations

import time

import pytest
from fastapi.testclient import TestClient

import trellis_board.server as server_module
from trellis_board.commands import main
from trellis_board.feed import atom_feed
from trellis_board.queries import find_project
from trellis_board.questions import PRESETS, Question, QuestionError
from trellis_board.records import Part, Result
from trellis_board.rows import board_rows, joint_score, matching_rows
from trellis_board.server import make_app
from trellis_board.settings import save
from trellis_board.static_page import write_page
from trellis_board.store import Store

from .helpers import DAY, make_part

BACKENDS = ("numpy", "torch", "jax")
SETTINGS = """
target = 90
columns = ["numpy", { name = "torch", label = "PyTorch" }, "jax"]
[[group]]
name = "Waves"
tests = ["ops::test_sin*", "ops::test_cos*"]
"""
# Of each run and test the outcomes on numpy, torch and jax; "." is no cell.
RUNS = {
    30: {"sin": "sss", "cos": "sss", "tan": "sfs", "exp": "s.s", "log": "sss", "abs": "fff"},
    2: {"sin": "sss", "cos": "ssf", "tan": "sfs", "exp": "s.s", "log": "shs", "abs": "ffs"},
    1: {"sin": "sss", "cos": "sff", "tan": "sfe", "exp": "s.s", "log": "skk", "abs": "ffs"},
}
OUTCOMES = {"s": "success", "f": "failure", "e": "error", "h": "hollow", "k": "skipped"}

# A question, and the tests that it asks for.
CASES = {
    "": "sin cos tan exp log abs other plain",
    "s": "sin cos tan exp log abs other plain",
    "SIN": "sin",
    '"test_t"': "tan",
    "torch:failure": "cos tan abs",
    "PyTorch:failure and jax:success": "abs",
    "pytorch:failure jax:success": "abs",
    "numpy:success and torch:red and jax:red": "cos tan",
    "torch:failure or jax:error": "cos tan abs",
    "not (torch:failure or any:skipped)": "sin exp other plain",
    "not not torch:failure": "cos tan abs",
    "jax:failure,error": "cos tan",
    "any:red": "cos tan abs plain",
    "all:green": "sin exp",
    "is:green": "sin exp",
    "is:different": "cos tan log abs",
    "is:red": "cos tan abs plain",
    "is:skipped": "log",
    "only:torch": "",
    "only:jax": "",
    "count(red)=2": "cos tan abs",
    "count(success) >= 3": "sin",
    "count(never)=2": "other",
    "count(failure)!=0": "cos abs tan",
    "count(failure)=1": "tan",
    "count(red)<99 and any:red": "cos tan abs",
    PRESETS["fails on one backend only"]: "",
    "count(skipped)<1 and test:*s": "cos abs",
    "torch:never": "other",
    "torch:never or jax:never": "other",
    "any:never-green": "tan abs plain",
    "torch:never-green": "tan abs",
    "jax:never-green": "",
    "since:36h": "cos tan plain",
    "since:3d": "cos tan plain",
    "since:60d": "cos tan abs plain",
    "module:ops": "sin cos tan exp log abs plain",
    "module:o*r": "other",
    "test:test_*o*s": "cos",
    "test:*_sin*n": "",
    "test:TEST_S*N*": "sin",
    # With regular expressions, each of these took years of one server or one page.
    f"test:{'*' * 60}!": "",
    f"module:{'o*' * 100}!": "",
    "sin or " * 99 + "sin": "sin",
    "not " * 120 + "sin": "sin",
    "test:tan": "tan",
    "group:waves": "sin cos",
    "not group:waves and any:red": "tan abs plain",
    "flaky": "",
    "hollow": "",
}
MISTAKES = {
    "torc:failure": "no column or word 'torc'",
    "torch:fail": "no outcome 'fail'",
    "torch:": "nothing after 'torch:'",
    "only:mxnet": "no column 'mxnet'",
    "is:odd": "'odd' after 'is:'",
    "since:soon": "'soon' after 'since:'",
    "(torch:failure": "expected ')'",
    "torch:failure)": "unexpected ')'",
    "torch:failure and": "expected a word or a question, got 'the end'",
    "or torch:failure": "expected a word or a question, got 'or'",
    'test:"x': "is a quote not closed",
    "count(odd)=1": "no outcome 'odd'",
    "(" * 60 + "x" + ")" * 60: "more than 50 parentheses",
    "x" * 1001: "1001 characters",
    "x " * 201: "201 words",
}


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A store with three runs, the oldest a month ago."""
    path = tmp_path_factory.mktemp("questions") / "board.sqlite"
    store = Store.open(path)
    for days, rows in RUNS.items():
        results = [
            Result("ops", f"test_{test}", backend, OUTCOMES[letter])
            for test, letters in rows.items()
            for backend, letter in zip(BACKENDS, letters, strict=True)
            if letter != "."
        ]
        if days == 1:
            results += [
                Result("other", "test_other", "numpy", "success"),
                Result("ops", "test_plain", "any", "failure"),
            ]
        started = time.time() - days * DAY
        part = Part(run=f"{days} days ago", shard="", started=started, results=results)
        store.for_project("p").record(part)
    with store.writing() as connection:
        save(connection, find_project(connection, "p"), SETTINGS)
    return store


@pytest.fixture
def connection(board):
    with board.reading() as connection:
        yield connection


def names(rows):
    return [row.test.removeprefix("test_") for row in rows]


@pytest.mark.parametrize(("question", "answer"), CASES.items(), ids=CASES)
def test_an_answer(connection, question, answer):
    found = matching_rows(connection, find_project(connection, "p"), question)
    assert sorted(names(found)) == sorted(answer.split())


@pytest.mark.parametrize(("question", "said"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_a_mistake_is_told(question, said):
    with pytest.raises(QuestionError) as told:
        Question(question, BACKENDS)
    assert said in str(told.value)


def test_versions_of_a_framework_answer_to_its_name(any_store):
    any_store.for_project("p").record(
        make_part("1", **{"a__torch 2.6": "failure", "a__torch 2.13": "success"})
    )
    with any_store.reading() as connection:
        project = find_project(connection, "p")
        for question, count in {
            "torch:failure": 1,
            '"torch 2.6":failure': 1,
            '"torch 2.13":failure': 0,
            "only:torch": 1,
            'only:"torch 2.13"': 0,
        }.items():
            assert len(matching_rows(connection, project, question)) == count, question


def test_flaky_cells_and_red_ones_on_both_databases(any_store):
    now = time.time()
    for days, outcome in enumerate(["failure", "success", "failure", "success", "failure"]):
        part = make_part(str(days), started=now - (10 - days) * DAY, a__numpy=outcome)
        part.results.append(Result("ops", "test_b", "numpy", "success"))
        any_store.for_project("p").record(part)
    with any_store.reading() as connection:
        project = find_project(connection, "p")
        (row,) = matching_rows(connection, project, "flaky")
        assert row.test == "test_a"
        assert abs(row.cells["numpy"].red_since - (now - 6 * DAY)) < 1
        assert matching_rows(connection, project, "since:5d") == []
        assert len(matching_rows(connection, project, "since:7d")) == 1


def test_the_joint_score(connection):
    rows = board_rows(connection, find_project(connection, "p"))
    # Not "other", which ran on one backend alone; "exp" has no test on torch, and counts.
    assert joint_score(rows) == (2, 6)
    assert joint_score(row for row in rows if row.group == "Waves") == (1, 2)


def test_the_command(board, capsys, tmp_path):
    store = ["--store", board.engine.url.database]
    assert main(["query", "torch:failure and jax:success", *store]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ops::test_abs  numpy:failure torch:failure jax:success",
        "1 row",
    ]
    assert main(["query", "--preset", "never green", "--count", "--fail-if-any", *store]) == 1
    assert capsys.readouterr().out == "3 rows\n"
    assert main(["query", "torc:failure", *store]) == 2
    assert "trellis-board query: no column or word 'torc'" in capsys.readouterr().err
    assert main(["score", *store]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        *(["33.3", "%", "2", "of", "6", "green", "on", "all", "backends,", "target", "90", "%"],),
        *(["85.7", "%", "6", "of", "7", "numpy"], ["25.0", "%", "1", "of", "4", "PyTorch"]),
        ["60.0", "%", "3", "of", "5", "jax"],
        ["50.0", "%", "1", "of", "2", "green", "on", "all", "backends:", "Waves"],
    ]
    assert main(["score", "--strict", *store]) == 1, "below the target"


def test_the_api_and_the_feed(board, connection):
    client = TestClient(make_app(board))
    found = client.get("/api/v1/projects/p/rows", params={"q": "torch:failure jax:success"})
    assert found.json() == [
        {
            "module": "ops",
            "test": "test_abs",
            "group": None,
            "cells": {"numpy": "failure", "torch": "failure", "jax": "success"},
            "never": [],
        }
    ]
    score = {"green": 2, "of": 6, "target": 90.0, "broken": []}
    assert client.get("/api/v1/projects/p/score").json() == score
    for address in ("/api/v1/projects/p/rows", "/p/p/feed.xml"):
        refused = client.get(address, params={"q": "torc:red"})
        assert refused.status_code == 400
        assert "no column or word 'torc'" in refused.json()["detail"]
    whole = atom_feed(connection, find_project(connection, "p"), "p")
    some = client.get("/p/p/feed.xml", params={"q": "test:cos"}).text
    assert "test_cos" in some
    assert "test_tan" not in some
    assert "test_tan" in whole
    assert "?q=test%3Acos" in some


def test_a_server_reads_a_board_once_for_all_questions(store, monkeypatch):
    read = []

    def reading(name):
        function = getattr(server_module, name)

        def counted(*arguments):
            read.append(name)
            return function(*arguments)

        monkeypatch.setattr(server_module, name, counted)

    reading("board_rows")
    reading("recent_regressions")
    client = TestClient(make_app(store))
    project = store.for_project("p")
    for run, outcome in enumerate(("success", "failure")):
        project.record(make_part(str(run), started=1000 + run, tanh__torch=outcome))
        for question in ("torch:red", "tanh", "module:o*"):
            rows = client.get("/api/v1/projects/p/rows", params={"q": question}).json()
            feed = client.get("/p/p/feed.xml", params={"q": question}).text
            assert len(rows) == (question != "torch:red" or outcome == "failure")
            assert ("test_tanh" in feed) == (outcome == "failure")
        assert sorted(read) == ["board_rows", "recent_regressions"]
        read.clear()


def test_the_page_gives_the_same_answers(board, connection, page, tmp_path):
    write_page(connection, find_project(connection, "p"), tmp_path)
    page.open((tmp_path / "index.html").as_uri())
    ask = (
        "try { const ask = Board.question(arguments[0]);"
        " return Board.rows.filter(ask).map((row) => row.name) } catch (e) { return e.message }"
    )
    for question, answer in CASES.items():
        found = page.js(ask, question)
        shown = sorted(name.removeprefix("test_") for name in found)
        assert shown == sorted(answer.split()), question
    for question, said in MISTAKES.items():
        assert said in page.js(ask, question), question
    assert page.js("return Board.joint(Board.rows)") == {"green": 2, "of": 6}


def test_the_page_asks_by_its_address(board, connection, page, tmp_path):
    write_page(connection, find_project(connection, "p"), tmp_path)
    address = (tmp_path / "index.html").as_uri()
    page.open(f"{address}#q=torch%3Afailure+and+jax%3Asuccess")
    assert page.rows() == ["test_abs"]
    assert page.texts(".card")[0].split("\n") == [
        *("All backends", "33%", "2 of 6 tests green on all, target 90%"),
    ]
    assert "5 of 7 green" not in page.text("#cards"), "cards show the whole board, not the filter"
    assert page.texts(".presets a") == list(PRESETS)
    page.find(".presets a").click()
    page.wait("return location.hash === '#q=count%28red%29%3D1'")
    page.wait("return document.getElementById('count').textContent.startsWith('0 of')")
    page.js(
        "const s = document.getElementById('search'); s.value = 'torc:red';"
        "s.dispatchEvent(new Event('input'))"
    )
    assert "no column or word 'torc'" in page.text("#question-problem")
    page.open(f"{address}#view=time")
    page.wait("return document.querySelectorAll('#trends li').length === 4")
    assert "2 of 6, target 90%" in page.texts("#trends li")[0]
