"""Posterior means against those of NumPyro, stored with their errors by `tools/posteriors.py`."""

import numpy as np
import pytest
from posterior_models import POSTERIORS, means, sampled, stored

REFERENCES = stored()


def check(name, chains):
    """Within four standard errors of the difference: one number in 16,000 is further off, and the
    seeds are fixed."""
    assert chains.divergences < 0.01 * np.size(chains.is_diverging)
    found = means(chains.draws)
    for part, reference in REFERENCES[name].items():
        away = np.subtract(found[part]["mean"], reference["mean"])
        error = np.hypot(found[part]["error"], reference["error"])
        assert np.all(np.abs(away) < 4 * error), (part, away / error)


# A gradient of the Gaussian process takes three times as long.
COUNTS = {"eight_schools": 250, "logistic_regression": 250, "gaussian_process": 120}


@pytest.mark.parametrize("name", POSTERIORS)
def test_posterior_means_are_those_of_numpyro(name):
    check(name, sampled(name, "numpy", draws=COUNTS[name], tune=150, chains=1))


@pytest.mark.long
@pytest.mark.parametrize("name", POSTERIORS)
def test_posterior_means_of_long_chains(backend, x64, name):
    """Twelve times as many draws, whose means are known three times as well; torch has no loop
    that a compiler sees."""
    draws = 300 if backend == "torch" else 1500
    with x64():
        check(name, sampled(name, backend, draws=draws, tune=500, chains=2))
