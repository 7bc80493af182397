"""log_prob of all families and its gradients against NumPyro's, which tools/numpyro_densities.py
stored."""

import json

import numpy as np
import pytest

import numpyro_rows as known
import trellis

THEIRS = json.loads(known.STORED.read_text())
ROWS = known.rows()
# Beta functions of NumPyro have six digits; test_families compares these with SciPy to eleven.
DIGITS = {"BetaBinomial": 1e-5, "NegativeBinomial": 1e-5, "GammaPoisson": 1e-5}


def test_the_file_is_that_of_the_rows():
    assert set(THEIRS) == {"numpyro", *ROWS} - known.WITHOUT


@pytest.mark.parametrize("name", [name for name in ROWS if name in THEIRS])
def test_densities_and_gradients_are_those_of_numpyro(name):
    row, theirs = ROWS[name], THEIRS[name]
    rtol = DIGITS.get(name, 1e-9)

    def total(parameters, points):
        return trellis.sum(known.ours(row, parameters).log_prob(points))

    def check(what, found):
        expected = np.reshape(theirs[what], np.shape(found))
        if what == "probs" and "Mixture" in name:
            # The weights add up to 1: only differences of the slopes have a meaning.
            found, expected = found - found[0], expected - expected[0]
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=0.01 * rtol, err_msg=what)

    check("log_prob", known.ours(row).log_prob(row.points))
    if row.parameters:
        for what, slope in trellis.grad(total)(row.parameters, row.points).items():
            check(what, slope)
    if not row.whole:
        check("x", trellis.grad(lambda x: total(row.parameters, x))(row.points))
