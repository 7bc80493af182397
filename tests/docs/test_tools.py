"""The examples in the tools that make the site run, and show what they say."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "docs"
sys.path.insert(0, str(TOOLS))

# Extras `docs` for some; the ledger loads all frameworks, and its own test runs it.
NEEDS = {"docstrings": "griffe", "notebooks": "nbformat"}
LEFT_OUT = {"hooks", "ledger", "ledger_helpers", "demo_curves"}


@pytest.mark.parametrize("name", sorted({p.stem for p in TOOLS.glob("*.py")} - LEFT_OUT))
def test_examples(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_problems_of_a_site_are_found(tmp_path):
    import check_site

    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html">b</a><a href="#nowhere">c</a><img src="x.png">'
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org">ok</a>'
    )
    found = "\n".join(check_site.problems(tmp_path))
    assert "no page at b.html" in found and "no place #nowhere" in found
    assert "no page at x.png" in found and "has no text" in found
    assert "https://cdn.example/x.js from the network" in found and "example.org" not in found
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="#top">up</a>')
    assert check_site.problems(tmp_path) == []
