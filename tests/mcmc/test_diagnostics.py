"""R-hat and effective sample sizes against numbers of ArviZ (arviz-stats 1.x)."""

import numpy as np
import pytest

import trellis
from trellis import mcmc


def chains():
    """Four chains of independent numbers, and of numbers with a correlation of 0.9."""
    x = np.random.default_rng(0).normal(size=(4, 1000, 2))
    for t in range(1, 1000):
        x[:, t, 1] = 0.9 * x[:, t - 1, 1] + np.sqrt(1 - 0.81) * x[:, t, 1]
    return x


# arviz_stats.base.array_stats.ess and rhat of these chains.
ESS = {
    "bulk": [3229.66766383, 254.53026287],
    "tail": [3812.25450002, 365.18601282],
    "mean": [3210.00757579, 252.79581584],
}
RHAT = [1.00011806, 1.0125707]


def test_numbers_of_arviz(backend, array, x64):
    with x64():
        draws = array(chains(), "float64")
        for kind, expected in ESS.items():
            # They are stored with 12 digits.
            np.testing.assert_allclose(
                trellis.to_numpy(mcmc.ess(draws, kind=kind)), expected, rtol=1e-10
            )
        np.testing.assert_allclose(trellis.to_numpy(mcmc.rhat(draws)), RHAT, rtol=1e-8)


def test_chains_that_disagree():
    draws = np.random.default_rng(1).normal(size=(2, 200))
    assert mcmc.rhat(draws) < 1.02
    assert mcmc.rhat(draws + np.array([[0.0], [3.0]])) > 1.5
    # The same means and other widths: ranks of distances from the median tell.
    assert mcmc.rhat(draws * np.array([[1.0], [10.0]])) > 1.2


def test_a_correlated_chain_is_worth_what_the_formula_says():
    rng, x = np.random.default_rng(2), np.zeros((1, 20_000))
    for t in range(1, x.shape[1]):
        x[0, t] = 0.5 * x[0, t - 1] + rng.normal()
    # (1 - 0.5) / (1 + 0.5) of the draws, within the error of an estimate from so many.
    np.testing.assert_allclose(mcmc.ess(x, kind="mean"), x.size / 3, rtol=0.1)


def test_a_table_names_each_number():
    rows = mcmc.sample(
        lambda p: -0.5 * trellis.sum(p["w"] ** 2) - 0.5 * p["b"] ** 2,
        {"w": np.zeros((2, 1)), "b": np.array(0.0)},
        key=trellis.random.key(0),
        draws=8,
        tune=8,
        chains=2,
    )
    table = mcmc.summary(rows)
    assert [row[0] for row in table.rows] == ["b", "w[0,0]", "w[1,0]"]
    assert str(rows) == str(table) and "divergences: 0" in str(table)
    assert "<table>" in rows._repr_html_()


def test_mistakes_are_named():
    with pytest.raises(trellis.errors.ShapeError, match="chain as first axis"):
        mcmc.rhat(np.zeros(10))
    with pytest.raises(trellis.errors.ArgumentError, match="bulk, tail, mean"):
        mcmc.ess(np.zeros((2, 10)), kind="median")
