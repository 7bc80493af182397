"""Measures trellis.special against mpmath: the largest error of each function on each backend.

python tools/special/accuracy.py            # all functions, into docs/data/special.json
python tools/special/accuracy.py gammaln    # only these, printed
python tools/special/accuracy.py --write betainc    # only these, into the file beside the others
python tools/special/accuracy.py --peers zeta       # the same, with new errors of the peers alone
"""

import json
import os
import re
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import mpmath as mp
import numpy as np
from grids import ROWS
from peers import PEERS

import trellis
from trellis import special

mp.mp.dps = 40
ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "data" / "special.json"
SIZE = 2048
KINDS = ("float64", "float32")
BACKENDS = ("numpy", "jax", "torch", "tensorflow")


def main(names):
    import jax

    jax.config.update("jax_enable_x64", True)
    is_peers = names[:1] == ["--peers"]
    is_written = not names or names[0] in ("--write", "--peers")
    names = names[1:] if names and is_written else names
    table = json.loads(TARGET.read_text()) if names and is_written else {}
    for name in names or ROWS:
        old = table.get(name) if is_peers else None
        table[name] = {kind: measured(name, ROWS[name], kind, old and old[kind]) for kind in KINDS}
        print(name, *[f"{k}: {shown(table[name][k])}" for k in KINDS], sep="\n    ", flush=True)
        if is_written:
            table = {name: table[name] for name in ROWS if name in table}
            TARGET.write_text(json.dumps(table, indent=1) + "\n")


def shown(errors):
    return " ".join(
        [
            f"{who} {e['ulp']:.3g}@{','.join(map('{:.6g}'.format, e['at']))}"
            for who, e in errors.items()
        ]
    )


def measured(name, row, kind, old=None):
    """The largest error, in units of the last place, and where: each backend's, each peer's."""
    grid = [x.astype(kind) for x in row.grid]
    exact = np.array([exact_value(row, [mp.mpf(float(v)) for v in vs]) for vs in zip(*grid)])
    limits = np.finfo(kind)
    size = np.array([abs(e) for e in exact])
    # Numbers below the normal ones count as 0 on JAX and TensorFlow, and results there have fewer
    # digits.
    usable = (size >= float(limits.tiny)) & (size <= float(limits.max))
    usable |= size == 0
    usable &= size >= row.least
    usable &= np.all([np.abs(g) >= float(limits.tiny) for g in grid], axis=0)
    grid, exact = [g[usable] for g in grid], exact[usable]
    found = dict(old or {})
    for backend in [] if old else BACKENDS:
        xp = trellis._core.dispatch.load(backend)
        # Of one size, so that JAX compiles each operation once.
        xs = [xp.from_numpy(np.resize(g, SIZE)) for g in grid]
        got = trellis.to_numpy(getattr(special, row_name(name))(*row.orders, *xs))[: len(exact)]
        assert got.dtype == kind, (name, backend, got.dtype)
        found[backend] = largest(row, got, exact, grid, kind)
    for peer, (backend, look_up) in PEERS.items():
        fn = look_up(row_name(name))
        if fn is None:
            continue
        xp = trellis._core.dispatch.load(backend)
        # In double precision where SciPy has no loop for float32: the rounded result.
        with np.errstate(all="ignore"):
            xs = [xp.from_numpy(np.resize(g, SIZE)) for g in grid]
            got = trellis.to_numpy(fn(*row.orders, *xs))[: len(exact)].astype(kind)
        found[peer] = largest(row, got, exact, grid, kind)
    return found


def row_name(name):
    """The function of a row: `polygamma(2)` and `beta, above 0.001` are rows."""
    return re.match(r"\w+", name)[0]


def exact_value(row, values):
    try:
        return mp.mpf(row.exact(*row.orders, *values))
    except ZeroDivisionError:  # a pole, where float32 rounds to
        return mp.inf


def largest(row, got, exact, grid, kind):
    errors = []
    for i, (g, e) in enumerate(zip(got, exact)):
        size = e if row.scale is None else row.scale(*row.orders, *[float(x[i]) for x in grid])
        unit = mp.mpf(float(np.spacing(np.abs(np.array(float(size)).astype(kind)))))
        if row.scale is not None:
            unit = max(unit, mp.mpf(float(np.spacing(np.abs(np.array(float(e)).astype(kind))))))
        errors.append(float(abs(mp.mpf(float(g)) - e) / unit) if np.isfinite(g) else np.inf)
    worst = int(np.argmax(errors))
    return {"ulp": round(errors[worst], 2), "at": [float(x[worst]) for x in grid]}


if __name__ == "__main__":
    main(sys.argv[1:])
