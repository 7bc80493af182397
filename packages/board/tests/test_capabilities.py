"""Tables of what works, in Markdown, in Sphinx and in MkDocs."""

from __future__ import annotations

import html
import json
import subprocess
import sys

import pytest

from trellis_board.capabilities import UnknownTableError, as_markdown, read_table
from trellis_board.commands import main
from trellis_board.queries import find_project
from trellis_board.records import Part, Result
from trellis_board.settings import save
from trellis_board.store import Store

from .helpers import EVIL

SETTINGS = """
columns = ["numpy", { name = "torch 2.6", label = "torch 2.6" }, "torch 2.13"]
[[group]]
name = "Linear algebra"
tests = ["ops::*[{row}*]"]
"""
CELLS = {
    "test_value[svd: tall]": ("success", "failure", "success"),
    "test_value[svd: wide]": ("success", "success", "success"),
    "test_value[qr]": ("success", "success", "success"),
    "test_value[eig]": ("failure", "skipped", "skipped"),
    "test_value[det]": ("success", "hollow", "success"),
    "test_value[inv: tall]": ("success", "hollow", "died"),
    "test_value[inv: wide]": ("success", "success", "hollow"),
}
TABLE = [
    ["svd", "✓", "1 of 2", "✓", "torch green since 2.13"],
    ["qr", "✓", "✓", "✓", ""],
    ["eig", "✕", "skipped", "skipped", "torch skipped in 2.6 to 2.13"],
    ["det", "✓", "not checked", "✓", "torch green since 2.13"],
    ["inv", "✓", "1 of 2", "not checked", ""],
]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs") / "board.sqlite"
    store = Store.open(path)
    results = [
        Result("ops", test, column, outcome)
        for test, outcomes in CELLS.items()
        for column, outcome in zip(("numpy", "torch 2.6", "torch 2.13"), outcomes, strict=True)
    ]
    results.append(Result("evil", f"test_{EVIL}", "numpy", "success"))
    store.for_project("p").record(Part(run="1", shard="", started=1.0, results=results))
    with store.writing() as connection:
        save(connection, find_project(connection, "p"), SETTINGS)
    store.close()
    return path


def as_text(cell):
    """A cell of Markdown as it is shown."""
    return html.unescape(cell).strip().strip("`")


def test_the_command(source, capsys, tmp_path):
    assert main(["capabilities", "Linear algebra", "--store", str(source)]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert [as_text(cell) for cell in head.split("|")[2:-2]] == ["numpy", "torch 2.6", "torch 2.13"]
    shown = [[as_text(cell) for cell in row.split("|")[1:-1]] for row in rows]
    assert shown == TABLE
    assert main(["capabilities", "Linear algebra", "evil", "--json", "--store", str(source)]) == 0
    kept = tmp_path / "capabilities.json"
    kept.write_text(capsys.readouterr().out)
    assert list(json.loads(kept.read_text())) == ["Linear algebra", "evil"]
    for name in ("Linear algebra", "evil"):
        assert read_table(kept, name) == read_table(source, name)
    with pytest.raises(UnknownTableError, match="no table 'gone'; it has Linear algebra, evil"):
        read_table(kept, "gone")
    with pytest.raises(UnknownTableError, match="no group 'gone'"):
        read_table(source, "gone")
    assert "<img" not in as_markdown(read_table(source, "evil")).replace("`<img", "")


def test_sphinx_builds_the_table(source, tmp_path):
    (tmp_path / "conf.py").write_text(
        f"extensions = ['trellis_board.docs.sphinx']\ncapabilities_source = {str(source)!r}\n"
    )
    page = "Title\n=====\n\n.. capabilities:: Linear algebra\n\n.. capabilities:: evil\n"
    (tmp_path / "index.rst").write_text(page)
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(tmp_path)]
    subprocess.run([*words, str(tmp_path / "out")], check=True, timeout=300)
    made = (tmp_path / "out" / "index.html").read_text()
    assert "1 of 2" in made
    assert "torch green since 2.13" in made
    assert EVIL not in made
    (tmp_path / "index.rst").write_text("Title\n=====\n\n.. capabilities:: gone\n")
    told = subprocess.run(
        [*words, str(tmp_path / "out")], capture_output=True, text=True, timeout=300
    )
    assert told.returncode != 0
    assert "capabilities: this board has no group 'gone'" in told.stderr


def test_mkdocs_builds_the_table(source, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(
        f"site_name: x\nplugins:\n  - capabilities:\n      source: {source}\n"
    )
    page = "# Title\n\ncapabilities: Linear algebra\n\n```\ncapabilities: in a block\n```\n"
    (tmp_path / "docs" / "index.md").write_text(page)
    words = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "-q",
        "-s",
        "-f",
        str(tmp_path / "mkdocs.yml"),
    ]
    subprocess.run(words, check=True, timeout=300, cwd=tmp_path)
    made = (tmp_path / "site" / "index.html").read_text()
    assert "<table>" in made
    assert "1 of 2" in made
    assert "capabilities: in a block" in made
    for page, said in {
        "# Title\n\ncapabilities: gone\n": "this board has no group 'gone'",
        "capabilities: Linear algebra\n": "put a heading above the line",
    }.items():
        (tmp_path / "docs" / "index.md").write_text(page)
        told = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert told.returncode != 0
        assert said in told.stderr
