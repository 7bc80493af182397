"""JUnit XML as runs."""

from __future__ import annotations

import pytest

from trellis_board.commands import main
from trellis_board.junit import JUnitError, read_junit

from .helpers import latest_cells, outcomes

# What pytest, Maven and Jest write, by their documentation: names, times and places differ.
SUITES = """<?xml version="1.0" encoding="utf-8"?>
<testsuites>
  <testsuite name="unit" timestamp="2026-01-02T03:04:05+00:00">
    <testcase classname="ops.Unary" name="tanh[float32]" time="0.25"/>
    <testcase classname="ops.Unary" name="log" time="1,000.5">
      <failure message="1 != 2" type="AssertionError">at line 3</failure></testcase>
    <testcase classname="ops.Unary" name="exp"><skipped message="no device"/></testcase>
    <testcase classname="ops.Unary" name="sin">
      <skipped type="pytest.xfail" message="known"/></testcase>
    <testcase classname="ops.Unary" name="cos"><failure message="a"/><error message="b"/></testcase>
  </testsuite>
  <testsuite name="whole"><testcase name="runs &lt;all&gt;"/></testsuite>
</testsuites>"""


def test_every_kind_of_case():
    part = read_junit(SUITES, backend="torch", run="1", shard="s", at=5e9)
    found = {result.cell: (result.outcome, result.duration) for result in part.results}
    assert found == {
        ("ops.Unary", "tanh[float32]", "torch"): ("success", 0.25),
        ("ops.Unary", "log", "torch"): ("failure", 1000.5),
        ("ops.Unary", "exp", "torch"): ("skipped", None),
        ("ops.Unary", "sin", "torch"): ("xfailed", None),
        ("ops.Unary", "cos", "torch"): ("error", None),
        ("whole", "runs <all>", "torch"): ("success", None),
    }
    assert part.started == 1767323045.0
    assert "1 != 2\nat line 3" in part.results[1].message


def test_through_the_command_line(tmp_path, capsys):
    file, store = tmp_path / "results.xml", str(tmp_path / "b.sqlite")
    file.write_text(SUITES)
    for backend in ("torch", "jax", "torch"):
        arguments = ("--store", store, "--backend", backend, "--run", "7")
        assert main(["import", str(file), *arguments]) == 0
    assert "6 cells" in capsys.readouterr().out
    assert outcomes(store)["log", "jax"] == "failure"
    assert len(outcomes(store)) == 12
    assert latest_cells(store)["log", "torch"].comparisons is None
    assert main(["import", str(file), "--store", store]) == 2
    assert "--backend" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<testsuites>", "not XML"),
        ("<html/>", "outermost element is <html>"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>", "declarations"),
    ],
)
def test_what_is_not_junit_is_refused(text, problem):
    with pytest.raises(JUnitError, match=problem):
        read_junit(text, backend="x", run="1", shard="s", at=0.0)


def test_what_pytest_itself_writes(run_pytest, sample, tmp_path):
    run_pytest("test_cells.py", f"--junitxml={tmp_path / 'r.xml'}")
    part = read_junit((tmp_path / "r.xml").read_bytes(), backend="b", run="1", shard="s", at=0.0)
    found = {result.test: result.outcome for result in part.results}
    assert found["test_failure[numpy]"] == "failure"
    assert found["test_skipped[torch]"] == "skipped"
    assert found["test_xfailed[torch]"] == "xfailed"
    assert found["test_error_in_setup[numpy]"] == "error"
    assert found["test_error_in_teardown[numpy]"] == "error"
    assert found["test_success_by_assert[numpy]"] == "success"
