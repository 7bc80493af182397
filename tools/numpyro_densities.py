"""Stores log_prob of NumPyro's families and its gradients, for the tests of trellis.distributions.

    python tools/numpyro_densities.py

NumPyro is no requirement of the tests: install it, then run this, when a row of
tests/distribution_rows.py changes.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import numpy as np  # noqa: E402

import numpyro_rows as known  # noqa: E402


def rounded(x: Any) -> Any:
    """15 digits, in the order of the elements."""
    return [float(f"{float(v):.15g}") for v in np.asarray(x).ravel()]


def main() -> None:
    import jax
    import numpyro

    numpyro.enable_x64()
    theirs = known.NumPyro()
    found: dict[str, object] = {"numpyro": numpyro.__version__}
    for name, row in known.rows().items():
        if name in known.WITHOUT:
            continue

        def logs(parameters: Any, points: Any, row: Any = row) -> Any:
            return row.build(theirs, SimpleNamespace(**parameters, **row.fixed)).log_prob(points)

        points = jax.numpy.asarray(row.points)
        given = {key: jax.numpy.asarray(x) for key, x in row.parameters.items()}
        value = logs(given, points)
        total = lambda p, x, logs=logs: logs(p, x).sum()  # noqa: E731
        slopes = jax.grad(total)(given, points)
        entry = {"log_prob": rounded(value), **{k: rounded(g) for k, g in slopes.items()}}
        if not row.whole:
            entry["x"] = rounded(jax.grad(total, 1)(given, points))
        found[name] = entry
        print(name)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    known.STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
