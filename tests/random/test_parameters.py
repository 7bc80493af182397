"""Distributions far out and at large rates, and parameters that are none: refused on all four."""

import numpy as np
import pytest
from scipy import stats

import trellis
from trellis import errors, random
from trellis.conformance.strangers import other_of

DRAWS = 20_000


@pytest.mark.parametrize("rate", [0.5, 9.5, 10.0, 30.0, 1e3, 1e5, 1e6, 1e7, 1e8])
def test_poisson_at_any_rate(rate, backend):
    """Mean and variance within five standard errors; whole numbers all of them, odd ones too."""
    x = trellis.to_numpy(random.poisson(random.key(3, backend=backend), rate, (DRAWS,)))
    x = x.astype("float64")
    assert abs(x.mean() - rate) < 5 * np.sqrt(rate / DRAWS)
    # The variance of a sample variance: (kurtosis excess + 2) / n.
    assert abs(x.var() / rate - 1) < 5 * np.sqrt((2 + 1 / rate) / DRAWS)
    assert 0.4 < np.mean(x % 2) < 0.6 or rate < 1


@pytest.mark.parametrize("rate", [12.0, 250.0, 1e6])
def test_poisson_has_the_right_distribution(rate, backend):
    """Against SciPy's distribution function, at its own quantiles."""
    x = trellis.to_numpy(random.poisson(random.key(5, backend=backend), rate, (DRAWS,)))
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        k = stats.poisson.ppf(q, rate)
        share, expected = np.mean(x <= k), stats.poisson.cdf(k, rate)
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / DRAWS)


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_poisson_is_equal_on_all_four():
    """Decisions are taken in float32: at most a few draws in a million may differ."""
    drawn = [
        trellis.to_numpy(random.poisson(random.key(9, backend=b), 1e6, (DRAWS,)))
        for b in ("numpy", "jax", "torch", "tensorflow")
    ]
    for other in drawn[1:]:
        assert np.mean(drawn[0] != other) < 1e-4


BOUNDS = [(3.0, 3.5), (5.0, 6.0), (-6.0, -5.0), (8.0, 9.0), (20.0, np.inf), (-np.inf, -5.0)]


@pytest.mark.parametrize("low, high", BOUNDS)
@pytest.mark.parametrize("as_array", [False, True], ids=["numbers", "arrays"])
def test_truncated_normal_in_the_tails(low, high, as_array, backend, array):
    """Against SciPy's distribution: all distinct, inside the bounds, at the right quantiles."""
    bounds = (low, high)
    if as_array:
        bounds = [array(np.full(1, bound, "float32")) for bound in bounds]
    x = random.truncated_normal(random.key(1, backend=backend), *bounds, (DRAWS,), "float32")
    x = trellis.to_numpy(x).astype("float64")
    assert low < x.min() and x.max() < high
    assert len(np.unique(x)) > DRAWS // 10
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        quantile = stats.truncnorm.ppf(q, low, high)
        assert abs(np.mean(x <= quantile) - q) < 5 * np.sqrt(q * (1 - q) / DRAWS)


WRONG = {
    "poisson negative": lambda k: random.poisson(k, -1.0),
    "poisson nan": lambda k: random.poisson(k, float("nan")),
    "poisson infinite": lambda k: random.poisson(k, float("inf")),
    "fold_in negative": lambda k: random.fold_in(k, -1),
    "fold_in too large": lambda k: random.fold_in(k, 2**32),
    "randint empty": lambda k: random.randint(k, (3,), 5, 3),
    "permutation negative": lambda k: random.permutation(k, -1),
    "gamma zero": lambda k: random.gamma(k, 0.0),
    "beta nan": lambda k: random.beta(k, 1.0, float("nan")),
    "bernoulli above one": lambda k: random.bernoulli(k, 1.5),
    "truncated the wrong way": lambda k: random.truncated_normal(k, 2.0, 1.0),
    "uniform the wrong way": lambda k: random.uniform(k, (), None, 2.0, 1.0),
}
WRONG_KINDS = {
    "fold_in a fraction": lambda k: random.fold_in(k, 1.5),
    "fold_in a bool": lambda k: random.fold_in(k, True),
    "randint of floats": lambda k: random.randint(k, (3,), 0.5, 3),
    "poisson None": lambda k: random.poisson(k, None),
    "choice of None": lambda k: random.choice(k, None),
    "multivariate None": lambda k: random.multivariate_normal(k, None, None),
    "no key": lambda k: random.uniform(3),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_refused(name, backend):
    with pytest.raises(errors.ArgumentError):
        WRONG[name](random.key(0, backend=backend))


@pytest.mark.parametrize("name", WRONG_KINDS)
def test_wrong_kinds_are_refused(name, backend):
    with pytest.raises(errors.ArgumentTypeError):
        WRONG_KINDS[name](random.key(0, backend=backend))


@pytest.mark.parametrize(
    "weights", [[0.5, float("nan")], [-1.0, 2.0], [0.0, 0.0], [float("inf"), 1.0]]
)
def test_weights_are_checked(weights, backend, array):
    with pytest.raises(errors.ArgumentError, match="weights"):
        random.choice(random.key(0, backend=backend), 2, (3,), p=array(weights))


def test_wrong_rates_in_a_compiled_function(backend, array, compiled):
    """Nobody can look at them there: -1, which no rate gives. On NumPy they can be looked at."""
    rates = array(np.array([-1.0, np.nan, np.inf, 4.0], "float32"))
    draw = compiled(lambda k, rates: random.poisson(k, rates))
    if backend == "numpy":
        with pytest.raises(errors.ArgumentError):
            draw(random.key(0), rates)
    else:
        x = trellis.to_numpy(draw(random.key(0, backend=backend), rates))
        assert x[:3].tolist() == [-1, -1, -1] and x[3] >= 0


# Draws of floats, with the shape in place of which each has a default.
FLOATS = {
    "uniform": lambda k, array, **kw: random.uniform(k, (2, 3), **kw),
    "exponential": lambda k, array, **kw: random.exponential(k, (2, 3), **kw),
    "gumbel": lambda k, array, **kw: random.gumbel(k, (2, 3), **kw),
    "normal": lambda k, array, **kw: random.normal(k, (2, 3), **kw),
    "truncated_normal": lambda k, array, **kw: random.truncated_normal(
        k, array([-1.0, -1.5, -2.0]), 2.0, (2, 3), **kw
    ),
    "multivariate_normal": lambda k, array, **kw: random.multivariate_normal(
        k, array([0.0, 1.0, 2.0]), array(np.eye(3, dtype="float32")), (2,), **kw
    ),
    "orthogonal": lambda k, array, **kw: random.orthogonal(k, 2, (), m=3, **kw),
    "gamma": lambda k, array, **kw: random.gamma(k, array([1.5]), (2, 3), **kw),
    "beta": lambda k, array, **kw: random.beta(k, array([1.5]), 2.0, (2, 3), **kw),
    "dirichlet": lambda k, array, **kw: random.dirichlet(k, array([1.0, 2.0, 3.0]), (2,), **kw),
}


@pytest.mark.parametrize("name", FLOATS)
def test_draws_of_floats_have_the_type_that_was_asked_for(name, backend, array, x64):
    draw = FLOATS[name]
    with x64():
        key = random.key(0, backend=backend)
        for dtype in ("float32", "float64"):
            x = draw(key, array, dtype=dtype)
            assert trellis.dtype(x) == dtype and tuple(x.shape) == (2, 3)
            assert trellis.backend_of(x) == backend
        with pytest.raises(errors.ArgumentError, match=rf"^{name} draws floating.*not int32"):
            draw(key, array, dtype="int32")


MIXED = {
    "randint": lambda k, x: random.randint(k, (1,), 0, trellis.add(trellis.astype(x, "int32"), 9)),
    "uniform": lambda k, x: random.uniform(k, (1,), None, x, 9.0),
    "bernoulli": lambda k, x: random.bernoulli(k, x),
    "truncated_normal": lambda k, x: random.truncated_normal(k, x, 9.0),
    "multivariate_normal": lambda k, x: random.multivariate_normal(k, x, x),
    "gamma": lambda k, x: random.gamma(k, x),
    "beta": lambda k, x: random.beta(k, 1.0, x),
    "dirichlet": lambda k, x: random.dirichlet(k, x),
    "poisson": lambda k, x: random.poisson(k, x),
    "categorical": lambda k, x: random.categorical(k, x),
    "choice": lambda k, x: random.choice(k, x),
    "choice with weights": lambda k, x: random.choice(k, 1, p=x),
    "permutation": lambda k, x: random.permutation(k, x),
}


@pytest.mark.parametrize("name", MIXED)
def test_arrays_of_another_framework_are_refused(name, backend):
    other = trellis.asarray(np.array([0.5], "float32"), backend=other_of(backend))
    with pytest.raises(errors.MixedBackendsError):
        MIXED[name](random.key(0, backend=backend), other)


def test_bounds_of_uniform_may_meet_and_may_be_arrays(backend, array):
    key = random.key(0, backend=backend)
    for low, high in ((1.0, 1.0), (0.0, 0.0), (-2.5, -2.5)):
        assert trellis.to_numpy(random.uniform(key, (3,), None, low, high)).tolist() == [low] * 3
    unit = trellis.to_numpy(random.uniform(key, (2,)))
    for low, high in (
        (array([0.0, 3.0]), 4.0),
        (0.0, array([1.0, 5.0])),
        (array([0.0, 0.0]), array([1.0, 1.0])),
    ):
        x = trellis.to_numpy(random.uniform(key, (2,), None, low, high))
        low, high = [trellis.to_numpy(b) if hasattr(b, "dtype") else b for b in (low, high)]
        # One rounding each of a product and of a sum.
        np.testing.assert_allclose(x, low + unit * (high - low), rtol=3e-7)
