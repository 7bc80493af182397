"""Stores the posterior means of NumPyro with their Monte Carlo errors, for the tests of
trellis.mcmc.

    python tools/posteriors.py

NumPyro is no requirement of the tests: install it, then run this, when a model of
tests/mcmc/posterior_models.py changes.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "mcmc"))

import posterior_models as known

DRAWS, TUNE, CHAINS = 5000, 1000, 4


def main() -> None:
    import numpyro

    numpyro.enable_x64()
    found: dict[str, object] = {
        "numpyro": numpyro.__version__,
        "draws": DRAWS,
        "tune": TUNE,
        "chains": CHAINS,
    }
    for name in known.POSTERIORS:
        found[name] = known.means(known.by_numpyro(name, DRAWS, TUNE, CHAINS)(0))
        print(name, found[name])
    known.STORED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
