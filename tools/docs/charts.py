"""Charts of what was measured: loss curves of the demo, the board compared with the seed tables,
speed.

The figures come from files in docs/ that runs have written; nothing here invents a number.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from statistics import median

from scaling import thousand_workers
from svg import Drawing, Palette
from work_precision import work_precision

DOCS = Path(__file__).resolve().parents[2] / "docs"
LOSSES = DOCS / "data" / "demo_losses.json"
LABELS = {"numpy": "NumPy", "jax": "JAX", "torch": "PyTorch", "tensorflow": "TensorFlow"}


def four_curves(colours: Palette) -> str:
    """The loss of the demo on four frameworks: one curve on top of the other."""
    curves = json.loads(LOSSES.read_text(encoding="utf-8"))["losses"]
    picture = Drawing(760, 400, colours, "The loss of one program on four frameworks")
    left, right, top, bottom = 64, 736, 44, 350
    highest = math.ceil(max(max(curve) for curve in curves.values()) * 2) / 2
    steps = max(len(curve) for curve in curves.values())

    def place(step: int, loss: float) -> tuple[float, float]:
        part = loss / highest
        return left + (right - left) * step / (steps - 1), bottom - (bottom - top) * part

    tick = 0.5
    while tick * 6 < highest:
        tick *= 2
    for i in range(int(highest / tick) + 1):
        _, y = place(0, i * tick)
        picture.line(left, y, right, y)
        picture.text(left - 8, y + 4, f"{i * tick:g}", anchor="end", size=12)
    for step in range(0, steps, 60):
        picture.text(place(step, 0)[0], bottom + 20, str(step), size=12)
    widths, dashes = (10.0, 7.0, 4.0, 1.8), ("", "", "", "6 5")
    for i, (name, curve) in enumerate(curves.items()):
        points = [place(step, loss) for step, loss in enumerate(curve)]
        picture.polyline(points, colours.series[i], widths[i], dashes[i])
        y = top + 16 + 24 * i
        picture.polyline([(560, y), (600, y)], colours.series[i], widths[i], dashes[i])
        picture.text(610, y + 4, LABELS[name], anchor="start")
    picture.text(
        left,
        26,
        "Handwritten digits, the same program and seed",
        anchor="start",
        size=16,
        bold=True,
    )
    picture.text((left + right) / 2, 388, "step", size=12)
    picture.text(16, 36, "loss", anchor="start", size=12)
    return picture.svg()


def beside_the_seeds(colours: Palette) -> str:
    """Green cells of the five seed tables, then and now, by framework."""
    then, now, total = seed_cells()
    picture = Drawing(760, 250, colours, "The rows of the seed tables, before and on Trellis")
    left, width = 120, 560
    for i, name in enumerate(LABELS):
        y = 50 + 48 * i
        picture.text(left - 12, y + 22, LABELS[name], anchor="end")
        for j, (count, fill) in enumerate(
            [(then[name], colours.faint), (now[name], colours.strong)]
        ):
            length = width * count / total[name]
            picture.rectangle(left, y + 18 * j, length, 15, fill, round=2)
            picture.text(
                left + length + 6,
                y + 12 + 18 * j,
                f"{count} of {total[name]}",
                anchor="start",
                size=12,
            )
    picture.rectangle(left, 18, 12, 12, colours.faint, round=2)
    picture.text(left + 18, 29, "the seed tables, 2023", anchor="start", size=12)
    picture.rectangle(left + 180, 18, 12, 12, colours.strong, round=2)
    picture.text(left + 198, 29, "the same tests on Trellis", anchor="start", size=12)
    return picture.svg()


def seed_cells() -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Green cells in the seeds, green cells on Trellis, and all cells, by framework."""
    then: Counter[str] = Counter()
    now: Counter[str] = Counter()
    total: Counter[str] = Counter()
    columns: list[str] = []
    for line in (DOCS / "board" / "beside.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if cells[0] == "test":
            columns = cells[1:]
        elif cells[0].startswith("`"):
            for name, cell in zip(columns, cells[1:], strict=True):
                before, _, after = cell.partition("→")
                total[name] += 1
                then[name] += "success" in before
                now[name] += "success" in after
    return then, now, total


def ratios(title: str) -> list[tuple[str, dict[str, float]]]:
    """The rows of a section of docs/benchmarks.md: what was measured, and each contestant's ratio
    to the native code."""
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}")[2].partition("\n## ")[0]
    found: list[tuple[str, dict[str, float]]] = []
    names: list[str] = []
    for line in section.splitlines():
        if not line.startswith("|") or line.startswith("|---"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not cells[0]:
            names = cells[1:]
            continue
        row = {}
        for name, cell in zip(names[1:], cells[2:], strict=False):
            number = re.match(r"\**([\d.]+)\b", cell)
            if number and name != "limit":
                row[name] = float(number[1])
        found.append((cells[0], row))
    return found


def training(colours: Palette) -> str:
    """A training step compared with native code: Trellis and Keras."""
    rows = [
        (label, row)
        for label, row in ratios("One training step with Adam, forward to update")
        if label.endswith((", eager", ", compiled")) and "keras" in row
    ]
    picture = Drawing(
        760, 74 + 30 * len(rows), colours, "A training step, compared with native code"
    )
    left, width, most = 220, 450, 6.0
    unit = width / most
    fills = {"trellis": colours.strong, "keras": colours.series[1]}
    for i, (name, fill) in enumerate(fills.items()):
        picture.rectangle(left + 150 * i, 16, 12, 12, fill, round=2)
        label = {"trellis": "Trellis", "keras": "Keras 3"}[name]
        picture.text(left + 150 * i + 18, 27, label, anchor="start", size=12)
    for i, (label, row) in enumerate(rows):
        y = 50 + 30 * i
        picture.text(left - 10, y + 16, label, anchor="end", size=12)
        for j, (name, fill) in enumerate(fills.items()):
            length = min(row[name], most) * unit
            picture.rectangle(left, y + 12 * j, length, 10, fill, round=2)
            words = f"{row[name]:.2f}" + (" (cut)" if row[name] > most else "")
            picture.text(left + length + 5, y + 9 + 12 * j, words, anchor="start", size=11)
    x = left + unit
    picture.line(x, 40, x, 50 + 30 * len(rows), dashed=True)
    picture.text(x, 66 + 30 * len(rows), "1 = native code", size=12)
    return picture.svg()


def one_call(colours: Palette) -> str:
    """What a call costs over the native one, for each library, on a logarithmic axis."""
    rows = ratios("One call on 4 elements: native, Trellis, and the peers")
    names = {"trellis": "Trellis", "array-api-compat": "array-api-compat", "keras": "Keras 3"}
    names |= {"ivy": "Ivy"}
    picture = Drawing(760, 300, colours, "One call on 4 elements, median of ten functions")
    left, width, decades = 120, 560, 3.5
    fills = dict(zip(names, (colours.strong, *colours.series[:1], *colours.series[1:3])))
    for i, (name, label) in enumerate(names.items()):
        picture.rectangle(left + 150 * i, 14, 12, 12, fills[name], round=2)
        picture.text(left + 150 * i + 18, 25, label, anchor="start", size=12)
    for power in range(4):
        x = left + width * (power + 0.5) / (decades + 0.5)
        picture.line(x, 40, x, 268)
        picture.text(x, 286, f"{10**power:,} x", size=12)
    for i, (backend, label) in enumerate(LABELS.items()):
        y = 46 + 56 * i
        picture.text(left - 12, y + 28, label, anchor="end")
        for j, name in enumerate(names):
            values = [row[name] for what, row in rows if what.startswith(backend) and name in row]
            if values:
                value = median(values)
                length = width * (math.log10(value) + 0.5) / (decades + 0.5)
                picture.rectangle(left, y + 12 * j, max(length, 2), 10, fills[name], round=2)
                picture.text(
                    left + length + 5, y + 9 + 12 * j, f"{value:.3g}", anchor="start", size=11
                )
    return picture.svg()


ALL = {
    "four_curves": four_curves,
    "beside_the_seeds": beside_the_seeds,
    "training": training,
    "one_call": one_call,
    "thousand_workers": thousand_workers,
    "work_precision": work_precision,
}
