"""Curves as pictures: SVG by the few lines below, PNG through matplotlib."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from .._core.errors import ArgumentError, BackendNotInstalledError
from .._core.files import replace_file
from .._core.kinds import check_arguments

Path = str | os.PathLike[str]
# Values at 1, 2, 3, ..., or a dict from places to values.
Curve = Sequence[float] | Mapping[int, float] | Mapping[float, float]
# From places to the lower and the upper end.
Band = Mapping[int, tuple[float, float]] | Mapping[float, tuple[float, float]]
Points = list[tuple[float, float]]

# Distinguishable in print and by colour-blind readers (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
# Curves that coincide must all stay visible: each is thinner than the one it lies on, and dashed
# differently.
_WIDTHS = (9.0, 6.0, 3.5, 1.5)
_DASHES = ("", "", "", "6 5")

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 24, 44, 52


def draw_curves(
    path: Path,
    curves: Mapping[str, Curve],
    /,
    *,
    title: str = "",
    x_label: str = "step",
    y_label: str = "loss",
    log_scale: bool = False,
    log_x: bool = False,
    points: Mapping[str, Curve] | None = None,
    bands: Mapping[str, Band] | None = None,
) -> None:
    """Draw one or several curves into one picture; the name of the file decides: `.svg` or `.png`.

    SVG needs nothing; PNG needs matplotlib. Values that are not finite leave gaps. The first curve
    is the thickest, so curves that coincide show as bands of several colours. A curve is a sequence,
    whose values are at 1, 2, 3, ..., or a dict from places to values. A band lies around the curve
    of the same name: a dict from places to its lower and upper ends.

    >>> import tempfile, pathlib
    >>> from trellis.train import draw_curves
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_curves(f"{folder}/loss.svg", {"run": [3.0, 2.0, 1.5]}, title="Loss")
    ...     pathlib.Path(f"{folder}/loss.svg").read_text()[:4]
    '<svg'
    """
    check_arguments(draw_curves, locals())
    drawn(
        path,
        curves,
        title,
        x_label,
        y_label,
        log_scale=log_scale,
        log_x=log_x,
        points=points,
        bands=bands,
    )


@dataclass(frozen=True)
class Picture:
    """A picture as text, which notebooks show."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def drawn(
    path: Path | None,
    curves: Mapping[str, Curve],
    title: str,
    x_label: str,
    y_label: str,
    *,
    log_scale: bool = False,
    log_x: bool = False,
    points: Mapping[str, Curve] | None = None,
    bands: Mapping[str, Band] | None = None,
) -> Picture:
    """The picture of curves, written to a file if one is named."""
    shapes = Shapes(
        {name: _points(curve) for name, curve in curves.items()},
        {name: _points(curve) for name, curve in (points or {}).items()},
        {name: _edges(band) for name, band in (bands or {}).items()},
    )
    labels = (title, x_label, y_label)
    picture = Picture(svg_of_curves(shapes, labels, log_scale, log_x))
    if path is None:
        return picture
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending == ".svg":
        replace_file(path, [picture.svg.encode()])
    elif ending == ".png":
        replace_file(path, [_png_of_curves(shapes, labels, log_scale, log_x)])
    else:
        raise ArgumentError(
            f"A picture is drawn to a file that ends in .svg or .png, got {os.fspath(path)!r}."
        )
    return picture


def _points(curve: Curve) -> Points:
    pairs = curve.items() if isinstance(curve, Mapping) else enumerate(curve, 1)
    return [(float(x), float(y)) for x, y in pairs]


def _edges(band: Band) -> tuple[Points, Points]:
    rows = [(float(x), float(low), float(high)) for x, (low, high) in band.items()]
    return [(x, low) for x, low, _ in rows], [(x, high) for x, _, high in rows]


class Shapes(NamedTuple):
    """What is drawn, by names: lines, single points, and the lower and upper edges of bands."""

    lines: dict[str, Points]
    points: dict[str, Points]
    bands: dict[str, tuple[Points, Points]]

    def all(self) -> Points:
        """Every point of them, for the axes."""
        edges = [edge for band in self.bands.values() for edge in band]
        groups = [*self.lines.values(), *self.points.values(), *edges]
        return [point for group in groups for point in group]

    def names(self) -> list[str]:
        """In the order of their colours; a band has that of its curve."""
        return list(dict.fromkeys([*self.lines, *self.points, *self.bands]))


def svg_of_curves(
    shapes: Shapes, labels: tuple[str, str, str], log_scale: bool, log_x: bool = False
) -> str:
    """The text of an SVG file; the labels are the title, and those of x and y."""
    title, x_label, y_label = labels
    ys = [y for _, y in shapes.all() if _is_drawn(y, log_scale)]
    if log_scale:
        low, high = (min(ys), max(ys)) if ys else (0.1, 1.0)
        ticks = _decades(low, high)
    else:
        low, high = (min(ys), max(ys)) if ys else (0.0, 1.0)
        ticks = _ticks(min(low, 0.0) if low < 0.4 * high else low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    xs = [x for x, _ in shapes.all()]
    if log_x:
        x_ticks = _decades(min(xs), max(xs)) if xs else [0.1, 1.0]
        first, last = x_ticks[0], x_ticks[-1]
    elif min([*xs, 1.0]) < 1.0:  # places, not the numbers of steps
        x_ticks = _ticks(min(xs), max(xs))
        first, last = x_ticks[0], x_ticks[-1]
    else:
        first, last = 1.0, max([*xs, 2.0])
        x_ticks = [t for t in _ticks(1, last) if 1 <= t <= last and t == int(t)]

    def place(x: float, y: float) -> tuple[float, float]:
        along = _part(x, first, last, log_x) * (_WIDTH - _LEFT - _RIGHT)
        up = _part(y, low, high, log_scale) * (_HEIGHT - _TOP - _BOTTOM)
        return _LEFT + along, _HEIGHT - _BOTTOM - up

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" font-family="system-ui, sans-serif" font-size="13" fill="#333">',
        f"<title>{escape(title or y_label)}</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for tick in ticks:
        _, y = place(first, tick)
        out.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#e3e3e3"/>')
        out.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in x_ticks:
        x, _ = place(tick, high)
        out.append(f'<path d="M{x:.1f} {_HEIGHT - _BOTTOM}v5" stroke="#888"/>')
        out.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle">{tick:g}</text>'
        )
    out.append(
        f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}" fill="none" stroke="#888"/>'
    )

    def spots(piece: Points) -> list[str]:
        return [f"{x:.1f},{y:.1f}" for x, y in [place(x, y) for x, y in piece]]

    names = shapes.names()
    for name, edges in shapes.bands.items():
        colour = COLOURS[names.index(name) % len(COLOURS)]
        lower, upper = [[p for p in edge if _is_drawn(p[1], log_scale)] for edge in edges]
        corners = " ".join(spots([*lower, *upper[::-1]]))
        out.append(
            f'<polygon points="{corners}" fill="{colour}" fill-opacity="0.2">'
            f"<title>{escape(name)}</title></polygon>"
        )
    for name, line in shapes.points.items():
        colour = COLOURS[names.index(name) % len(COLOURS)]
        for piece in _pieces(line, log_scale):
            for spot in spots(piece):
                across, down = spot.split(",")
                out.append(f'<circle cx="{across}" cy="{down}" r="2.5" fill="{colour}"/>')
    for i, name in enumerate(names):
        colour, width, dash = _style(i, len(shapes.lines))
        if name not in shapes.lines:
            width, dash = 5.0, ""
        for piece in _pieces(shapes.lines.get(name, []), log_scale):
            out.append(
                f'<polyline points="{" ".join(spots(piece))}" fill="none" stroke="{colour}" '
                f'stroke-width="{width:g}" stroke-linejoin="round" '
                f'stroke-linecap="round"{f" stroke-dasharray={dash!r}" if dash else ""}>'
                f"<title>{escape(name)}</title></polyline>"
            )
        y = _TOP + 10 + 20 * i
        out.append(
            f'<path d="M{_WIDTH - 150} {y}h26" stroke="{colour}" stroke-width="{width:g}"'
            f"{f' stroke-dasharray={dash!r}' if dash else ''}/>"
            f'<text x="{_WIDTH - 116}" y="{y + 4}">{escape(name)}</text>'
        )
    out += [
        f'<text x="{_LEFT}" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(18 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
        "</svg>\n",
    ]
    return "\n".join(out)


def _png_of_curves(
    shapes: Shapes, labels: tuple[str, str, str], log_scale: bool, log_x: bool
) -> bytes:
    title, x_label, y_label = labels
    try:
        # The figure without pyplot: no window, no state that the user's own figures share.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise BackendNotInstalledError(
            "PNG pictures need matplotlib, which is not installed. Run: pip install matplotlib "
            "(or write to a file that ends in .svg, which needs nothing)."
        ) from None
    import io

    figure: Any = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.add_subplot()
    names = shapes.names()
    for name, (lower, upper) in shapes.bands.items():
        axes.fill_between(
            [x for x, _ in lower],
            [y for _, y in lower],
            [y for _, y in upper],
            color=COLOURS[names.index(name) % len(COLOURS)],
            alpha=0.2,
            linewidth=0,
        )
    for name, line in shapes.points.items():
        colour = COLOURS[names.index(name) % len(COLOURS)]
        axes.scatter([x for x, _ in line], [y for _, y in line], 12, colour, label=name)
    for i, (name, line) in enumerate(shapes.lines.items()):
        colour, width, dash = _style(i, len(shapes.lines))
        axes.plot(
            [x for x, _ in line],
            [y for _, y in line],
            color=colour,
            linewidth=0.75 * width,
            linestyle="--" if dash else "-",
            label=name,
        )
    if log_scale:
        axes.set_yscale("log")
    if log_x:
        axes.set_xscale("log")
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(axis="y", color="#e3e3e3")
    axes.legend(frameon=False)
    content = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(content)
    return content.getvalue()


def _style(i: int, count: int) -> tuple[str, float, str]:
    colour = COLOURS[i % len(COLOURS)]
    if count == 1:
        return colour, 2.0, ""
    return colour, _WIDTHS[i % len(_WIDTHS)], _DASHES[i % len(_DASHES)]


def _is_drawn(y: float, log_scale: bool) -> bool:
    return math.isfinite(y) and (y > 0 or not log_scale)


def _part(x: float, low: float, high: float, is_log: bool) -> float:
    """Where a number is between two others, as a share of the way."""
    return math.log(x / low) / math.log(high / low) if is_log else (x - low) / (high - low)


def _pieces(line: Points, log_scale: bool) -> list[Points]:
    """The runs of points that can be drawn."""
    pieces: list[Points] = [[]]
    for x, y in line:
        if _is_drawn(y, log_scale):
            pieces[-1].append((x, y))
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers around a range.

    >>> _ticks(0.0, 2.3)
    [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    """
    if not high > low:
        low, high = low - 0.5, low + 0.5
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    distance = min([unit * f for f in (1, 2, 5, 10)], key=lambda d: abs(d - rough))
    first, last = math.floor(low / distance), math.ceil(high / distance)
    return [round(i * distance, 12) for i in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**i for i in range(first, max(last, first + 1) + 1)]
