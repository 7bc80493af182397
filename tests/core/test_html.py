"""What notebooks show: well-formed, with all that a user looks for, and no markup from names."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import trellis
from trellis import Container, nn
from trellis._core import html
from trellis.convert.weights.report import WeightsReport
from trellis.train import History

HOSTILE = "<script>alert(1)</script>&\"'"


def parsed(shown):
    """The elements of well-formed HTML; a script among them would be one."""
    root = ElementTree.fromstring(f"<root>{shown}</root>")
    assert [x for x in root.iter() if x.tag.endswith("script")] == []
    return root


def cells(shown):
    return [[cell.text or "" for cell in row] for row in parsed(shown).iter("tr")]


def test_a_module(backend):
    with trellis.using_backend(backend):
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    rows = cells(model._repr_html_())
    assert rows[0] == ["module", "class", "parameters", "memory"]
    assert ["layers_v0", "Linear", "16", "64 B"] in rows and [
        "layers_v1",
        "Tanh",
        "0",
        "0 B",
    ] in rows


def test_a_container(array):
    shown = Container({"a": {"w": array(np.ones((2, 3), "float32"))}, HOSTILE: "x" * 200})
    rows = dict(cells(shown._repr_html_()))
    assert "float32" in rows["a/w"] and rows["a/w"].endswith("(2, 3)")
    assert len(rows[HOSTILE]) == 80


def test_long_tables_are_cut():
    rows = cells(html.table(["n"], [[i] for i in range(1000)]))
    assert len(rows) == html.MOST_ROWS + 2 and rows[1] == ["0"] and rows[-1] == ["999"]
    assert "900 more" in rows[html.MOST_ROWS // 2 + 1][0]


def test_a_history():
    history = History([3.0, 2.0], {"loss": [2.5], HOSTILE: [0.5]})
    rows = cells(history._repr_html_())
    assert rows == [["epoch", "loss", HOSTILE], ["1", "2.5", "0.5"]]
    assert "<svg" in history._repr_html_()
    parsed(History()._repr_html_())


@pytest.mark.parametrize("name", ["w", HOSTILE])
def test_reports(name):
    shown = WeightsReport(matched={name: "x"}, unexpected=(name,))._repr_html_()
    assert parsed(shown)[0].text == str(WeightsReport(matched={name: "x"}, unexpected=(name,)))


@pytest.mark.needs("torch")
def test_a_comparison_of_two_frameworks():
    report = trellis.diverge(trellis.exp, (np.ones(2),), backends=("numpy", "torch"))
    shown = report._repr_html_()
    assert "<svg" in shown and parsed(shown)[-1].text == str(report)
