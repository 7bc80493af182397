"""The tutorials as notebooks: made of the same pages, and run."""

import functools
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))

pytest.importorskip("nbclient", reason="the extra `docs` is not installed")

import code_blocks  # noqa: E402
import nbformat  # noqa: E402
import notebooks  # noqa: E402

# jupyter_client warns of its own future, and a kernel's sockets are closed by the collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def run(page):
    """The notebook of a page after a run; an error in a cell raises."""
    from nbclient import NotebookClient

    made = notebooks.notebook(ROOT / "docs" / page)
    setting = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})"
    made.cells.insert(0, nbformat.v4.new_code_cell(setting))
    NotebookClient(made, timeout=300, kernel_name="python3").execute()
    return made


def printed(made):
    texts = [
        output.text
        for cell in made.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stdout"
    ]
    return "".join(texts)


@functools.cache
def expected(page):
    found = code_blocks.blocks((ROOT / "docs" / page).read_text(encoding="utf-8"))
    return "".join(block.output or "" for block in found)


@pytest.mark.parametrize("page", notebooks.TUTORIALS)
def test_the_notebook_has_all_of_the_page(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    made = notebooks.notebook(ROOT / "docs" / page)
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    blocks = [block for block in code_blocks.blocks(text) if block.language != "pycon"]
    assert code == [block.code.rstrip() for block in blocks]
    prose = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "<!--" not in prose
    assert not re.search(r"\]\((?!https?:)", prose), "a link that leads nowhere outside of the site"


def without_space(text):
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.needs("torch")
def test_a_notebook_runs():
    made = run("learn/ten_minutes.md")
    assert without_space(printed(made)) == without_space(expected("learn/ten_minutes.md"))


@pytest.mark.long
@pytest.mark.needs("jax", "torch", "tensorflow")
@pytest.mark.parametrize("page", [p for p in notebooks.TUTORIALS if "ten_minutes" not in p])
def test_notebooks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "Error" not in printed(run(page)).replace("TracingError", "").replace("DeviceError", "")
