"""Families of numbers against scipy.stats and torch.distributions: one table of rows for all."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats as ss

import oracles
import trellis
from distribution_rows import ROWS
from trellis import distributions

NAMES = {row.name: row for row in ROWS}
QUANTITIES = ("log_prob", "cdf", "icdf", "entropy", "mean", "variance")
THEIRS = {"cdf": "cdf", "icdf": "ppf", "entropy": "entropy", "mean": "mean", "variance": "var"}
# Quantiles; the ends of the support are 0 and 1.
SHARES = np.array([0.0, 1e-4, 0.1, 0.5, 0.8, 0.999, 1.0])[:, None]


@pytest.fixture(autouse=True)
def wide(x64):
    with x64():
        yield


def made(row, xp=None, kind="float64"):
    """The distribution of a row with native arrays; counts stay Python ints."""
    xp = trellis.namespace("numpy") if xp is None else xp
    given = {
        name: xp.from_numpy(value.astype(kind)) if isinstance(value, np.ndarray) else value
        for name, value in row.parameters.items()
    }
    return getattr(distributions, row.name)(**given)


def evaluated(row, distribution, points, shares):
    found = {}
    for what in QUANTITIES:
        if what not in row.without:
            value = getattr(distribution, what)
            at = {"log_prob": points, "cdf": points, "icdf": shares}.get(what)
            found[what] = value if what in ("mean", "variance") else (
                value() if at is None else value(at)
            )  # fmt: skip
    return found


def expected_of(row):
    theirs = row.scipy(**row.parameters)
    log_prob = theirs.logpmf if row.whole else theirs.logpdf
    with np.errstate(all="ignore"):
        found = {
            what: log_prob(row.points) if what == "log_prob" else getattr(theirs, THEIRS[what])(
                *{"cdf": [row.points], "icdf": [SHARES]}.get(what, [])
            )
            for what in QUANTITIES
            if what not in row.without
        }  # fmt: skip
    return found


def check(row, found, expected, rtol):
    wrong = {}
    for what, value in expected.items():
        got = trellis.to_numpy(found[what])
        value = np.broadcast_to(value, got.shape).astype("float64")
        # A mean or variance of infinity is nan in SciPy for some, and quantiles at 0 of counts -1.
        allowed = max(rtol, (row.digits or {}).get(what, 0.0))
        good = np.isclose(got, value, rtol=allowed, atol=allowed) | (np.isnan(got) & np.isnan(value))
        if not np.all(good):
            wrong[what] = got.tolist(), value.tolist()
    assert wrong == {}


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_scipy(name):
    row = NAMES[name]
    xp = trellis.namespace("numpy")
    found = evaluated(row, made(row), row.points, SHARES)
    # Rounding of ten operations or so; both sides have functions of a few ulp.
    check(row, found, expected_of(row), 1e-11)
