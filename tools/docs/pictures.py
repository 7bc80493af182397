"""All pictures of the site, each for light and for dark pages.

python tools/docs/pictures.py    # writes those that the README shows into docs/pictures/
"""

from __future__ import annotations

from pathlib import Path

import charts
import drawings
from svg import PALETTES

KEPT = Path(__file__).resolve().parents[2] / "docs" / "pictures"
IN_README = ("four_curves",)


def all_pictures() -> dict[str, str]:
    """The pictures by their address on the site."""
    return {
        f"pictures/{name}-{scheme}.svg": draw(colours)
        for name, draw in {**drawings.ALL, **charts.ALL}.items()
        for scheme, colours in PALETTES.items()
    }


def main() -> None:
    KEPT.mkdir(exist_ok=True)
    for address, content in all_pictures().items():
        if Path(address).stem.rpartition("-")[0] in IN_README:
            (KEPT / Path(address).name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
