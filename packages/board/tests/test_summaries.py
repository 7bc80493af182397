"""Summary rows always say what the results say, whatever was recorded, replaced or deleted."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import select, text

from trellis_board import schema, upkeep
from trellis_board.branches import board_of
from trellis_board.commands import main
from trellis_board.front_page import project_lines
from trellis_board.outcomes import OUTCOMES, severity
from trellis_board.page_data import health, overview
from trellis_board.queries import find_project, runs, states
from trellis_board.records import Part, Result
from trellis_board.rows import board_rows, joint_score
from trellis_board.settings import save
from trellis_board.standing import keep_standing
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
    return newest, counts


def found(connection):
    cells = {
        (row.branch, row.test_id, row.backend_id): (row.run_id, row.result_id, row.outcome)
        for row in connection.execute(select(schema.cell))
    }
    counts = {
        (row.run_id, row.backend_id, row.outcome): row.cells
        for row in connection.execute(select(schema.tally))
    }
    return cells, counts


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


@pytest.mark.parametrize("seed", range(6))
def test_the_newest_run_of_a_board_has_what_the_board_says(any_store, seed):
    """Whatever was recorded, late and in parts, deleted or configured: as `score` and cards say."""
    chance = random.Random(seed)
    for step in range(50):
        if step % 10 == 9:
            columns = chance.choice(["", "columns = ['b0', 'b2']\nother_columns = false"])
            with any_store.writing() as connection:
                project = find_project(connection, "p")
                save(connection, project, columns)
                keep_standing(connection, project)
        elif step and chance.random() < 0.15:
            with any_store.writing() as connection:
                names = connection.execute(select(schema.run.c.name)).scalars().all()
                if names:
                    project = find_project(connection, "p")
                    upkeep.delete_runs(connection, project, [chance.choice(names)])
        else:
            run = chance.randrange(12)
            backends = chance.sample(["b0", "b1", "b2", "any"], chance.randrange(1, 4))
            results = [
                Result(f"m{module}", f"t{test}", backend, outcome)
                for module in range(3)
                for test in range(4)
                for backend in backends
                if chance.random() < 0.6
                for outcome in [chance.choice([*OUTCOMES, *["success"] * 20])]
            ]
            part = Part(str(run), chance.choice("ab"), float(run), results=results)
            part.branch = chance.choice([None, BRANCHES[run % 3]])
            any_store.for_project("p").record(part)
        with any_store.reading() as connection:
            project = find_project(connection, "p")
            check_standing(connection, project)


def check_standing(connection, project):
    newest = runs(connection, project, limit=1, of=board_of(connection, project))
    rows = {row.run_id: (row.green, row.of) for row in connection.execute(select(schema.joint))}
    cells = {}
    for row in connection.execute(select(schema.standing)):
        cells.setdefault(row.run_id, {})[row.backend_id, row.outcome] = row.cells
    known = {run.id for run in runs(connection, project)}
    assert rows.keys() <= known
    assert cells.keys() <= known
    if not newest:
        return
    expected = joint_score(board_rows(connection, project))
    assert rows.get(newest[0].id, (0, 0)) == expected
    counts = {}
    for _, backend, outcome, *_ in states(connection, project):
        counts[backend, outcome] = counts.get((backend, outcome), 0) + 1
    assert cells.get(newest[0].id, {}) == counts


def test_a_partial_run_is_no_dip(store, tmp_path):
    """Three tests on two backends; then one of them that fails, alone; then a backend alone."""
    project = store.for_project("p")
    whole = {f"{t}__{b}": "success" for t in ("tanh", "sin", "cos") for b in ("numpy", "torch")}
    project.record(make_part("1", started=1.0, **whole))
    project.record(make_part("2", started=2.0, tanh__numpy="success", tanh__torch="failure"))
    project.record(make_part("3", started=3.0, tanh__torch="success"))
    with store.reading() as connection:
        content = health(connection, find_project(connection, "p"))
        (line,) = project_lines(connection)
    assert {run: (green, of) for run, green, of in content["joint"]} == {
        1: (3, 3),
        2: (2, 3),
        3: (3, 3),
    }
    assert line.joint == ((3, 3), (2, 3), (3, 3))
    standing = content["standing"]
    rows = [tuple(standing[i : i + 4]) for i in range(0, len(standing), 4)]
    green, red = severity("success"), severity("failure")
    assert sorted(rows) == [
        *((1, 1, green, 3), (1, 2, green, 3)),
        *((2, 1, green, 3), (2, 2, green, 2), (2, 2, red, 1)),
        *((3, 1, green, 3), (3, 2, green, 3)),
    ]


def test_a_session_for_each_backend(store, capsys, tmp_path):
    """Each is a run that has one backend: the front page says what `score` says."""
    for started, backend in enumerate(("numpy", "torch"), start=1):
        cells = {f"{test}__{backend}": "success" for test in ("tanh", "sin")}
        store.for_project("p").record(make_part(backend, started=started, **cells))
    path = store.engine.url.database
    assert main(["score", "--store", path]) == 0
    assert capsys.readouterr().out.startswith("100.0 %       2 of 2")
    assert main(["html", "--all", "--store", path, "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert "<strong>100%</strong> 2 of 2" in page
    assert "no test on two backends" not in page


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


def test_a_backend_that_only_a_pull_request_ran_is_no_column_of_the_board(store):
    project = store.for_project("p")
    project.record(make_part("1", tanh__numpy="success", tanh__torch="success"))
    part = make_part("2", started=2000.0, tanh__numpy="success", tanh__cupy="failure")
    part.branch = "pull/7/cupy"
    project.record(part)
    with store.reading() as connection:
        id = find_project(connection, "p")
        assert joint_score(board_rows(connection, id)) == (1, 1)
        assert joint_score(board_rows(connection, id, "pull/7/cupy")) == (0, 1)
        found = overview(connection, id, "p"), overview(connection, id, "p", "pull/7/cupy")
        columns = [[label for _, label in each["columns"]] for each in found]
    assert columns == [["numpy", "torch"], ["numpy", "cupy"]]


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
