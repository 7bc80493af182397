"""Every code block of every page runs, and prints what the page says."""

import functools
import re
import sys
from pathlib import Path

import pytest

from frameworks import BACKENDS, framework_of

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))

import code_blocks  # noqa: E402

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "packages" / "board").glob("docs/*.md")),
]
PAGES = [page for page in PAGES if "seeds" not in page.parts]
# What is shown and is no Python: commands, settings, drawings in letters.
OTHER_LANGUAGES = {"sh", "markdown", "toml", "yaml", "text", "output", "ini", "json"}


@pytest.fixture
def quick_compiler(monkeypatch):
    torch = sys.modules.get("torch")
    if torch is not None:
        torch._dynamo.reset()
        monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_runs(page, request, tmp_path, monkeypatch):
    alone = request.config.getoption("--alone")
    blocks = [b for b in code_blocks.blocks(page.read_text()) if b.language != "setup"]
    without = set()
    if alone:
        asked = {name for block in blocks for name in block.needs}
        without = {name for name in asked if framework_of(name) not in (None, alone)}
    monkeypatch.chdir(tmp_path)  # what a page writes is gone afterwards
    assert code_blocks.run(page, without) == sum(not without & {*b.needs} for b in blocks)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_output_is_empty(page):
    """A box without a line in it says nothing, and is equal to any code that prints nothing."""
    for block in code_blocks.blocks(page.read_text()):
        assert block.output is None or block.output.strip(), f"line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_escapes(page):
    """A fence without a language, or with one that nobody knows, would never be run."""
    fences = re.findall(r"^ *```(.*)$", page.read_text(), re.MULTILINE)
    assert len(fences) % 2 == 0
    opened = [fence.strip() for fence in fences[::2]]
    assert set(opened) - {"python", "pycon"} - OTHER_LANGUAGES == set()
    blocks = [b for b in code_blocks.blocks(page.read_text()) if b.language != "setup"]
    assert len(blocks) == opened.count("python") + opened.count("pycon")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_needs_are_known(page):
    asked = [(n, b.line) for b in code_blocks.blocks(page.read_text()) for n in b.needs]
    assert [(name, line) for name, line in asked if framework_of(name) not in BACKENDS] == []


def test_a_wrong_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(2)\n```\n\n```output\n3\n```\n")
    with pytest.raises(AssertionError, match="the page says\n3"):
        code_blocks.run(page)
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        code_blocks.run(page)


def test_an_error_names_the_line_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        code_blocks.run(page)
    assert f"{page}:3" in caught.value.__notes__[0]
