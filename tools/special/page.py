"""Writes the tables of docs/special.md from docs/data/special.json.

python tools/special/page.py
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "special.md"
DATA = ROOT / "docs" / "data" / "special.json"
BEGIN, END = "<!-- begin: errors -->\n", "<!-- end: errors -->\n"
OWN = {"numpy": "NumPy", "jax": "JAX", "torch": "PyTorch", "tensorflow": "TensorFlow"}
# The functions of others, under their full names.
PEERS = {"SciPy": "`scipy.special`", "jax.scipy.special": "`jax.scipy.special`",
         "torch.special": "`torch.special`"}  # fmt: skip
KINDS = ("float64", "float32")


def tables(data: dict) -> str:
    return "\n" + "\n".join([f"In {kind}:\n\n{table(data, kind)}" for kind in KINDS]) + "\n"


def table(data: dict, kind: str) -> str:
    """One row for each function: the errors of Trellis on each backend, then those of others."""
    columns = {**OWN, **PEERS}
    lines = [["Function", *columns.values()], ["---", *["---:"] * len(columns)]]
    for name, kinds in data.items():
        lines.append([code(name), *[shown(kinds[kind].get(who)) for who in columns]])
    return "".join([f"| {' | '.join(line)} |\n" for line in lines])


def code(name: str) -> str:
    function, _, rest = name.partition(", ")
    return f"`{function}`" + (f", results {rest}" if rest else "")


def shown(error: dict | None) -> str:
    if error is None:
        return "none"
    ulp = error["ulp"]
    if ulp == float("inf"):
        return "not finite"
    return f"{ulp:.1f}" if ulp < 100 else f"{ulp:.0f}" if ulp < 1e5 else f"{ulp:.0e}"


def written(page: str, data: dict) -> str:
    """The page with the table between its markers."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + tables(data) + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), json.loads(DATA.read_text())))
