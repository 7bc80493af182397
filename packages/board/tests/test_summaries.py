"""Summary rows always say what the results say, whatever was recorded, replaced or deleted."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import select, text

from trellis_board import schema, upkeep
from trellis_board.outcomes import OUTCOMES, severity
from trellis_board.queries import find_project
from trellis_board.records import Part, Result
from trellis_board.summaries import severity_sql

from .helpers import make_part, outcomes

BRANCHES = [None, "main", "feature"]


def expected(connection):
    """The summary rows, worked out from all results one by one."""
    cells, tallies = {}, {}
    rows = connection.execute(
        text(
            "SELECT result.*, run.started, coalesce(run.branch, '') AS branch"
            " FROM result JOIN run ON run.id = result.run_id"
        )
    )
    for row in rows:
        key = row.branch, row.test_id, row.backend_id
        order = row.outcome != "died", row.started, row.run_id, severity(row.outcome), row.id
        if key not in cells or order > cells[key][0]:
            cells[key] = order, row.outcome
        in_run = row.run_id, row.test_id, row.backend_id
        if in_run not in tallies or severity(row.outcome) > severity(tallies[in_run]):
            tallies[in_run] = row.outcome
    counts = {}
    for (run, _, backend), outcome in tallies.items():
        key = run, backend, outcome
        counts[key] = counts.get(key, 0) + 1
    newest = {key: (order[2], order[4], outcome) for key, (order, outcome) in cells.items()}
    return newest, counts, joints(tallies)


def joints(tallies):
    """By run, the tests of this one module that are green on all backends, of those on two."""
    found = {}
    for run in {run for run, _, _ in tallies}:
        by_test = {}
        for (of_run, test, _), outcome in tallies.items():
            if of_run == run:
                by_test.setdefault(test, []).append(outcome)
        several = [o for o in by_test.values() if len(o) > 1 and set(o) != {"skipped"}]
        if several:
            found[run] = sum(set(o) == {"success"} for o in several), len(several)
    return found


def found(connection):
    cells = {
        (row.branch, row.test_id, row.backend_id): (row.run_id, row.result_id, row.outcome)
        for row in connection.execute(select(schema.cell))
    }
    counts = {
        (row.run_id, row.backend_id, row.outcome): row.cells
        for row in connection.execute(select(schema.tally))
    }
    joint = {row.run_id: (row.green, row.of) for row in connection.execute(select(schema.joint))}
    return cells, counts, joint


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_changes(any_store, seed):
    chance = random.Random(seed)
    for _ in range(60):
        run = chance.randrange(8)
        if chance.random() < 0.15:
            with any_store.writing() as connection:
                names = connection.execute(select(schema.run.c.name)).scalars().all()
                if names:
                    project = find_project(connection, "p")
                    upkeep.delete_runs(connection, project, [chance.choice(names)])
        else:
            cells = {
                f"t{chance.randrange(5)}__b{chance.randrange(2)}": chance.choice(
                    [*OUTCOMES, "success", "success"]
                )
                for _ in range(chance.randrange(1, 9))
            }
            # Shards of a run may be recorded again, begin earlier, or be the first with a branch.
            part = make_part(str(run), chance.choice("ab"), chance.choice([10, 20, 30]), **cells)
            part.branch = chance.choice([None, BRANCHES[run % 3]])
            any_store.for_project("p").record(part)
        with any_store.reading() as connection:
            assert found(connection) == expected(connection)


def test_other_branches_change_nothing_the_public_sees(any_store):
    project = any_store.for_project("p")
    for name, started, branch, outcome in (
        ("1", 1000, "main", "success"),
        ("2", 2000, "feature", "failure"),
        ("3", 3000, "other", "error"),
    ):
        part = make_part(name, started=started, tanh__numpy=outcome)
        part.branch = branch
        project.record(part)
    assert outcomes(any_store) == {("test_tanh", "numpy"): "success"}
    assert outcomes(any_store, branch="feature") == {("test_tanh", "numpy"): "failure"}
    part = make_part("4", started=4000, tanh__numpy="hollow")  # a run that names no branch
    project.record(part)
    assert outcomes(any_store) == {("test_tanh", "numpy"): "hollow"}
    assert outcomes(any_store, branch="feature") == {("test_tanh", "numpy"): "failure"}


def test_every_change_raises_the_revision(store):
    def revision():
        with store.reading() as connection:
            return connection.execute(select(schema.project.c.revision)).scalar_one()

    project = store.for_project("p")
    seen = []
    for outcome in ("success", "failure", "success"):  # the same shard: row ids are used again
        project.record(make_part("1", tanh__numpy=outcome))
        seen.append(revision())
    assert seen == sorted(set(seen))


def test_sql_ranks_outcomes_as_the_library_does(store):
    with store.reading() as connection:
        for name in OUTCOMES:
            rank = connection.execute(text(f"SELECT {severity_sql(':name')}"), {"name": name})
            assert rank.scalar_one() == severity(name)


def test_a_run_of_the_future_is_refused(any_store):
    part = Part("1", "a", 4e9, results=[Result("m", "t", "numpy", "success")])
    with pytest.raises(ValueError, match=r"dated 2096-10-02 .* in the future.*clock"):
        any_store.for_project("p").record(part)
    part = Part("1", "a", 1.0, results=[Result("m", "t", "numpy", "success", at=4e9)])
    with pytest.raises(ValueError, match="in the future"):
        any_store.for_project("p").record(part)
