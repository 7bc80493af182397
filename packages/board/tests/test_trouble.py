"""Flaky cells, what each run broke, and the feed that tells of it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from trellis_board.feed import atom_feed
from trellis_board.page_data import health
from trellis_board.queries import find_project, modules
from trellis_board.records import Part, Result
from trellis_board.settings import save
from trellis_board.trouble import flaky_cells, recent_trouble, regressions

from .helpers import EVIL, make_part

ATOM = "{http://www.w3.org/2005/Atom}"


def record(store, outcomes, test="tanh", branch="main", commits=None):
    """One run per outcome of one cell."""
    for number, outcome in enumerate(outcomes, start=1):
        part = make_part(str(number), test, float(number), **{f"{test}__numpy": outcome})
        part.commit = commits[number - 1] if commits else f"{number:040}"
        part.branch = branch
        store.for_project("p").record(part)


def flaky(store, branch=None):
    with store.reading() as connection:
        project = find_project(connection, "p")
        names = {t: n for m in modules(connection, project) for t, n in m.tests.items()}
        return {
            names[f.test_id]: f for f in flaky_cells(recent_trouble(connection, project, branch))
        }


def broken(store):
    with store.reading() as connection:
        project = find_project(connection, "p")
        found = regressions(connection, project, recent_trouble(connection, project))
        return {each.run.name: [change.test for change in each.changes] for each in found}


def test_three_turns_are_flaky_and_two_are_a_fault_mended(any_store):
    record(any_store, ["success", "failure", "success", "success", "error"], "turns")
    record(any_store, ["success", "failure", "failure", "success", "success"], "mended")
    record(any_store, ["failure"] * 5, "red")
    record(any_store, ["success", "hollow", "skipped", "success", "success"], "calm")
    found = flaky(any_store)
    assert list(found) == ["test_turns"]
    assert (found["test_turns"].turns, found["test_turns"].outcome) == (3, "error")


def test_both_ways_on_one_commit_is_flaky(any_store):
    record(any_store, ["success", "failure", "failure"], commits=["a" * 40, "a" * 40, "b" * 40])
    assert flaky(any_store)["test_tanh"].same_commit


def test_green_only_when_repeated_is_flaky(any_store):
    results = [
        Result("m", "repeated", "numpy", "success", attempts=3),
        Result("m", "hopeless", "numpy", "failure", attempts=3),
        Result("m", "calm", "numpy", "success"),
    ]
    any_store.for_project("p").record(Part("1", "a", 1.0, results=results))
    assert {name: cell.reruns for name, cell in flaky(any_store).items()} == {"repeated": 1}


def test_other_branches_make_nothing_flaky(any_store):
    record(any_store, ["success", "failure", "success", "failure"], branch="feature")
    record(any_store, ["success"], test="sin")
    any_store.for_project("p").record(make_part("9", started=9, sin__numpy="success"))
    assert set(flaky(any_store, "feature")) == {"test_tanh"}


def test_what_each_run_broke(any_store):
    record(any_store, ["success", "failure", "error", "success", "hollow"], "breaks")
    record(any_store, ["failure", "failure", "success", "success", "success"], "was_red_before")
    part = make_part("4", "new", 4.0, new__numpy="failure")
    part.commit = None  # another shard of the same run
    any_store.for_project("p").record(part)
    assert broken(any_store) == {"5": ["test_breaks"], "4": ["test_new"], "2": ["test_breaks"]}


@pytest.mark.parametrize("url", [None, "https://boards.example/p/"])
def test_the_feed(store, url):
    record(store, ["success", "failure", "success"])
    part = Part(f"4 {EVIL}\x01", "a", 4.0, branch="main")
    part.results = [Result("m", f"test_{EVIL}\x02", "numpy", "error")]
    store.for_project("p").record(part)
    with store.writing() as connection:
        project = find_project(connection, "p")
        if url:
            save(connection, project, f'url = "{url}"\ntitle = "Mine"')
        text = atom_feed(connection, project, "p")
    feed = ElementTree.fromstring(text)
    assert feed.findtext(f"{ATOM}title") == ("Mine" if url else "p") + ": regressions"
    entries = feed.findall(f"{ATOM}entry")
    titles = [entry.findtext(f"{ATOM}title") for entry in entries]
    assert titles[1] == "1 regression in run 2 at 0000000000"
    assert titles[0] == f"1 regression in run 4 {EVIL}\\x01"
    assert "test_tanh [numpy]: success → failure" in entries[1].findtext(f"{ATOM}content")
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == 2
    links = [entry.find(f"{ATOM}link").get("href") for entry in entries]
    assert links[1] == (url or "./") + "#head=run%3A2"
    assert feed.findtext(f"{ATOM}updated") == "1970-01-01T00:00:04Z"


def test_a_feed_of_nothing(store):
    record(store, ["success"])
    with store.reading() as connection:
        text = atom_feed(connection, find_project(connection, "p"), "p")
    assert ElementTree.fromstring(text).findall(f"{ATOM}entry") == []


def test_green_shares_over_runs(store):
    for number, outcome in enumerate(["success", "failure"], start=1):
        for test, found in (("a", outcome), ("b", "success")):
            part = make_part(str(number), test, float(number), **{f"{test}__numpy": found})
            store.for_project("p").record(part)
    assert points(store) == {("1", 0, 2), ("2", 0, 1), ("2", 5, 1)}
    with store.reading() as connection:
        found = health(connection, find_project(connection, "p"))
    assert found["regressions"] == [[2, 1]]
    # What comes late counts from the newest run on.
    store.for_project("p").record(make_part("1", "late", 1.0, c__numpy="success"))
    assert points(store) == {("1", 0, 2), ("2", 0, 2), ("2", 5, 1)}


def points(store):
    """Run, outcome and number of cells of the board after it."""
    with store.reading() as connection:
        found = health(connection, find_project(connection, "p"))
    standing = [tuple(found["standing"][i : i + 4]) for i in range(0, len(found["standing"]), 4)]
    by_run = {run[0]: run[1] for run in found["runs"]}
    return {(by_run[run], code, cells) for run, _, code, cells in standing}
