"""The command line, from import to page."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trellis_board.commands import main
from trellis_board.store import Store
from trellis_board.tables import Cell, read_table

from .conftest import HERE
from .helpers import make_part, outcomes

SEEDS = sorted((HERE / "seeds").glob("*.txt"))


@pytest.fixture
def path(tmp_path):
    store = Store.open(tmp_path / "b.sqlite")
    for run, outcome in (("1", "success"), ("2", "failure")):
        started = int(run) * 1000
        part = make_part(run, started=started, tanh__numpy="success", tanh__torch=outcome)
        part.branch = "main"
        store.for_project("p").record(part)
    return str(tmp_path / "b.sqlite")


def board(*arguments):
    return main([*map(str, arguments)])


def test_seeds_through_the_command_line(tmp_path, capsys):
    store = tmp_path / "seeds.sqlite"
    assert board("import", *SEEDS, "--store", store, "--project", "s", "--at", "2023-04-01") == 0
    assert board("markdown", "--store", store, "--out", tmp_path / "out") == 0
    for seed in SEEDS:
        assert (tmp_path / "out" / f"{seed.stem}.md").read_bytes() == seed.read_bytes()
    capsys.readouterr()
    assert board("markdown", "--store", store, "--module", SEEDS[0].stem) == 0
    assert capsys.readouterr().out.encode() == SEEDS[0].read_bytes()


def test_diff_exits_1_on_a_regression(path, capsys):
    assert board("diff", "--store", path, "--base", "1") == 1
    assert "ops::test_tanh [torch]  success → failure" in capsys.readouterr().out
    assert board("diff", "--store", path, "--base", "2", "--head", "1", "--markdown") == 0
    assert "### Board: no regression" in capsys.readouterr().out


def test_html_writes_a_folder(path, tmp_path, capsys):
    out = tmp_path / "page"
    assert board("html", "--store", path, "--out", out) == 0
    names = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    assert {"index.html", "board.css", "app.js", "data/overview.js", "data/run-2.js"} <= names
    assert {"badges/all.svg", "badges/backend.torch.svg", "badges/module.ops.svg"} <= names
    assert "open " in capsys.readouterr().out


def test_the_page_asks_for_nothing_from_elsewhere(path, tmp_path, capsys):
    board("html", "--store", path, "--out", tmp_path / "page")
    for file in (tmp_path / "page").iterdir():
        if file.suffix in (".html", ".css", ".js"):
            text = file.read_text().replace("http://www.w3.org/", "")
            assert "http://" not in text, file
            assert "https://" not in text, file


def test_tokens_are_made_listed_and_revoked(path, capsys):
    assert board("token", "create", "--store", path, "--project", "p", "--label", "ci") == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("board_")
    assert board("token", "list", "--store", path) == 0
    listed = capsys.readouterr().out
    assert "1  p  write  valid  ci" in listed
    assert secret not in listed
    assert board("token", "revoke", "1", "--store", path) == 0
    assert board("token", "revoke", "1", "--store", path) == 2
    capsys.readouterr()
    board("token", "list", "--store", path)
    assert "revoked" in capsys.readouterr().out
    with open(path, "rb") as file:
        assert secret.encode() not in file.read()


def test_two_boards_side_by_side(path, tmp_path, capsys):
    table = tmp_path / "old.md"
    table.write_text(
        "| | numpy | torch | jax |\n|--|--|--|--|\n"
        "| test_tanh | <img src=https://img.shields.io/badge/-failure-red> | | |\n"
    )
    board("import", table, "--store", path, "--project", "old")
    out = tmp_path / "beside.md"
    assert board("beside", "--store", path, "--project", "p", "--other", "old", "--out", out) == 0
    assert "1 of 3 cells green" in capsys.readouterr().out
    row = (
        "| `test_tanh` | ❌ failure → ✅ success | never run → ❌ failure | never run → never run |"
    )
    assert row in out.read_text()
    strict = ("beside", "--store", path, "--project", "p", "--other", "old", "--strict")
    assert board(*strict) == 1
    like = ("markdown", "--store", path, "--project", "p", "--like", "old", "--out", tmp_path / "l")
    assert board(*like) == 0
    table = read_table((tmp_path / "l" / "old.md").read_text())
    assert table.columns == ["numpy", "torch", "jax"]
    assert table.rows["test_tanh"] == {"numpy": Cell("success"), "torch": Cell("failure")}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("markdown", "--module", "x"), "no module 'x' in this store; it has ops"),
        (("markdown", "--project", "x"), "no project 'x'; it has p"),
        (("diff", "--base", "nowhere"), "no run, commit or branch 'nowhere'"),
        (("token", "revoke"), "which token?"),
    ],
)
def test_mistakes_are_explained(path, capsys, arguments, problem):
    assert board(*arguments, "--store", path) == 2
    assert problem in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_mistake(path):
    command = [sys.executable, "-m", "trellis_board", "query", "--store", str(path)]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_missing_store_is_explained(tmp_path, capsys):
    assert board("html", "--store", tmp_path / "none", "--out", tmp_path) == 2
    assert "there is no board store at" in capsys.readouterr().err


def test_runs_are_merged_listed_pruned_and_deleted(path, tmp_path, capsys):
    other = Store.open(tmp_path / "other.sqlite")
    part = make_part("3", started=3000, tanh__jax="success")
    part.branch = "feature"
    other.for_project("p").record(part)
    assert board("merge", tmp_path / "other.sqlite", "--store", path) == 0
    assert "1 part" in capsys.readouterr().out
    assert board("runs", "--store", path) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in listed] == ["3", "2", "1"]
    assert listed[0] == "1970-01-01 00:50  c0ffee3     feature  3"
    assert board("runs", "--store", path, "--branch", "feature") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert board("prune", "--store", path, "--older-than", "2y", "--dry-run") == 0
    assert "2 runs would be deleted: 3, 1" in capsys.readouterr().out
    assert board("delete", "3", "--store", path) == 0
    capsys.readouterr()
    assert board("prune", "--store", path, "--older-than", "2y", "--keep-shown") == 0
    assert "1 run deleted: 1" in capsys.readouterr().out
    assert board("delete", "3", "--store", path) == 2
    assert "no run '3'" in capsys.readouterr().err


def test_stores_are_merged_into_a_new_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for backend in ("numpy", "torch"):
        part = make_part("1", backend, **{f"tanh__{backend}": "success"})
        Store.open(f"{backend}.sqlite").for_project("p").record(part)
    assert board("merge", "numpy.sqlite", "torch.sqlite") == 0
    assert len(outcomes("board.sqlite")) == 2
    assert board("merge", "none.sqlite") == 2
    assert "there is no board store at none.sqlite" in capsys.readouterr().err


def test_a_backup_is_a_store(path, tmp_path, capsys):
    assert board("backup", tmp_path / "copy.sqlite", "--store", path) == 0
    assert outcomes(tmp_path / "copy.sqlite") == outcomes(path)
    assert not (tmp_path / "copy.sqlite-wal").exists()
    assert board("backup", tmp_path / "copy.sqlite", "--store", path) == 2
    assert "never overwrites" in capsys.readouterr().err


def test_settings_are_configured(path, tmp_path, capsys):
    file = tmp_path / "board.toml"
    file.write_text('columns = ["torch", "numpy"]\n[[group]]\nname = "G"\ntests = ["ops::*"]\n')
    assert board("configure", file, "--store", path) == 0
    assert "2 columns, 1 groups" in capsys.readouterr().out
    file.write_text("colums = 3")
    assert board("configure", file, "--store", path) == 2
    assert "unknown key 'colums'" in capsys.readouterr().err


def test_flaky_cells_are_listed(path, capsys):
    store = Store.open(path)
    for run, outcome in (("3", "success"), ("4", "failure")):
        store.for_project("p").record(make_part(run, started=int(run) * 1000, tanh__torch=outcome))
    assert board("flaky", "--store", path) == 0
    told = capsys.readouterr().out
    assert "ops::test_tanh [torch]  turned 3 times in 4 runs" in told
    assert told.endswith("1 flaky cell\n")


def test_tables_of_another_branch(path, capsys):
    part = make_part("3", started=3000, tanh__torch="hollow")
    part.branch = "feature"
    Store.open(path).for_project("p").record(part)
    assert board("markdown", "--store", path, "--module", "ops", "--branch", "feature") == 0
    assert "hollow" in capsys.readouterr().out
    assert board("markdown", "--store", path, "--module", "ops") == 0
    assert "failure" in capsys.readouterr().out


def test_the_first_run_has_nothing_to_compare_with(path, capsys):
    assert board("diff", "--store", path, "--base", "previous", "--head", "1") == 0
    assert "nothing to compare yet" in capsys.readouterr().out


@pytest.mark.parametrize("age", ["90", "x", "1.5y"])
def test_an_age_has_a_unit(path, age, capsys):
    with pytest.raises(SystemExit):
        board("prune", "--store", path, "--older-than", age)
    assert "expected an age such as 90d" in capsys.readouterr().err
