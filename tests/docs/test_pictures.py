"""The pictures show what was measured."""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from trellis import demo

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools" / "docs"), str(ROOT / "tools")]

import charts  # noqa: E402
import pictures  # noqa: E402
import scaling  # noqa: E402
import solver_errors  # noqa: E402

WORK = json.loads(solver_errors.STORED.read_text())
LOSSES = json.loads((ROOT / "docs" / "data" / "demo_losses.json").read_text())
ALL = pictures.all_pictures()


@pytest.mark.parametrize("address", ALL)
def test_pictures_are_svg_with_a_title(address):
    root = ElementTree.fromstring(ALL[address])
    assert root.find("{http://www.w3.org/2000/svg}title").text
    assert not re.search(r"(href|src)=.http", ALL[address]), "a picture loads nothing"


@pytest.mark.parametrize("address", ALL)
def test_nothing_is_drawn_outside(address):
    root = ElementTree.fromstring(ALL[address])
    width, height = float(root.get("width")), float(root.get("height"))
    for node in root.iter():
        if node.tag.endswith(("rect", "text")) and node.get("x"):
            assert 0 <= float(node.get("x")) <= width
            assert 0 <= float(node.get("y")) <= height


def test_pictures_of_the_readme_are_the_ones_of_the_site():
    for name in ("four_curves-light.svg", "four_curves-dark.svg"):
        kept = (ROOT / "docs" / "pictures" / name).read_text()
        assert kept == ALL[f"pictures/{name}"], "run: python tools/docs/pictures.py"


def test_the_four_curves_coincide():
    curves = np.array(list(LOSSES["losses"].values()))
    assert list(LOSSES["losses"]) == ["numpy", "jax", "torch", "tensorflow"]
    assert curves.shape == (4, 240)
    assert np.ptp(curves, axis=0).max() < 1e-2  # 240 steps of rounding in float32 apart
    assert np.ptp(curves[:, :30], axis=0).max() < 1e-3


def test_the_curve_is_still_that_of_the_demo(monkeypatch):
    """The first four steps on NumPy: the same data, model and seed as in the picture."""
    stop = StopAfter(4)
    monkeypatch.setattr(
        demo.trellis.train, "fit", lambda *a, **k: stop.fit(*a, **k, callbacks=[stop])
    )
    losses, _ = demo.train("numpy", LOSSES["epochs"], compile=False)
    np.testing.assert_allclose(losses[:4], LOSSES["losses"]["numpy"][:4], rtol=1e-3)


class StopAfter(demo.trellis.train.Callback):
    def __init__(self, steps):
        self.steps, self.fit = steps, demo.trellis.train.fit
        self.count = 0

    def on_step(self, run):
        self.count += 1
        if self.count >= self.steps:
            run.stop()


def test_seed_cells_are_those_of_the_board():
    then, now, total = charts.seed_cells()
    page = (ROOT / "docs" / "board" / "beside.md").read_text()
    said = re.search(r"(\d+) of (\d+) cells are green in trellis", page)
    assert (sum(now.values()), sum(total.values())) == (int(said[1]), int(said[2]))
    assert sum(then.values()) == page.count("✅ success →")


def test_speed_is_that_of_the_benchmarks():
    rows = dict(charts.ratios("One training step with Adam, forward to update"))
    line = next(
        line
        for line in (ROOT / "docs" / "benchmarks.md").read_text().splitlines()
        if line.startswith("| jax mlp, compiled")
    )
    numbers = [cell.split()[0].strip("*") for cell in line.strip("| ").split("|")[2:4]]
    found = rows["jax mlp, compiled"]
    assert [found["trellis"], found["keras"]] == [float(number) for number in numbers]


def test_the_calculation_for_a_thousand_workers():
    """Against sums over single messages, and the numbers of the page."""
    for size in scaling.BUFFERS.values():
        message = scaling.LATENCY + size / 8 / scaling.BANDWIDTH
        assert scaling.ring(8, size) == pytest.approx(14 * message)
        # Halves, quarters, eighths, and back.
        parts = [scaling.LATENCY + size / 2**k / scaling.BANDWIDTH for k in (1, 2, 3)]
        assert scaling.halving(8, size) == pytest.approx(2 * sum(parts))
    page = (ROOT / "docs" / "distributed.md").read_text()
    large = [f"{1e3 * way(1000, 100e6):.0f} ms" for way in scaling.WAYS.values()]
    small = [f"{1e3 * way(1000, 1e6):.2g}" for way in scaling.WAYS.values()]
    assert all([number in page for number in large]), large
    assert small == ["41", "1", "6.8"] and "41, 1.0 and 6.8 ms" in page
    assert f"{scaling.bytes_sent(1000, 100e6) / 1e6:.1f} MB" in page


@pytest.mark.parametrize("method", solver_errors.METHODS)
def test_evaluations_of_ode_solvers_are_those_in_the_picture(method):
    """At the largest tolerance on the orbit."""
    rtol, count, error = WORK["D3"][method][0]
    found, y = solver_errors.solved("D3", method, rtol)
    assert found == count
    # Three digits are stored. Rounding of another machine is 1e-16, far below these errors.
    exact = solver_errors.PROBLEMS["D3"].exact()
    assert np.max(np.abs(y - exact)) == pytest.approx(error, rel=1e-2)


def test_evaluations_of_a_stiff_equation_are_those_in_the_picture():
    rtol, count, _ = WORK["hires"]["kvaerno5"][0]
    assert solver_errors.solved("hires", "kvaerno5", rtol)[0] == count
