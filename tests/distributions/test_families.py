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


def shares_of(row):
    """The quantile at 0 of counts is one below them in SciPy, the first of them here."""
    return SHARES[1:] if row.whole else SHARES


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
                *{"cdf": [row.points], "icdf": [shares_of(row)]}.get(what, [])
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
        good = np.isclose(got, value, rtol=allowed, atol=allowed) | (
            np.isnan(got) & np.isnan(value)
        )
        if not np.all(good):
            wrong[what] = got.tolist(), value.tolist()
    assert wrong == {}


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.scipy])
def test_values_are_those_of_scipy(name):
    row = NAMES[name]
    found = evaluated(row, made(row), row.points, shares_of(row))
    # Rounding of ten operations or so; both sides have functions of a few ulp.
    check(row, found, expected_of(row), 1e-11)


# Families whose second column has no single largest density: it is infinite at an end, or at both.
ENDLESS = {"Weibull", "Gamma", "Chi2", "Beta", "BetaProportion", "Kumaraswamy"}
WITHOUT_MODE = {"RelaxedBernoulli"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_MODE])
def test_no_point_is_likelier_than_the_mode(name):
    """Of 2,001 quantiles, and of points next to the mode; where it is infinite, or nan."""
    row = NAMES[name]
    own = made(row)
    mode = np.array(own.mode)
    grid = np.array(own.icdf(np.linspace(0.0005, 0.9995, 2001)[:, None]))
    steps = np.array([[-1.0], [1.0]]) if row.whole else np.array([[-1e-3], [1e-3]])
    grid = np.concatenate([grid, mode + steps])
    highest, found = np.nanmax(own.log_prob(grid), axis=0), np.array(own.log_prob(mode))
    is_endless = np.isnan(found) | np.isinf(found)
    assert not is_endless[0] and (not is_endless[1] or name in ENDLESS)
    # A density next to its maximum: equal within rounding.
    assert np.all(is_endless | (found >= highest - 1e-12)), (mode, found, highest)


def test_modes_at_the_ends():
    d = distributions
    assert d.GeneralizedPareto(1.0, 2.0, -1.5).mode == pytest.approx(1 + 2 / 1.5)
    assert d.BetaBinomial(9, 0.5, 0.3).mode == 9 and d.BetaBinomial(9, 0.3, 0.5).mode == 0
    assert d.ZeroInflated(d.Poisson(2.5), 0.1).mode == 2
    assert d.ZeroInflated(d.Poisson(2.5), 0.5).mode == 0


def test_entropies_of_inflated_counts_and_of_far_parameters():
    """By their definition, and SciPy's."""
    own = distributions.ZeroInflated(distributions.Poisson(np.array([2.5, 0.3])), np.array(0.3))
    logs = np.array(own.log_prob(np.arange(60)[:, None]))
    np.testing.assert_allclose(own.entropy(), -np.sum(np.exp(logs) * logs, axis=0), rtol=1e-12)
    poisson = distributions.Poisson(np.array([0.0, 900.0]))
    np.testing.assert_allclose(poisson.entropy(), ss.poisson([0.0, 900.0]).entropy(), rtol=1e-11)
    shapes = np.array([26.0, 24.0, 1e4])  # on both sides of where the series begins
    own = distributions.InverseGaussian(1.0, shapes)
    np.testing.assert_allclose(own.entropy(), ss.invgauss(1 / shapes, scale=shapes).entropy())
    with pytest.raises(trellis.errors.NotSupportedError, match="too many"):
        distributions.Poisson(1e9).entropy()


# torch --------------------------------------------------------------------------------------------


def of_torch(row, parameters=None):
    """The distribution of torch, and its parameters, which gradients are taken of."""
    torch = oracles.torch
    given = {
        name: torch.tensor(value, requires_grad=value.dtype.kind == "f")
        for name, value in (row.parameters if parameters is None else parameters).items()
    }
    return row.torch(torch.distributions, SimpleNamespace(**given)), given


def inner_points(row):
    """The points at which both columns have a density."""
    found = made(row).log_prob(row.points)
    return row.points[np.all(np.isfinite(found), axis=1)]


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", [row.name for row in ROWS if row.torch])
def test_gradients_of_log_prob_are_those_of_torch(name):
    row, torch = NAMES[name], oracles.torch
    theirs, given = of_torch(row)
    points = inner_points(row)
    at = torch.tensor(points, requires_grad=not row.whole)
    if name == "Binomial":  # torch has one count for all; the first column is of that
        points = points[points[:, 0] <= 6]
        at = torch.tensor(points)
    logs = theirs.log_prob(at)
    own = made(row)
    # torch's Bessel functions have seven digits.
    rtol = 2e-7 if name == "VonMises" else 1e-12
    np.testing.assert_allclose(own.log_prob(points)[:, 0], logs.detach()[:, 0], rtol=rtol)
    logs[:, 0].sum().backward()
    expected = {key: x.grad.numpy()[0] for key, x in given.items() if x.grad is not None}
    found = trellis.grad(lambda d: trellis.sum(d.log_prob(points)[:, 0]))(own)
    for key, slope in expected.items():
        np.testing.assert_allclose(getattr(found, key)[0], slope, rtol=max(rtol, 1e-9), err_msg=key)
    if not row.whole:
        slope = trellis.grad(lambda x: trellis.sum(own.log_prob(x)[:, 0]))(points)
        expected = 0.0 if at.grad is None else at.grad
        np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.needs("torch")
def test_values_of_kumaraswamy_are_those_of_torch():
    row = NAMES["Kumaraswamy"]
    theirs, _ = of_torch(row)
    own, points = made(row), inner_points(row)
    found = own.cdf(points)
    # torch takes powers and then what is left of 1.
    expected = theirs.cdf(oracles.torch.tensor(points)).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    np.testing.assert_allclose(own.icdf(found), points + 0 * found, rtol=1e-11)
    for what in ("mean", "variance"):
        np.testing.assert_allclose(getattr(own, what), getattr(theirs, what).detach(), rtol=1e-12)
    np.testing.assert_allclose(own.entropy(), theirs.entropy().detach(), rtol=1e-12)


SWAPPED = [
    *["Normal", "LogNormal", "HalfNormal", "Cauchy", "Laplace", "Gumbel", "Uniform", "Exponential"],
    *["Gamma", "Beta", "Bernoulli", "Geometric", "Poisson", "Pareto"],
]


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", SWAPPED)
def test_divergences_are_those_of_torch(name):
    row, torch = NAMES[name], oracles.torch
    turned = {key: value[::-1].copy() for key, value in row.parameters.items()}
    (first, given), (second, _) = of_torch(row), of_torch(row, turned)
    expected = torch.distributions.kl_divergence(first, second)
    own = made(row), getattr(distributions, name)(**turned)
    found = distributions.kl_divergence(*own)
    np.testing.assert_allclose(found, expected.detach(), rtol=1e-11)
    if np.all(np.isfinite(found)):
        expected.sum().backward()
        slopes = trellis.grad(lambda p: trellis.sum(distributions.kl_divergence(p, own[1])))(own[0])
        for key, x in given.items():
            np.testing.assert_allclose(getattr(slopes, key), x.grad, rtol=1e-9, atol=1e-12)


INTEGRATED = {
    "HalfCauchy": {"scale": np.array([0.7, 2.0])},
    "InverseGaussian": {"loc": np.array([1.2, 0.5]), "concentration": np.array([0.8, 2.0])},
    "BetaProportion": {"proportion": np.array([0.4, 0.6]), "concentration": np.array([3.0, 2.0])},
    "LogUniform": {"low": np.array([0.05, 0.1]), "high": np.array([3.0, 0.9])},
    "NegativeBinomial": {"total_count": np.array([2.5, 4.0]), "probs": np.array([0.5, 0.6])},
    "DiscreteUniform": {"low": np.array([-1, 2]), "high": np.array([3, 9])},
}


@pytest.mark.parametrize("name", INTEGRATED)
def test_divergences_are_those_of_quadrature(name):
    """The mean of the difference of the logarithms: a sum over counts, or the rule of trapezoids in
    log(x), or log(x / (1 - x)), which converges to rounding for densities that vanish there."""
    row = NAMES[name]
    first, second = made(row), getattr(distributions, name)(**INTEGRATED[name])
    if name == "BetaProportion":  # that of the row is infinite at 1
        first = distributions.BetaProportion(np.array([0.3, 0.5]), np.array([4.0, 5.0]))
    t = np.linspace(-36.0, 36.0, 6001) if "Beta" in name else np.linspace(-60.0, 60.0, 6001)
    share = 1 / (1 + np.exp(-t))
    x, width = {
        "BetaProportion": (share, share * (1 - share)),
        "LogUniform": (
            np.array([0.3, 0.5]),
            np.full(2, 0.5),
        ),  # the difference is the same everywhere
    }.get(name, (np.exp(t), np.exp(t)))
    if row.whole:
        x, width = np.arange(400.0), np.ones(400)
    step = t[1] - t[0] if len(x) == len(t) else 1.0
    p, q = [np.array(d.log_prob(x[:, None])) for d in (first, second)]
    p_width = np.exp(p) * width[:, None] * step
    is_in = p_width > 0
    apart = np.where(is_in, p, 0.0) - np.where(is_in, q, 0.0)
    expected = np.mean(apart, axis=0) if name == "LogUniform" else np.sum(p_width * apart, axis=0)
    found = distributions.kl_divergence(first, second)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_divergences_outside_of_the_support():
    d = distributions
    assert d.kl_divergence(d.LogUniform(0.1, 2.0), d.LogUniform(0.2, 3.0)) == np.inf
    assert d.kl_divergence(d.DiscreteUniform(0, 4), d.DiscreteUniform(0, 3)) == np.inf
    with pytest.raises(trellis.errors.NotSupportedError, match="the same total_count"):
        d.kl_divergence(d.NegativeBinomial(2.0, 0.5), d.NegativeBinomial(3.0, 0.5))


# Draws --------------------------------------------------------------------------------------------


def drawn(row, count):
    """Sorted draws of both columns, from one turn around the middle for angles."""
    draws = np.array(made(row).sample(trellis.random.key(5), (count,)))
    assert draws.shape == (count, 2)
    if row.whole:
        assert draws.dtype == np.int64
    if row.name == "VonMises":
        assert np.all(np.abs(draws) <= np.pi)
        loc = row.parameters["loc"]
        draws = (draws - loc + np.pi) % (2 * np.pi) + loc - np.pi
    return np.sort(draws, axis=0)


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.long, id="long")])
@pytest.mark.parametrize("name", NAMES)
def test_draws_follow_the_cdf(name, count):
    """Kolmogorov and Smirnov's test, or the chi-squared one for counts, and two moments."""
    row = NAMES[name]
    own, draws = made(row), drawn(row, count)
    cdf = own.cdf if row.scipy is None else row.scipy(**row.parameters).cdf
    shares = np.array(cdf(draws))
    for i in range(2):
        if row.whole:
            p_value = _whole_p(own, draws[:, i], i)
        else:
            p_value = ss.kstest(shares[:, i], "uniform").pvalue
        # Seventy tests of one seed: the smallest of them is expected around 0.01.
        assert p_value > 1e-3, (i, p_value)
    if not {"mean", "variance"} & set(row.without) and np.all(np.isfinite(own.variance)):
        error = np.abs(draws.mean(axis=0) - own.mean) / np.sqrt(own.variance / count)
        assert np.all(error < 4), error


def _whole_p(own, column, i):
    values, seen = np.unique(column, return_counts=True)
    expected = len(column) * np.exp(own.log_prob(np.stack([values, values], axis=1))[:, i])
    often = expected >= 10
    # All others together: in the tails.
    seen = np.append(seen[often], len(column) - seen[often].sum())
    expected = np.append(expected[often], len(column) - expected[often].sum())
    kept = expected > 1
    return ss.chisquare(seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum()).pvalue


REPARAMETERISED = [
    row.name
    for row in ROWS
    if not row.whole and row.name not in ("StudentT", "FisherSnedecor", "Beta", "BetaProportion",
                                          "Levy", "HalfNormal")
]  # fmt: skip


@pytest.mark.parametrize("name", REPARAMETERISED)
def test_gradients_of_draws_are_implicit(name):
    """A draw moves so that its cdf stays: -(dF/da) / f, by differences of the cdf."""
    row = NAMES[name]
    key, own = trellis.random.key(3), made(row)
    draws = np.array(own.sample(key, (20,)))
    density = np.exp(own.log_prob(draws))
    found = trellis.grad(lambda d: trellis.sum(d.rsample(key, (20,))))(own)
    for parameter, value in row.parameters.items():
        if name == "VonMises" and parameter == "loc":
            continue  # its draws move with it, and turn
        step = 1e-5 * np.maximum(np.abs(value), 0.1)
        ends = [
            np.array(getattr(distributions, name)(**{**row.parameters, parameter: value + s}).cdf(
                draws
            ))
            for s in (-2 * step, -step, step, 2 * step)
        ]  # fmt: skip
        slope = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        expected = np.sum(-slope / density, axis=0)
        # The differences have nine digits, a few less where the density is small.
        np.testing.assert_allclose(getattr(found, parameter), expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["Beta", "StudentT", "HalfNormal"])
def test_gradients_of_draws_are_those_of_the_mean(name):
    """For those that combine several draws: the mean of the gradients is that of the moment."""
    row, key = NAMES[name], trellis.random.key(7)
    own, size = made(row), 10_000

    def moment(d):
        return trellis.sum(trellis.tanh(d.rsample(key, (size,)))) / size

    found = trellis.grad(moment)(own)
    grid = (np.arange(20_000) + 0.5)[:, None] / 20_000
    for parameter, value in row.parameters.items():
        ends = []
        for s in (-1e-3, 1e-3):
            given = {**row.parameters, parameter: value + s}
            ends.append(np.tanh(row.scipy(**given).ppf(grid)).mean(axis=0))
        expected = (ends[1] - ends[0]) / 2e-3
        # Five standard errors of the mean over the draws, whose gradients are of the size of 1.
        np.testing.assert_allclose(getattr(found, parameter), expected, atol=0.03)
