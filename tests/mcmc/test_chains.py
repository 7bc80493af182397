"""trellis.mcmc: the same chain on every backend, and chains that find what they should."""

import numpy as np
import pytest

import trellis
from trellis import mcmc
from trellis.distributions import constraints
from trellis.mcmc import _adaptation as adaptation
from trellis.mcmc._dynamics import Metric, Point, begin, energy, leapfrog

PRECISION = [[2.0, -1.2], [-1.2, 1.5]]
# Draws 0, 9 and 49 of a chain on NumPy 2.4, and its leapfrog steps.
EXPECTED = {
    mcmc.NUTS(): (
        [
            [0.409980853102211, 1.318509263298908],
            [-0.859489659538796, 0.016305628134027],
            [0.623474735239272, 1.97659220625947],
        ],
        [1.0702699909698712, 0.40455839026550755, 2.4399525370952158],
        286,
    ),
    mcmc.HMC(8): (
        [
            [1.366030121561906, 1.33845364128307],
            [-1.099123758032507, -1.830991464543144],
            [-0.075753188227113, -1.165755255875452],
        ],
        [0.5013285574066783, 0.771337960723252, 0.6844489268934888],
        400,
    ),
}


@pytest.mark.parametrize("sampler", EXPECTED, ids=["nuts", "hmc"])
def test_a_key_gives_one_chain(backend, array, x64, sampler):
    with x64():
        precision = array(PRECISION, "float64")

        def log_density(p):
            x, s = p["x"], p["s"]
            square = trellis.sum(x * trellis.matmul(precision, x))
            return -0.5 * square - 3 * s + 2 * trellis.log(s)

        chains = mcmc.sample(
            log_density,
            {"x": array([0.5, -0.5], "float64"), "s": array(1.0, "float64")},
            key=trellis.random.key(5, backend=backend),
            draws=50,
            tune=0,
            chains=1,
            sampler=sampler,
            constraints={"s": constraints.positive},
        )
        vectors, numbers, steps = EXPECTED[sampler]
        x, s = trellis.to_numpy(chains.draws["x"])[0], trellis.to_numpy(chains.draws["s"])[0]
        assert x.dtype == s.dtype == np.float64
        # Rounding grows along 50 trajectories: 1e-9 is what the page promises.
        np.testing.assert_allclose(x[[0, 9, 49]], vectors, rtol=0, atol=1e-9)
        np.testing.assert_allclose(s[[0, 9, 49]], numbers, rtol=0, atol=1e-9)
        assert int(trellis.sum(chains.steps)) == steps
        assert chains.divergences == 0


def within_error(draws, mean, deviation):
    """Whether means are those expected: 4 standard errors, one in 16,000 is further off."""
    error = deviation / np.sqrt(mcmc.ess(draws, kind="mean"))
    return np.all(np.abs(draws.mean((0, 1)) - mean) < 4 * error)


@pytest.mark.parametrize("is_dense", [False, True])
def test_a_normal_distribution_is_found(is_dense):
    mean = np.array([1.0, -2.0])
    covariance = np.array([[4.0, 0.9], [0.9, 0.25]])
    precision = np.linalg.inv(covariance)

    def log_density(x):
        away = x - mean
        return -0.5 * trellis.sum(away * trellis.matmul(precision, away))

    chains = mcmc.sample(
        log_density,
        np.zeros(2),
        key=trellis.random.key(1),
        draws=150,
        tune=250,
        chains=1,
        sampler=mcmc.NUTS(is_dense=is_dense),
    )
    assert within_error(chains.draws, mean, np.sqrt(np.diag(covariance)))
    assert chains.divergences == 0
    learned = np.diag(chains.covariance[0]) if is_dense else chains.covariance[0]
    # The variances of 100 draws, worth about 50: a standard error of 0.2 of them.
    np.testing.assert_allclose(learned, np.diag(covariance), rtol=0.6)
    if is_dense:  # independent after the metric: one or two doublings are enough
        assert chains.steps.mean() < 5


def test_steps_are_tuned_to_the_target():
    steps = adaptation.steps_from(np.array(2.0))
    for _ in range(400):  # where exp(-step) of the trajectories is accepted
        steps = adaptation.stepped(steps, np.exp(-np.exp(steps.log_step)), 0.7)
    # The average of the last steps still holds a little of the first ones.
    np.testing.assert_allclose(np.exp(steps.log_mean), -np.log(0.7), rtol=0.03)


def test_divergences_are_counted():
    def log_density(x):  # a wall at 0
        return trellis.where(x > 0, -x, -np.inf)

    chains = mcmc.sample(
        log_density, np.array(2.0), key=trellis.random.key(0), draws=30, tune=0, chains=1
    )
    assert 0 < chains.divergences <= 30
    assert np.all(chains.draws > 0)


def test_a_trajectory_has_at_most_its_depth():
    def density(x):
        return -0.5 * np.sum(x * x), -x

    unit = adaptation.unit_metric(np.zeros(2), False)
    for depth in (1, 3):
        _, seen = mcmc.NUTS(max_depth=depth).transition(
            density, trellis.random.key(0), unit, np.float64(0.01), begin(density, np.ones(2))
        )
        assert (seen.steps, seen.depth) == (2**depth - 1, depth)


def test_leapfrog_is_reversible_and_of_second_order():
    def density(x):
        return -0.25 * np.sum(x**4), -(x**3)

    metric = Metric(np.array([0.5, 2.0]), np.array([2.0, 0.5]) ** 0.5)
    start = Point(np.array([0.5, 1.0]), np.array([1.0, -0.3]), *density(np.array([0.5, 1.0])))

    def run(point, step, count):
        for _ in range(count):
            point = leapfrog(density, metric, point, step)
        return point

    back = run(run(start, 0.1, 10), -0.1, 10)
    # Twenty steps of rounding.
    np.testing.assert_allclose(back.position, start.position, rtol=1e-13)
    coarse, fine = [
        abs(energy(metric, run(start, 0.2 / n, 10 * n)) - energy(metric, start)) for n in (1, 4)
    ]
    # 16 but for terms of higher order.
    assert 12 < coarse / fine < 20


def test_the_windows_are_those_of_stan():
    # From Stan's reference manual: 75, then 25, 50, 100, 200, 500 of 1000, then 50.
    counts, ends = adaptation.windows(1000)
    assert np.flatnonzero(ends).tolist() == [99, 149, 249, 449, 949]
    assert np.flatnonzero(counts)[[0, -1]].tolist() == [75, 949]
    assert not adaptation.windows(10)[0].any()


def test_welford_is_the_covariance():
    draws = np.random.default_rng(0).normal(size=(30, 3))
    moments = adaptation.no_moments(draws[0], True)
    for draw in draws:
        moments = adaptation.seen(moments, draw)
    # Rounding of 30 sums.
    np.testing.assert_allclose(moments.squares / 29, np.cov(draws.T), rtol=1e-12)
    metric = adaptation.metric_of(moments)
    # The root of the metric is a root of the inverse of its covariance.
    np.testing.assert_allclose(
        metric.root @ metric.root.T, np.linalg.inv(metric.covariance), rtol=1e-10
    )


@pytest.mark.parametrize(
    "init, options, words",
    [
        (np.array([1, 2]), {}, "float64, or all of float32"),
        ({}, {}, "at least one array"),
        (np.zeros(2), {"draws": 0}, "draws is an integer of at least 1"),
        (np.zeros(2), {"tune": -1}, "tune is an integer of at least 0"),
        (np.zeros(2), {"sampler": "nuts"}, "sampler is NUTS"),
        ({"a": np.zeros(2)}, {"constraints": {"b": constraints.positive}}, "no 'b'"),
        (np.zeros(2), {"constraints": constraints.positive}, "as a dict"),
    ],
)
def test_mistakes_are_named(init, options, words):
    with pytest.raises(trellis.errors.TrellisError, match=words):
        mcmc.sample(lambda x: 0.0, init, key=trellis.random.key(0), **options)


def test_a_density_is_one_number():
    with pytest.raises(trellis.errors.ShapeError, match="one number"):
        mcmc.sample(lambda x: -x * x, np.zeros(2), key=trellis.random.key(0))


def test_samplers_check_their_options():
    for make in (
        lambda: mcmc.NUTS(target=1.5),
        lambda: mcmc.HMC(0),
        lambda: mcmc.NUTS(max_depth=0),
    ):
        with pytest.raises(trellis.errors.ArgumentError, match="is a"):
            make()


def test_a_bar_changes_no_draw(capsys):
    def run(progress):
        return mcmc.sample(
            lambda x: -0.5 * x * x,
            np.array(0.0),
            key=trellis.random.key(3),
            draws=25,
            tune=25,
            chains=1,
            progress=progress,
        )

    shown, silent = run(True), run(False)
    np.testing.assert_array_equal(shown.draws, silent.draws)
    assert "20/20" in capsys.readouterr().err


def test_what_has_no_factor_has_no_density(backend, array, x64):
    """Where a covariance is not positive definite (beyond 1 here) a point is rejected; it is a
    mistake at the start."""

    def log_density(r):
        factor = trellis.linalg.cholesky(one * eye + r * (1.0 - eye))
        return trellis.sum(trellis.log(trellis.linalg.diagonal(factor)))

    with x64():
        eye, one = array(np.eye(2), "float64"), array(1.0, "float64")
        key = trellis.random.key(4, backend=backend)
        chains = mcmc.sample(
            log_density, array(0.5, "float64"), key=key, draws=12, tune=0, chains=1, spread=0.1
        )
        draws = trellis.to_numpy(chains.draws)
        assert np.all(np.abs(draws) < 1)
        assert len(np.unique(draws)) > 6
        assert chains.divergences > 0
    if backend in ("numpy", "torch"):
        with x64(), pytest.raises(trellis.errors.ArgumentError, match="positive definite"):
            mcmc.sample(log_density, array(2.0, "float64"), key=key, draws=1, tune=0, chains=1)
