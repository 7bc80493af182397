"""Writes tests/special/references.json: exact values by mpmath for the tests, which do without it.

python tools/special/references.py
python tools/special/references.py betainc    # only these, beside the others
"""

import json
import sys
from pathlib import Path

import mpmath as mp
import numpy as np
from grids import ROWS

mp.mp.dps = 40
TARGET = Path(__file__).parents[2] / "tests" / "special" / "references.json"
POINTS, SLOPES = 48, 6
RANGE, WIDE = np.finfo(np.float32), np.finfo(np.float64)


def main(names):
    stored = json.loads(TARGET.read_text()) if names else {}
    for name in names or ROWS:
        row = ROWS[name]
        rows = values(row)
        # Rows about some of the results of a function share its derivatives.
        found = [] if "," in name else slopes(row, rows)
        stored[name] = {"orders": list(row.orders), "rows": rows, "slopes": found}
        print(name, len(rows), len(stored[name]["slopes"]), flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(stored[name])}" for name in ROWS if name in stored]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def values(row):
    """Arguments, the value, what its rounding left over, the size that errors are measured by."""
    places = np.unique(np.linspace(0, len(row.grid[0]) - 1, POINTS).astype(int))
    grid = [as_single(g[places]) for g in row.grid]
    kept = []
    for point in zip(*grid):
        try:
            exact = mp.mpf(row.exact(*row.orders, *[mp.mpf(float(v)) for v in point]))
        except (ZeroDivisionError, ValueError):
            continue
        smallest = min(map(abs, point))
        least = max(row.least, RANGE.tiny if smallest >= RANGE.tiny else WIDE.tiny)
        if smallest >= WIDE.tiny and least <= abs(exact) <= RANGE.max:
            size = 0.0 if row.scale is None else float(row.scale(*row.orders, *point))
            rest = float(exact - mp.mpf(float(exact)))
            kept.append([*[float(v) for v in point], float(exact), rest, size])
    return kept


def as_single(x):
    """Numbers of float32, which are numbers of float64 too: one value serves both.

    Those that are too small for float32 stay, for float64 alone.
    """
    single = x.astype(np.float32).astype(np.float64)
    return np.where(np.abs(single) < RANGE.tiny, x, single)


def slopes(row, rows):
    """At a few points: the arguments, the first derivatives by each, and the second ones."""
    count = len(row.grid)
    mild = [r for r in rows if is_mild(r[:count], r[count])]
    places = np.unique(np.linspace(0, len(mild) - 1, SLOPES).astype(int))
    found = []
    for point in [mild[i][:count] for i in places]:
        at = tuple([mp.mpf(v) for v in point])
        line = list(point)
        # Of fewer digits: the step of the difference is then far above the error of the function.
        with mp.workdps(18):
            for times in (1, 2):
                for i in range(count):
                    orders = tuple([times if k == i else 0 for k in range(count)])
                    line.append(float(mp.diff(lambda *xs: row.exact(*row.orders, *xs), at, orders)))
        found.append(line)
    return found


def is_mild(point, value):
    return all([0.02 < abs(v) < 100 for v in point]) and 1e-6 < abs(value) < 1e6


if __name__ == "__main__":
    main(sys.argv[1:])
