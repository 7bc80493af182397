"""The manual and the recipes that come with the package, and a README that is read elsewhere."""

from __future__ import annotations

import re

from trellis_board.manual.__main__ import FOLDERS, main

from .conftest import HERE


def test_the_manual_is_copied_and_overwrites_nothing(tmp_path, capsys):
    kept = tmp_path / "docs" / "board.md"
    kept.parent.mkdir()
    kept.write_text("mine")
    assert main([str(tmp_path)]) == 0
    assert "is there already" in capsys.readouterr().err
    assert kept.read_text() == "mine"
    for folder in FOLDERS:
        for file in (HERE.parent / folder).rglob("*"):
            copy = tmp_path / file.relative_to(HERE.parent)
            if file.is_file() and copy != kept:
                assert copy.read_bytes() == file.read_bytes()


def test_the_manual_needs_a_folder(capsys):
    assert main([]) == 2
    assert "expected one folder" in capsys.readouterr().err


def test_the_readme_has_no_link_that_breaks_on_a_package_index():
    text = (HERE.parent / "README.md").read_text()
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []
