"""What a board.toml may say, and how mistakes in it are explained."""

from __future__ import annotations

import pytest

from trellis_board.layout import lay_out, score
from trellis_board.queries import find_project
from trellis_board.settings import Settings, parse_settings, read_settings, save

from .helpers import make_part


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("colums = []", "unknown key 'colums'; expected default_branch, "),
        ("columns = 3", "columns is 3; expected a list"),
        ("columns = [{ label = 'x' }]", "columns, entry 1 has no name"),
        ("default_branch = ''", "default_branch is ''; expected a text"),
        ("other_columns = 1", "other_columns is 1; expected true or false"),
        ("[[group]]\nname = 'x'", "group, entry 1 needs a name and tests"),
        ("[[group]]\nname = 'x'\ntests = [{ row = 'y' }]", "has no match"),
        ("[[group]]\nname = 'x'\ntests = ['{row}{row}']", "may occur once"),
        ("[[issue]]\ntests = '*'", "needs tests and a link"),
        ("[[issue]]\ntests = '*'\nlink = 'javascript:alert(1)'", "expected an address with http"),
        ("group = ['x']", "group, entry 1 is 'x'; expected a table with name, tests, folded"),
        ("source = 'https://x.example/{commit}'", "expected {file} in it"),
        ("source = 'https://x.example/{file}/{branch}'", "{branch} is not known"),
        ("source = 'javascript:{file}'", "expected an address with http"),
        ("= 3", "Invalid statement"),
    ],
)
def test_mistakes_are_explained(text, problem):
    with pytest.raises(ValueError, match=problem.replace("{", r"\{")):
        parse_settings(text)


def test_patterns_take_brackets_as_they_are():
    settings = parse_settings(
        """
        [[group]]
        name = "A"
        tests = [
          "m::test_a[x-y]",
          { match = "m::test_b*", row = "all of b" },
          "m::*[{row}*]",
        ]
        [[group]]
        name = "B"
        tests = ["m::*"]
        """
    )
    assert settings.place("m", "test_a[x-y]") == (0, 0, None)
    assert settings.place("m", "test_a[x-z]") == (0, 2, "x")
    assert settings.place("m", "test_b[1]") == (0, 1, "all of b")
    assert settings.place("m", "test_c") == (1, 0, None)
    assert settings.place("other", "test_c") is None


def test_an_issue_explains_some_cells():
    (issue,) = parse_settings(
        """
        [[issue]]
        tests = "m::test_conv*"
        backend = "torch*"
        message = "not implemented"
        link = "https://example.org/7"
        """
    ).issues
    assert issue.explains("m::test_conv2d", "torch 2.6", "E: not implemented for half")
    assert not issue.explains("m::test_conv2d", "jax", "E: not implemented for half")
    assert not issue.explains("m::test_conv2d", "torch", "E: 1 != 2")
    assert not issue.explains("m::test_linear", "torch", "not implemented")


def test_columns_in_the_order_set():
    backends = {1: "any", 2: "torch", 3: "sqlite", 4: "numpy"}
    chosen = parse_settings("columns = ['numpy', { name = 'torch', label = 'PyTorch' }, 'mlx']")
    assert lay_out(backends, chosen).columns == {4: "numpy", 2: "PyTorch", 3: "sqlite"}
    only = parse_settings("columns = ['numpy', 'torch']\nother_columns = false")
    found = lay_out(backends, only)
    assert (found.columns, found.plain) == ({4: "numpy", 2: "torch"}, 1)
    assert not found.shows(3)
    assert lay_out({1: "any"}, Settings()).columns == {1: "any"}, "a project without backends"


def test_skipped_cells_could_not_be_green():
    assert (score(["skipped"]).of, score(["skipped"]).worst) == (0, None)
    assert score(["success", "error", "xfailed"]).worst == "error"


def test_settings_are_kept_in_the_store(any_store):
    any_store.for_project("p").record(make_part("1", tanh__numpy="success"))
    with any_store.writing() as connection:
        project = find_project(connection, "p")
        save(connection, project, "default_branch = 'trunk'\ncolumns = ['numpy']")
    with any_store.writing() as connection, pytest.raises(ValueError, match="unknown key"):
        save(connection, project, "nonsense = 1")
    with any_store.reading() as connection:
        assert read_settings(connection, project).default_branch == "trunk"
