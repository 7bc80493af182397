"""Writes the table of docs/special.md from docs/data/special.json.

python tools/special/page.py
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "special.md"
DATA = ROOT / "docs" / "data" / "special.json"
BEGIN, END = "<!-- begin: errors -->\n", "<!-- end: errors -->\n"
COLUMNS = {
    "numpy": "NumPy",
    "jax": "JAX",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "SciPy": "SciPy",
}
KINDS = ("float64", "float32")


def table(data: dict) -> str:
    """One row for each function: the errors in float64 of all, then those in float32."""
    heads = ["Function", *[f"{title} {kind[-2:]}" for kind in KINDS for title in COLUMNS.values()]]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, kinds in data.items():
        cells = [shown(kinds[kind].get(who)) for kind in KINDS for who in COLUMNS]
        lines.append([code(name), *cells])
    return "\n" + "".join([f"| {' | '.join(line)} |\n" for line in lines]) + "\n"


def code(name: str) -> str:
    function, _, rest = name.partition(", ")
    return f"`{function}`" + (f", results {rest}" if rest else "")


def shown(error: dict | None) -> str:
    if error is None:
        return "none"
    ulp = error["ulp"]
    return f"{ulp:.1f}" if ulp < 100 else f"{ulp:.0f}" if ulp < 1e5 else f"{ulp:.0e}"


def written(page: str, data: dict) -> str:
    """The page with the table between its markers."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table(data) + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), json.loads(DATA.read_text())))
