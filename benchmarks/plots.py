"""Small SVG plots without any library: bars of ratios, and lines on logarithmic axes."""

from math import ceil, floor, log10
from xml.sax.saxutils import escape

COLOURS = {"native": "#8a8f98", "trellis": "#1a7f4b", "keras": "#d0443e", "other": "#3b6fb5"}
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
# Text, paper and grid follow the reader's light or dark; the colours of the contestants do for both.
STYLE = """<style>
.paper { fill: #fff } .ink { fill: #222 } .pale { fill: #777 } .axis { stroke: #222 }
.frame { stroke: #ccc } .grid { stroke: #eee }
@media (prefers-color-scheme: dark) {
.paper { fill: #16181d } .ink { fill: #e4e6ea } .pale { fill: #9aa0aa } .axis { stroke: #e4e6ea }
.frame { stroke: #4a4f58 } .grid { stroke: #2b2f36 }
}
</style>"""


def colour(name):
    return COLOURS.get(name, COLOURS["other"])


def svg(width, height, parts):
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'{FONT}>\n{STYLE}\n<rect class="paper" width="{width}" height="{height}"/>\n{body}\n</svg>\n'
    )


def text(x, y, words, anchor="start", ink="ink"):
    return f'<text class="{ink}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(words))}</text>'


def bars(title, rows):
    """Horizontal bars, `rows` of (label, {name: ratio}); the line at 1 is the native code."""
    longest = max(max(ratios.values()) for _, ratios in rows)
    left, width, high, gap = 210, 820, 11, 9
    scale = (width - left - 60) / max(longest, 1.3)
    parts, y = [text(10, 20, title)], 38
    names = list(dict.fromkeys(name for _, ratios in rows for name in ratios))
    for i, name in enumerate(names):
        parts.append(
            f'<rect x="{left + 130 * i}" y="{y - 9}" width="10" height="10" fill="{colour(name)}"/>'
        )
        parts.append(text(left + 14 + 130 * i, y, name))
    y += 18
    top = y - 6
    for label, ratios in rows:
        parts.append(text(left - 8, y + high * len(ratios) / 2 + 4, label, "end"))
        for name, ratio in ratios.items():
            parts.append(
                f'<rect x="{left}" y="{y}" width="{ratio * scale:.1f}" height="{high - 1}" fill="{colour(name)}"/>'
            )
            parts.append(text(left + ratio * scale + 4, y + high - 2, f"{ratio:.2f}"))
            y += high
        y += gap
    x = left + scale
    parts.append(
        f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{y}" class="axis" stroke-dasharray="3 3"/>'
    )
    return svg(width, y + 10, parts)


def lines(title, panels, marks=None):
    """Panels of log-log lines: {panel: {name: [(x, seconds), ...]}}, side by side; `marks` are
    words below them."""
    size, pad = 250, 46
    parts = [text(10, 20, title)]
    ys = [y for curves in panels.values() for points in curves.values() for _, y in points]
    low, high = floor(log10(min(ys))), ceil(log10(max(ys)))
    for i, (panel, curves) in enumerate(panels.items()):
        left, top = pad + i * (size + 24), 50
        xs = [x for points in curves.values() for x, _ in points]
        first, last = log10(min(xs)), log10(max(xs))
        inner = size - 40

        def place(x, y, left=left, top=top, first=first, last=last, inner=inner):
            across = (log10(x) - first) / ((last - first) or 1)
            return left + across * inner, top + inner - (log10(y) - low) / (
                (high - low) or 1
            ) * inner

        parts.append(
            f'<rect x="{left}" y="{top}" width="{inner}" height="{inner}" fill="none" class="frame"/>'
        )
        parts.append(text(left + inner / 2, top + inner + 34, panel, "middle"))
        words = (marks or {}).get(panel, "")
        parts.append(text(left + inner / 2, top + inner + 50, words, "middle", "pale"))
        for power in range(low, high + 1):
            y = place(min(xs), 10**power)[1]
            parts.append(
                f'<line x1="{left}" y1="{y:.1f}" x2="{left + inner}" y2="{y:.1f}" class="grid"/>'
            )
            if i == 0:
                label = {
                    -7: "0.1 µs",
                    -6: "1 µs",
                    -5: "10 µs",
                    -4: "0.1 ms",
                    -3: "1 ms",
                    -2: "10 ms",
                    -1: "0.1 s",
                }
                parts.append(text(left - 4, y + 4, label.get(power, f"1e{power} s"), "end"))
        for x in sorted(set(xs)):
            parts.append(text(place(x, 10**low)[0], top + inner + 16, x, "middle", "pale"))
        for name, points in curves.items():
            path = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in points)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{colour(name)}" stroke-width="2"/>'
            )
    names = list(next(iter(panels.values())))
    for k, name in enumerate(names):
        parts.append(
            f'<rect x="{pad + 110 * k}" y="28" width="10" height="10" fill="{colour(name)}"/>'
        )
        parts.append(text(pad + 14 + 110 * k, 37, name))
    return svg(pad + len(panels) * (size + 24), 50 + size + 20, parts)
