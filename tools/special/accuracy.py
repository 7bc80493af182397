"""Measures trellis.special against mpmath: the largest error of each function on each backend.

python tools/special/accuracy.py            # all functions, into docs/data/special.json
python tools/special/accuracy.py gammaln    # only these, printed
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import mpmath as mp
import numpy as np
from grids import ROWS

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
    table = {}
    for name in names or ROWS:
        table[name] = {kind: measured(name, ROWS[name], kind) for kind in KINDS}
        print(name, *[f"{k}: {shown(table[name][k])}" for k in KINDS], sep="\n    ", flush=True)
    if not names:
        TARGET.write_text(json.dumps(table, indent=1) + "\n")


def shown(errors):
    return " ".join(
        [
            f"{who} {e['ulp']:.3g}@{','.join(map('{:.6g}'.format, e['at']))}"
            for who, e in errors.items()
        ]
    )


def measured(name, row, kind):
    """The largest error, in units of the last place, and where it is; of ours and of others."""
    grid = [x.astype(kind) for x in row.grid]
    exact = np.array([exact_value(row, [mp.mpf(float(v)) for v in vs]) for vs in zip(*grid)])
    limits = np.finfo(kind)
    size = np.array([abs(e) for e in exact])
    # Steps on the way to smaller results underflow.
    usable = (size >= float(limits.tiny) * 2**24) & (size <= float(limits.max))
    usable |= size == 0
    usable &= np.all([np.abs(g) >= float(limits.tiny) * 16 for g in grid], axis=0)
    grid, exact = [g[usable] for g in grid], exact[usable]
    found = {}
    for backend in BACKENDS:
        xp = trellis._core.dispatch.load(backend)
        # Of one size, so that JAX compiles each operation once.
        xs = [xp.from_numpy(np.resize(g, SIZE)) for g in grid]
        got = trellis.to_numpy(getattr(special, name)(*row.orders, *xs))[: len(exact)]
        assert got.dtype == kind, (name, backend, got.dtype)
        found[backend] = largest(row, got, exact, grid, kind)
    for who, fn in peers(name, row).items():
        try:
            got = np.asarray(fn(*row.orders, *grid))
        except (TypeError, ValueError, NotImplementedError, RuntimeError):
            continue
        if got.dtype == kind:
            found[who] = largest(row, got, exact, grid, kind)
    return found


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


def peers(name, row):
    import jax
    import jax.scipy.special
    import scipy.special
    import torch

    other = row.names.get("scipy", name)
    found = {}
    if hasattr(scipy.special, other):
        found["SciPy"] = getattr(scipy.special, other)
    if hasattr(jax.scipy.special, other) and not other.startswith("exp"):  # slow to compile
        found["jax.scipy"] = getattr(jax.scipy.special, other)
    other = row.names.get("torch", name)
    if hasattr(torch.special, other):
        own = getattr(torch.special, other)
        found["torch.special"] = lambda *xs: own(
            *[torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in xs]
        ).numpy()
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
