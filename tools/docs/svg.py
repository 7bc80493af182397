"""A few shapes of SVG in two sets of colours, for light and for dark pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape


@dataclass(frozen=True)
class Palette:
    """Colours by what they mean. All text has a contrast of at least 4.5 to its ground."""

    ground: str
    text: str
    faint: str  # lines, grids
    box: str
    strong: str  # ours
    strong_text: str
    series: tuple[str, ...]  # told apart by colour-blind readers (after Okabe and Ito)


LIGHT = Palette(
    ground="#ffffff",
    text="#24292f",
    faint="#c9d1d9",
    box="#eef2f5",
    strong="#00695c",
    strong_text="#ffffff",
    series=("#0072b2", "#d55e00", "#009e73", "#b3589a"),
)
DARK = Palette(
    ground="#1e2129",
    text="#e2e4e9",
    faint="#4a5060",
    box="#2b303b",
    strong="#4db6ac",
    strong_text="#10201e",
    series=("#56b4e9", "#f0894a", "#35c79a", "#e09ccb"),
)
PALETTES = {"light": LIGHT, "dark": DARK}


@dataclass
class Drawing:
    """Shapes on a ground, in the order in which they are added."""

    width: int
    height: int
    colours: Palette
    title: str
    parts: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: str = "middle",
        size: int = 13,
        fill: str | None = None,
        bold: bool = False,
        code: bool = False,
    ) -> None:
        family = ' font-family="ui-monospace, monospace"' if code else ""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{weight}{family} '
            f'fill="{fill or self.colours.text}">{escape(words)}</text>'
        )

    def rectangle(
        self, x: float, y: float, width: float, height: float, fill: str, *, round: int = 4
    ) -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:.4g}" height="{height:g}" rx="{round}" '
            f'fill="{fill}"/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str,
        *,
        below: str = "",
        strong: bool = False,
        code: bool = False,
    ) -> None:
        """A box with a line of text, and a smaller one under it."""
        fill = self.colours.strong if strong else self.colours.box
        ink = self.colours.strong_text if strong else self.colours.text
        self.rectangle(x, y, width, height, fill, round=6)
        middle = y + height / 2 + (5 if not below else -3)
        self.text(x + width / 2, middle, words, fill=ink, bold=not code, code=code)
        if below:
            self.text(x + width / 2, middle + 18, below, size=12, fill=ink)

    def arrow(self, x1: float, y1: float, x2: float, y2: float, words: str = "") -> None:
        self.parts.append(
            f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{self.colours.text}" '
            'stroke-width="1.5" fill="none" marker-end="url(#tip)"/>'
        )
        if words:
            above = -7 if y1 == y2 else 4
            beside = 0 if y1 == y2 else 8
            anchor = "middle" if y1 == y2 else "start"
            self.text((x1 + x2) / 2 + beside, (y1 + y2) / 2 + above, words, anchor=anchor, size=12)

    def line(self, x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self.parts.append(
            f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{self.colours.faint}"{dash}/>'
        )

    def polyline(
        self, points: list[tuple[float, float]], colour: str, width: float, dash: str = ""
    ) -> None:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            f'stroke-linejoin="round"{dashed}/>'
        )

    def svg(self) -> str:
        """The whole file."""
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" '
            f'font-family="system-ui, sans-serif">\n<title>{escape(self.title)}</title>\n'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{self.colours.text}"/>'
            "</marker></defs>\n"
            f'<rect width="{self.width}" height="{self.height}" fill="{self.colours.ground}"/>\n'
            f"{body}\n</svg>\n"
        )
