"""The difference growing along the calls, as a picture."""

import math
from html import escape
from typing import Any

# Distinguishable in print and by colour-blind readers (Okabe and Ito), on white and on black.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_WIDTH, _HEIGHT = 860, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 44, 56
_FLOOR = 1e-9  # what is smaller is drawn here: exactly equal has no logarithm

_STYLE = """<style>
  text { font: 12px sans-serif; fill: #222; }
  .title { font-size: 15px; }
  .frame, .grid { stroke: #888; fill: none; }
  .grid { stroke-opacity: .25; }
  .back { fill: #fff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .back { fill: #16181d; }
    .frame, .grid { stroke: #999; }
  }
</style>"""


def picture(report: Any) -> str:
    """The text of an SVG file: one line of points for each framework, on a scale of decades."""
    count = max(report.count, 2)
    top = max(
        [1e-3, *[s.size for steps in report.steps.values() for s in steps if math.isfinite(s.size)]]
    )
    low, high = math.log10(_FLOOR), math.ceil(math.log10(top))

    def place(number: float, size: float) -> tuple[float, float]:
        x = _LEFT + number / (count - 1) * (_WIDTH - _LEFT - _RIGHT)
        size = min(max(size, _FLOOR), 10.0**high)
        part = (math.log10(size) - low) / (high - low)
        return x, _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(str(report).splitlines()[0])}</title>",
        _STYLE,
        f'<rect class="back" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="title" x="{_LEFT}" y="26">Difference from {escape(report.first)}, '
        f"call by call ({escape(report.mode)})</text>",
    ]
    for decade in range(int(low), int(high) + 1, 1 if high - low < 8 else 2):
        _, y = place(0, 10.0**decade)
        out.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        out.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{decade}</text>')
    bottom = _HEIGHT - _BOTTOM
    out.append(f'<path class="frame" d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - _RIGHT}"/>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    out.append(f'<text x="{middle}" y="{_HEIGHT - 14}" text-anchor="middle">call</text>')
    for number in range(0, count, max(1, count // 8)):
        x, _ = place(number, _FLOOR)
        out.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{number}</text>')
    for i, (name, steps) in enumerate(report.steps.items()):
        out += _series(name, steps, place, _COLOURS[i % 4], i)
    out += _labels(report, place)
    return "\n".join([*out, "</svg>", ""])


def _series(name: str, steps: list[Any], place: Any, colour: str, i: int) -> list[str]:
    drawn = [step for step in steps if not math.isnan(step.size)]
    points = [place(step.number, step.size) for step in drawn]
    line = " ".join([f"{x:.1f},{y:.1f}" for x, y in points])
    out = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    for step, (x, y) in zip(drawn, points, strict=True):
        is_far = step.size > step.tolerance
        words = escape(
            f"call {step.number}: {step.call.name} at {step.call.where}: {step.size:.1e}"
        )
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if is_far else 2.5}" fill="{colour}">'
            f"<title>{words}</title></circle>"
        )
    y = _TOP + 18 * i
    out.append(f'<rect x="{_WIDTH - _RIGHT + 14}" y="{y}" width="12" height="12" fill="{colour}"/>')
    out.append(f'<text x="{_WIDTH - _RIGHT + 32}" y="{y + 10}">{escape(name)}</text>')
    return out


def _labels(report: Any, place: Any) -> list[str]:
    """The first difference by its name."""
    if not report.differences:
        return []
    first = report.differences[0]
    x, y = place(first.number, first.size)
    anchor = "start" if x < _WIDTH / 2 else "end"
    words = escape(f"{first.call.name} {first.call.where}".strip())
    return [f'<text x="{x:.1f}" y="{max(y - 10, 40):.1f}" text-anchor="{anchor}">{words}</text>']
