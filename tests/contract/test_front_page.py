"""The front page of our own board: every row of the seed tables stands there by its own name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from trellis_board.settings import Settings, parse_settings
from trellis_board.tables import read_table

ROOT = Path(__file__).parents[2]
SEEDS = sorted((ROOT / "packages" / "board" / "tests" / "seeds").glob("*.txt"))


@pytest.fixture(scope="module")
def settings() -> Settings:
    return parse_settings((ROOT / "board.toml").read_text(encoding="utf-8"))


def functions() -> dict[str, list[str]]:
    """The modules that define each test function."""
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        module = file.relative_to(ROOT).with_suffix("").as_posix()
        for node in nodes_of(file):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.setdefault(node.name, []).append(module)
    return found


def nodes_of(file):
    """What is written in a file, and in those of the kit whose tests it runs."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            kit = ROOT / "src" / Path(*node.module.split(".")).with_suffix(".py")
            yield from ast.walk(ast.parse(kit.read_text(encoding="utf-8")))
        yield node


def test_the_columns_are_the_four_frameworks(settings):
    assert [column.name for column in settings.columns] == ["numpy", "jax", "torch", "tensorflow"]
    assert not settings.other_columns


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem[:3])
def test_rows_of_the_seed_tables_are_rows_of_the_page(settings, seed):
    known = functions()
    for test in read_table(seed.read_text(encoding="utf-8")).rows:
        rows = [settings.place(module, test) for module in known[test]]
        assert any(row is not None and row[2] is None for row in rows), test


def test_every_module_is_in_a_group(settings):
    for test, modules in functions().items():
        for module in modules:
            assert settings.place(module, test) is not None, f"{module}::{test}"


def test_public_functions_have_a_row_each(settings):
    group, _, row = settings.place("tests/array/test_cases", "test_value[logsumexp: one axis]")
    assert settings.groups[group].name == "Array functions"
    assert row == "logsumexp"
    assert settings.place("tests/array/test_cases", "test_gradient[linalg.qr]")[2] == "linalg.qr"
