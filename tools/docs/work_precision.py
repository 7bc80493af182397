"""The errors of ODE solvers against the evaluations they needed, from docs/data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

from svg import Drawing, Palette

STORED = Path(__file__).resolve().parents[2] / "docs" / "data" / "work_precision.json"
TITLES = {"D3": "An orbit (DETEST D3)", "hires": "A stiff reaction (HIRES)"}


class Line(NamedTuple):
    """A method, the number of its colour, and SciPy's method of that colour."""

    method: str
    ink: int
    peer: str = ""
    dash: str = ""


# SciPy's methods are dashed, in the colour of the one here that is closest.
LEGEND = (
    Line("tsit5", 3),
    Line("bosh3", 4),
    Line("kvaerno3", 2, dash="2 4"),
    Line("dopri5", 0, peer="RK45"),
    Line("dopri8", 1, peer="DOP853"),
    Line("kvaerno5", 2, peer="Radau"),
)


def work_precision(colours: Palette) -> str:
    """Two panels on the same axes, both logarithmic."""
    found = json.loads(STORED.read_text(encoding="utf-8"))
    inks = (*colours.series, colours.text)
    picture = Drawing(760, 470, colours, "Errors of ODE solvers against evaluations")
    for i, (name, rows) in enumerate(found.items()):
        _panel(picture, 62 + 362 * i, name, rows, inks)
    for i, (method, ink, peer, dash) in enumerate(LEGEND):
        x, y = 62 + 230 * (i % 3), 426 + 24 * (i // 3)
        picture.polyline([(x, y), (x + 30, y)], inks[ink], 2.4, dash)
        picture.text(x + 36, y + 4, method, anchor="start", size=12, code=True)
        if peer:
            picture.polyline([(x + 102, y), (x + 132, y)], inks[ink], 1.6, "5 4")
            picture.text(x + 138, y + 4, f"SciPy {peer}", anchor="start", size=12)
    picture.text(10, 24, "error", anchor="start", size=12)
    return picture.svg()


def _panel(
    picture: Drawing,
    left: float,
    name: str,
    rows: dict[str, list[list[float]]],
    inks: tuple[str, ...],
) -> None:
    width, top, bottom = 320, 44, 352
    counts = [count for row in rows.values() for _, count, _ in row]
    errors = [error for row in rows.values() for _, _, error in row]
    first, last = math.floor(10 * math.log10(min(counts))) / 10, math.log10(max(counts)) + 0.05
    low, high = math.floor(math.log10(min(errors))), math.ceil(math.log10(max(errors)))

    def place(count: float, error: float) -> tuple[float, float]:
        x = left + width * (math.log10(count) - first) / (last - first)
        return x, bottom - (bottom - top) * (math.log10(error) - low) / (high - low)

    for power in range(low, high + 1, 2):
        y = place(10**first, 10.0**power)[1]
        picture.line(left, y, left + width, y)
        picture.text(left - 6, y + 4, f"{10.0**power:.0e}", anchor="end", size=11)
    for count in (300, 1000, 3000, 10_000, 30_000, 100_000, 300_000):
        if first <= math.log10(count) <= last:
            x = place(count, 10.0**low)[0]
            picture.line(x, top, x, bottom)
            picture.text(x, bottom + 18, f"{count:,}", size=11)
    for method, ink, peer, dash in LEGEND:
        picture.polyline([place(*row[1:]) for row in rows[method]], inks[ink], 2.4, dash)
        if peer:
            picture.polyline([place(*row[1:]) for row in rows[peer]], inks[ink], 1.6, "5 4")
    picture.text(left, 26, TITLES[name], anchor="start", size=15, bold=True)
    picture.text(left + width / 2, bottom + 40, "evaluations of the equation", size=12)
