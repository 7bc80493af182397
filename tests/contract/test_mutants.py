"""The lists of the mutation tests are about source that exists; their page shows the counts."""

import doctest
import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"


@pytest.fixture
def tool(monkeypatch):
    """A function from the path of a tool to its module."""

    def load(name):
        path = TOOLS / f"{name}.py"
        monkeypatch.setattr(sys, "path", [str(TOOLS), str(path.parent), *sys.path])
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
        return importlib.import_module(path.stem)

    return load


@pytest.mark.parametrize("name", ["mutants/run", "coverage_table", "page_tables"])
def test_examples_of_the_tools(name, tool):
    results = doctest.testmod(tool(name))
    assert results.failed == 0 and results.attempted > 0


def test_survivors_with_a_reason_are_of_lines_that_exist(tool):
    run = tool("mutants/run")
    assert run.REASONS
    gone = []
    for name, (kind, reason) in run.REASONS.items():
        place, _, change = name.partition(": ")
        file, _, function = place.partition(" ")
        text = run.one_line((ROOT / file).read_text())
        if change.partition(" => ")[0] not in text or function.rpartition(".")[2] not in text:
            gone.append(name)
        assert kind in ("equivalent", "accepted") and reason
    assert gone == []


def test_targets_have_files_and_tests(tool):
    run = tool("mutants/run")
    targets = run.tomllib.loads((TOOLS / "mutants" / "targets.toml").read_text())
    for target in targets.values():
        assert [
            list(ROOT.glob(each)) for each in target["files"] if not list(ROOT.glob(each))
        ] == []
        assert [each for each in target["tests"] if not run.files_in(ROOT / each)[0].exists()] == []


def test_the_page_shows_what_was_measured(tool):
    page = (ROOT / "docs" / "tests.md").read_text()
    mutants = json.loads((ROOT / "docs" / "data" / "mutants.json").read_text())
    coverage = json.loads((ROOT / "docs" / "data" / "coverage.json").read_text())
    tool("page_tables")
    assert tool("mutants/run").table_of(mutants) in page
    assert tool("coverage_table").shown(coverage) in page
