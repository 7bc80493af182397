"""Writes tests/special/references.json: exact values by mpmath for the tests, which do without it.

python tools/special/references.py
"""

import json
from pathlib import Path

import mpmath as mp
import numpy as np
from grids import ROWS

mp.mp.dps = 40
TARGET = Path(__file__).parents[2] / "tests" / "special" / "references.json"
POINTS = 32


def main():
    stored = {}
    for name, row in ROWS.items():
        places = np.unique(np.linspace(0, len(row.grid[0]) - 1, POINTS).astype(int))
        # Numbers of float32, which are numbers of float64 too: one value serves both.
        grid = [g[places].astype(np.float32).astype(np.float64) for g in row.grid]
        kept = []
        for values in zip(*grid):
            try:
                exact = mp.mpf(row.exact(*row.orders, *[mp.mpf(float(v)) for v in values]))
            except ZeroDivisionError:
                continue
            if all([abs(v) > 1e-36 for v in values]) and 1e-30 < abs(exact) < 1e30:
                size = 0.0 if row.scale is None else float(row.scale(*row.orders, *values))
                # The value and what its rounding left over.
                rest = float(exact - mp.mpf(float(exact)))
                kept.append([*[float(v) for v in values], float(exact), rest, size])
        stored[name] = {"orders": list(row.orders), "rows": kept}
        print(name, len(kept), flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in stored.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
