"""Distributions of vectors and matrices, and those made of others, against SciPy and torch."""

import numpy as np
import pytest
import scipy.stats as ss

import oracles
import trellis
from trellis import distributions
from trellis.distributions import (
    LKJ,
    Categorical,
    Censored,
    Delta,
    Dirichlet,
    DirichletMultinomial,
    Exponential,
    Gamma,
    Independent,
    LKJCholesky,
    LowRankMultivariateNormal,
    MatrixNormal,
    Mixture,
    MixtureSameFamily,
    Multinomial,
    MultivariateNormal,
    MultivariateStudentT,
    Normal,
    OneHotCategorical,
    Poisson,
    RelaxedOneHotCategorical,
    StudentT,
    Transformed,
    Truncated,
    Wishart,
    ZeroInflated,
    bijections,
    constraints,
    kl_divergence,
)

COVARIANCE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 1.5]])
FACTOR = np.linalg.cholesky(COVARIANCE)
LOC = np.array([0.5, -1.0, 2.0])
POINTS = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 2.5]])
KEY = trellis.random.key(11)
SHARES = np.array([0.2, 0.5, 0.3])
CONCENTRATION = np.array([1.5, 0.7, 3.0])
ON_SIMPLEX = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
COUNTS = np.array([[2, 3, 1], [0, 6, 0], [1, 1, 1]])


# Vectors ------------------------------------------------------------------------------------------


def test_multivariate_normal():
    theirs = ss.multivariate_normal(LOC, COVARIANCE)
    given = (
        {"covariance_matrix": COVARIANCE},
        {"precision_matrix": np.linalg.inv(COVARIANCE)},
        {"scale_tril": FACTOR},
    )
    for spread in given:
        d = MultivariateNormal(LOC, **spread)
        np.testing.assert_allclose(d.log_prob(POINTS), theirs.logpdf(POINTS), rtol=1e-12)
        np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-12)
        np.testing.assert_allclose(d.covariance_matrix, COVARIANCE, rtol=1e-12)
    w, diagonal = np.array([[1.0, 0.2], [0.5, -1.0], [0.0, 0.3]]), np.array([0.4, 1.0, 2.0])
    low = LowRankMultivariateNormal(LOC, w, diagonal)
    theirs = ss.multivariate_normal(LOC, w @ w.T + np.diag(diagonal))
    np.testing.assert_allclose(low.log_prob(POINTS), theirs.logpdf(POINTS), rtol=1e-12)
    np.testing.assert_allclose(low.entropy(), theirs.entropy(), rtol=1e-12)
    np.testing.assert_allclose(low.variance, np.diag(theirs.cov), rtol=1e-12)
    d = MultivariateStudentT(3.5, LOC, FACTOR)
    theirs = ss.multivariate_t(LOC, COVARIANCE, df=3.5)
    np.testing.assert_allclose(d.log_prob(POINTS), theirs.logpdf(POINTS), rtol=1e-12)
    np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-12)
    for each in (MultivariateNormal(LOC, COVARIANCE), low):
        draws = each.sample(KEY, (20_000,))
        # Four standard errors of means and covariances of 2e4 draws, whose variances are about 2.
        np.testing.assert_allclose(draws.mean(axis=0), LOC, atol=0.05)
        np.testing.assert_allclose(np.cov(draws.T), each.covariance_matrix, atol=0.12)


def test_dirichlet_and_counts():
    d, theirs = Dirichlet(CONCENTRATION), ss.dirichlet(CONCENTRATION)
    np.testing.assert_allclose(d.log_prob(ON_SIMPLEX), theirs.logpdf(ON_SIMPLEX.T), rtol=1e-12)
    np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-12)
    np.testing.assert_allclose(d.mean, theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(d.variance, theirs.var(), rtol=1e-12)
    draws = d.sample(KEY, (20_000,))
    np.testing.assert_allclose(draws.mean(axis=0), d.mean, atol=4 * 0.25 / 141)
    for own, theirs in (
        (Multinomial(6, SHARES), ss.multinomial(6, SHARES)),
        (Multinomial(6, logits=np.log(SHARES) + 2.0), ss.multinomial(6, SHARES)),
        (DirichletMultinomial(CONCENTRATION, 6), ss.dirichlet_multinomial(CONCENTRATION, 6)),
    ):
        expected = [theirs.logpmf(x) if x.sum() == 6 else -np.inf for x in COUNTS]
        np.testing.assert_allclose(own.log_prob(COUNTS), expected, rtol=1e-12)
        draws = own.sample(KEY, (20_000,))
        assert np.all(draws.sum(axis=1) == 6)
        error = np.sqrt(own.variance / 20_000)
        assert np.all(np.abs(draws.mean(axis=0) - own.mean) < 4 * error)
        np.testing.assert_allclose(draws.var(axis=0), own.variance, rtol=0.06)


@pytest.mark.needs("torch")
def test_categories_are_those_of_torch():
    torch, td = oracles.torch, oracles.torch.distributions
    for given in ({"probs": SHARES}, {"logits": np.array([0.3, -2.0, 1.0])}):
        there = {key: torch.tensor(value) for key, value in given.items()}
        own, theirs = Categorical(**given), td.Categorical(**there)
        x = np.array([0, 2, 1])
        np.testing.assert_allclose(own.log_prob(x), theirs.log_prob(torch.tensor(x)), rtol=1e-12)
        np.testing.assert_allclose(own.entropy(), theirs.entropy(), rtol=1e-12)
        np.testing.assert_allclose(own.cdf(x), np.cumsum(np.exp(own.log_prob(np.arange(3))))[x])
        one_hot, theirs = OneHotCategorical(**given), td.OneHotCategorical(**there)
        eye = np.eye(3)
        expected = theirs.log_prob(torch.tensor(eye))
        np.testing.assert_allclose(one_hot.log_prob(eye), expected, rtol=1e-12)
        np.testing.assert_allclose(one_hot.entropy(), theirs.entropy(), rtol=1e-12)
        relaxed = RelaxedOneHotCategorical(0.7, **given)
        theirs = td.RelaxedOneHotCategorical(torch.tensor(0.7, dtype=torch.float64), **there)
        expected = theirs.log_prob(torch.tensor(ON_SIMPLEX))
        np.testing.assert_allclose(relaxed.log_prob(ON_SIMPLEX), expected, rtol=1e-11)
        counts = np.bincount(own.sample(KEY, (20_000,)), minlength=3)
        assert ss.chisquare(counts, 20_000 * np.exp(own.log_prob(np.arange(3)))).pvalue > 1e-3
        assert np.all(one_hot.sample(KEY, (5,)).sum(axis=-1) == 1)
    assert Categorical(SHARES).log_prob(np.array([-1, 3, 1.5])).tolist() == [-np.inf] * 3


# Matrices -----------------------------------------------------------------------------------------


def test_wishart_and_matrix_normal():
    d, theirs = Wishart(5.0, COVARIANCE), ss.wishart(5.0, COVARIANCE)
    x = 4 * COVARIANCE + np.eye(3)
    np.testing.assert_allclose(d.log_prob(x), theirs.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(d.entropy(), theirs.entropy(), rtol=1e-12)
    np.testing.assert_allclose(d.mean, theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(d.variance, theirs.var(), rtol=1e-12)
    draws = d.sample(KEY, (10_000,))
    assert np.all(np.abs(draws.mean(axis=0) - d.mean) < 4 * np.sqrt(d.variance / 10_000))
    rows = np.array([[1.0, 0.0], [0.5, 2.0]])
    loc = np.arange(6.0).reshape(2, 3)
    d = MatrixNormal(loc, rows, FACTOR)
    theirs = ss.matrix_normal(loc, rows @ rows.T, COVARIANCE)
    np.testing.assert_allclose(d.log_prob(loc + 1.0), theirs.logpdf(loc + 1.0), rtol=1e-12)
    draws = d.sample(KEY, (10_000,))
    assert np.all(np.abs(draws.mean(axis=0) - loc) < 4 * np.sqrt(d.variance / 10_000))


@pytest.mark.needs("torch")
def test_correlations():
    torch, td = oracles.torch, oracles.torch.distributions
    draws = {}
    for eta in (0.8, 3.0):
        d = LKJCholesky(4, np.array(eta))
        theirs = td.LKJCholesky(4, torch.tensor(eta, dtype=torch.float64))
        factors = np.array(d.sample(KEY, (3_000,)))
        assert np.all(constraints.correlation_cholesky.check(factors))
        expected = theirs.log_prob(torch.tensor(factors[:5]))
        np.testing.assert_allclose(d.log_prob(factors[:5]), expected, rtol=1e-10, atol=1e-10)
        draws[eta] = factors @ factors.swapaxes(1, 2)
        # A correlation is twice a beta draw, less 1 (Lewandowski, Kurowicka and Joe, 2009).
        shape = eta - 1 + 4 / 2
        for i, j in ((1, 0), (3, 0), (3, 2)):
            shares = ss.beta(shape, shape).cdf(0.5 * draws[eta][:, i, j] + 0.5)
            assert ss.kstest(shares, "uniform").pvalue > 1e-3
    # SciPy has no density of matrices; for two by two it is that of the beta draw.
    matrices = np.array([[[1.0, r], [r, 1.0]] for r in (-0.5, 0.1, 0.9)])
    expected = ss.beta(3.0, 3.0).logpdf(0.5 * matrices[:, 0, 1] + 0.5) - np.log(2)
    np.testing.assert_allclose(LKJ(2, 3.0).log_prob(matrices), expected, rtol=1e-12)


def test_modes_and_entropies():
    """Over all events, or of the normal distribution of the elements."""
    shares, events = np.array([0.1, 0.35, 0.55]), np.array(
        [(i, j, 7 - i - j) for i in range(8) for j in range(8 - i)]
    )  # fmt: skip
    logs = ss.multinomial(7, shares).logpmf(events)
    own = Multinomial(np.array([7, 0]), shares)
    np.testing.assert_allclose(own.entropy(), [-np.sum(np.exp(logs) * logs), 0.0], atol=1e-12)
    assert own.mode.tolist() == [events[np.argmax(logs)].tolist(), [0, 0, 0]]
    rows = np.array([[1.0, 0.0], [0.5, 2.0]])
    whole = ss.multivariate_normal(np.zeros(6), np.kron(rows @ rows.T, COVARIANCE))
    own = MatrixNormal(np.zeros((2, 3)), rows, FACTOR)
    np.testing.assert_allclose(own.entropy(), whole.entropy(), rtol=1e-12)
    for family in (LKJ, LKJCholesky):
        found = np.array(family(3, np.array([2.0, 0.5])).mode)
        assert np.array_equal(found[0], np.eye(3)) and np.isnan(found[1]).all()


def test_only_the_lower_triangle_of_a_factor_is_read():
    filled = FACTOR + np.triu(np.ones((3, 3)), k=1)
    with pytest.raises(trellis.errors.ArgumentError):
        MultivariateNormal(LOC, scale_tril=filled)
    # An optimizer might fill it, if there were a slope.
    for d in (MultivariateNormal(LOC, scale_tril=FACTOR), Wishart(5.0, scale_tril=FACTOR)):
        x = LOC if type(d) is MultivariateNormal else COVARIANCE
        slopes = trellis.grad(lambda d, x=x: d.log_prob(x))(d)
        assert np.all(np.triu(slopes.scale_tril, k=1) == 0)
        moved = trellis.grad(lambda d: trellis.sum(d.rsample(KEY)))(d)
        assert np.all(np.triu(moved.scale_tril, k=1) == 0)


# Made of others -----------------------------------------------------------------------------------


@pytest.mark.needs("torch")
def test_mixtures():
    torch, td = oracles.torch, oracles.torch.distributions
    means = np.array([-2.0, 0.5, 3.0])
    own = MixtureSameFamily(Categorical(SHARES), Normal(means, 0.7))
    theirs = td.MixtureSameFamily(
        td.Categorical(torch.tensor(SHARES)), td.Normal(torch.tensor(means), 0.7)
    )
    x = np.array([-3.0, 0.0, 2.9])
    np.testing.assert_allclose(own.log_prob(x), theirs.log_prob(torch.tensor(x)), rtol=1e-12)
    np.testing.assert_allclose(own.cdf(x), theirs.cdf(torch.tensor(x)), rtol=1e-12)
    np.testing.assert_allclose(own.mean, theirs.mean, rtol=1e-12)
    np.testing.assert_allclose(own.variance, theirs.variance, rtol=1e-12)
    np.testing.assert_allclose(own.icdf(own.cdf(x)), x, rtol=1e-11, atol=1e-11)
    general = Mixture(Categorical(SHARES), [Normal(float(m), 0.7) for m in means])
    np.testing.assert_allclose(general.log_prob(x), own.log_prob(x), rtol=1e-12)
    np.testing.assert_allclose(general.variance, own.variance, rtol=1e-6)
    for d in (own, general):
        draws = np.array(d.sample(KEY, (5_000,))).astype("float64")
        assert ss.kstest(np.array(own.cdf(draws)), "uniform").pvalue > 1e-3
    both = Mixture(Categorical(SHARES[:2] / 0.7), [Exponential(1.0), StudentT(3.0)])
    expected = 2 / 7 * ss.expon.pdf(x) + 5 / 7 * ss.t(3.0).pdf(x)
    np.testing.assert_allclose(np.exp(both.log_prob(x)), expected, rtol=1e-6)
    # The weights have gradients through the draws: here the mean is linear in them.
    slopes = trellis.grad(
        lambda p: trellis.mean(
            MixtureSameFamily(Categorical(p), Normal(means, 0.7)).rsample(KEY, (20_000,))
        )
    )(SHARES)
    # Only differences have a meaning, as the weights add up to 1.
    np.testing.assert_allclose(slopes - slopes[0], means - means[0], atol=0.25)


def test_truncated_and_censored():
    base = ss.gamma(2.0, scale=1 / 1.5)
    d = Truncated(Gamma(2.0, 1.5), np.array(0.5), np.array(2.0))
    x = np.array([0.2, 0.5, 1.0, 2.5])
    mass = base.cdf(2.0) - base.cdf(0.5)
    expected = np.where((x >= 0.5) & (x <= 2.0), base.logpdf(x) - np.log(mass), -np.inf)
    np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-12)
    np.testing.assert_allclose(d.icdf(d.cdf(x[1:3])), x[1:3], rtol=1e-12)
    draws = np.array(d.sample(KEY, (5_000,)))
    assert ss.kstest((base.cdf(draws) - base.cdf(0.5)) / mass, "uniform").pvalue > 1e-3
    counts = Truncated(Poisson(np.array(3.0)), low=1.0)
    ks = np.arange(40)
    probs = np.exp(counts.log_prob(ks))
    np.testing.assert_allclose(
        probs[1:], ss.poisson(3.0).pmf(ks[1:]) / (1 - np.exp(-3.0)), rtol=1e-12
    )
    assert probs[0] == 0 and counts.sample(KEY, (1000,)).min() == 1
    d = Censored(Normal(np.array(1.0), 2.0), -1.0, 3.0)
    normal = ss.norm(1.0, 2.0)
    expected = [-np.inf, normal.logcdf(-1.0), normal.logpdf(0.0), normal.logsf(3.0), -np.inf]
    np.testing.assert_allclose(
        d.log_prob(np.array([-2.0, -1.0, 0.0, 3.0, 4.0])), expected, rtol=1e-12
    )
    draws = np.array(d.sample(KEY, (20_000,)))
    np.testing.assert_allclose(
        [np.mean(draws == -1), np.mean(draws == 3)], [normal.cdf(-1)] * 2, atol=0.011
    )


def test_zero_inflated():
    d = ZeroInflated(Poisson(np.array(2.0)), gate_logits=np.array(-1.0))
    gate, ks = 1 / (1 + np.e), np.arange(30)
    expected = (1 - gate) * ss.poisson(2.0).pmf(ks) + gate * (ks == 0)
    np.testing.assert_allclose(np.exp(d.log_prob(ks)), expected, rtol=1e-12)
    np.testing.assert_allclose(d.cdf(ks), np.cumsum(expected), rtol=1e-12)
    np.testing.assert_allclose(d.mean, np.sum(ks * expected), rtol=1e-9)
    np.testing.assert_allclose(d.variance, np.sum(ks**2 * expected) - d.mean**2, rtol=1e-9)
    np.testing.assert_allclose(d.icdf(d.cdf(ks[:8])), ks[:8])


MAPS = {
    "Affine": lambda: bijections.Affine(1.0, -2.0),
    "Exp": bijections.Exp,
    "Sigmoid": bijections.Sigmoid,
    "Tanh": bijections.Tanh,
    "Softplus": bijections.Softplus,
    "Power": lambda: bijections.Power(-1.5),
    "StickBreaking": bijections.StickBreaking,
    "Ordered": bijections.Ordered,
    "LowerCholesky": bijections.LowerCholesky,
    "CorrelationCholesky": bijections.CorrelationCholesky,
    "Compose": lambda: bijections.Compose([bijections.Ordered(), bijections.Exp()]),
    "Inverse": lambda: bijections.Inverse(bijections.Exp()),
}


@pytest.mark.parametrize("name", MAPS)
def test_bijections(name):
    """The inverse is one, and log_det is the determinant of the derivative."""
    b = MAPS[name]()
    x = np.array([0.3, 1.2, 0.8]) if name in ("Power", "Inverse") else np.array([0.3, -1.2, 0.8])
    y = b(x)
    assert y.shape == b.shape_of((3,)) and b.shape_before(y.shape) == (3,)
    np.testing.assert_allclose(b.inverse(y), x, rtol=1e-12)
    jacobian = trellis.jac(b)(x).reshape(-1, 3)
    if b.ranks == (0, 0):
        expected = np.log(np.abs(np.diag(jacobian)))
        np.testing.assert_allclose(np.sign(np.diag(jacobian)), b.slope(x))
    else:
        # The numbers that are free: all but the last share, and what is below the diagonal.
        free = jacobian[:3] if len(jacobian) in (3, 4) else None
        if name == "LowerCholesky":
            free = jacobian[[0, 2, 3]]
        if name == "CorrelationCholesky":
            free = jacobian[[3, 6, 7]]
        expected = np.log(np.abs(np.linalg.det(free)))
    np.testing.assert_allclose(b.log_det(x), expected, rtol=1e-11)


def test_bijections_reach_their_sets():
    x = np.array([0.3, -1.2, 0.8])
    for name in (
        *("positive", "nonnegative", "unit_interval", "simplex", "ordered", "real"),
        *("lower_cholesky", "correlation_cholesky", "positive_vector", "circular"),
    ):
        constraint = getattr(constraints, name)
        y = bijections.biject_to(constraint)(x)
        assert np.all(constraint.check(y)), name
    between = constraints.interval(-1.0, 2.0)
    assert np.all(between.check(bijections.biject_to(between)(10 * x)))
    with pytest.raises(trellis.errors.NotSupportedError, match="whole"):
        bijections.biject_to(constraints.boolean)


def test_transformed():
    normal = Normal(np.array(0.3), 1.2)
    x = np.array([-1.0, 0.0, 0.2, 3.0])
    d, theirs = Transformed(normal, bijections.Exp()), ss.lognorm(1.2, scale=np.exp(0.3))
    np.testing.assert_allclose(d.log_prob(x), theirs.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(d.cdf(x), theirs.cdf(x), rtol=1e-12)
    falling = Transformed(normal, bijections.Affine(1.0, -2.0))
    theirs = ss.norm(0.4, 2.4)
    np.testing.assert_allclose(falling.log_prob(x), theirs.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(falling.cdf(x), theirs.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(
        falling.icdf(np.array([0.1, 0.9])), theirs.ppf([0.1, 0.9]), rtol=1e-12
    )
    # On the simplex it integrates to 1: a sum over a triangle.
    flow = Transformed(Normal(np.zeros(2), 1.0), bijections.StickBreaking())
    assert flow.event_shape == (3,) and flow.batch_shape == ()
    n = 400
    a, b = [g.ravel() for g in np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2)]
    inside = a + b < 1
    points = np.stack([a, b, 1 - a - b], axis=1)[inside]
    np.testing.assert_allclose(np.exp(flow.log_prob(points)).sum() / n**2, 1.0, atol=2e-3)
    assert np.all(constraints.simplex.check(flow.sample(KEY, (10,))))


def test_shapes_and_small_ones():
    d = Independent(Normal(np.zeros((2, 3)), 1.0), 1)
    assert (d.batch_shape, d.event_shape) == ((2,), (3,))
    np.testing.assert_allclose(d.log_prob(np.ones(3)), [3 * ss.norm.logpdf(1.0)] * 2, rtol=1e-12)
    wide = d.expand((4, 2))
    assert wide.sample(KEY, (5,)).shape == (5, 4, 2, 3)
    assert wide.log_prob(np.ones(3)).shape == (4, 2)
    numbers = Normal(0.0, 1.0).expand((2, 3))
    assert numbers.sample(KEY).shape == numbers.mean.shape == numbers.log_prob(0.0).shape == (2, 3)
    point = Delta(np.array([1.0, 2.0]))
    assert point.log_prob(np.array([1.0, 1.0])).tolist() == [0.0, -np.inf]
    assert point.sample(KEY, (3,)).tolist() == [[1.0, 2.0]] * 3
    assert repr(d) == "Independent(base=Normal(loc=float64[2, 3], scale=1.0), rank=1)"


# Divergences --------------------------------------------------------------------------------------


@pytest.mark.needs("torch")
def test_divergences_of_vectors_are_those_of_torch():
    torch, td = oracles.torch, oracles.torch.distributions
    other, shifted = np.diag([1.0, 2.0, 0.5]), LOC + np.array([0.5, 0.0, -1.0])
    pairs = [
        (
            [MultivariateNormal(LOC, COVARIANCE), MultivariateNormal(shifted, scale_tril=other)],
            [
                td.MultivariateNormal(torch.tensor(LOC), torch.tensor(COVARIANCE)),
                td.MultivariateNormal(torch.tensor(shifted), scale_tril=torch.tensor(other)),
            ],
        ),
        (
            [Dirichlet(CONCENTRATION), Dirichlet(SHARES)],
            [td.Dirichlet(torch.tensor(CONCENTRATION)), td.Dirichlet(torch.tensor(SHARES))],
        ),
        (
            [Categorical(SHARES), Categorical(logits=LOC)],
            [td.Categorical(torch.tensor(SHARES)), td.Categorical(logits=torch.tensor(LOC))],
        ),
        (
            [Independent(Normal(LOC, 1.0), 1), Independent(Normal(shifted, 2.0), 1)],
            [
                td.Independent(td.Normal(torch.tensor(LOC), 1.0), 1),
                td.Independent(td.Normal(torch.tensor(shifted), 2.0), 1),
            ],
        ),
    ]
    for own, theirs in pairs:
        np.testing.assert_allclose(
            kl_divergence(*own), td.kl_divergence(*theirs), rtol=1e-11, err_msg=repr(own[0])
        )


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (distributions.Weibull(1.2, 2.5), distributions.Weibull(0.8, 1.5)),
        (distributions.Weibull(1.2, 2.5), Gamma(2.0, 1.5)),
        (distributions.InverseGamma(2.5, 1.5), distributions.InverseGamma(3.0, 1.0)),
        (distributions.Chi2(3.0), distributions.Chi2(5.0)),
        (Gamma(2.5, 1.5), Exponential(0.7)),
        (Exponential(0.7), Gamma(2.5, 1.5)),
        (distributions.Uniform(0.0, 2.0), Normal(0.5, 1.5)),
        (distributions.VonMises(0.3, 2.0), distributions.VonMises(1.0, 0.5)),
        (Wishart(5.0, COVARIANCE.astype("float32")), Wishart(6.0, np.eye(3, dtype="float32"))),
    ],
)
def test_divergences_are_means_over_draws(p, q):
    exact = kl_divergence(p, q)
    draws = p.sample(KEY, (20_000,))
    logs = np.array(p.log_prob(draws) - q.log_prob(draws))
    # Four standard errors of the mean over the draws.
    assert abs(logs.mean() - exact) < 4 * logs.std() / 141
    estimated = kl_divergence(p, q, key=KEY, samples=20_000)
    np.testing.assert_allclose(estimated, logs.mean(), rtol=1e-3, atol=1e-4)


# Mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Normal(0.0, -1.0), "scale to be a number above 0.0, got -1.0"),
        (lambda: Normal([0.0], 1.0), "asarray"),
        (lambda: Normal(np.zeros(2), np.ones(3)), "broadcast"),
        (lambda: distributions.Bernoulli(), "either probs or logits, got neither"),
        (lambda: distributions.Bernoulli(0.1, logits=0.1), "got both"),
        (lambda: distributions.Binomial(2.5, 0.1), "whole number of at least 0"),
        (lambda: distributions.Uniform(1.0, 0.0), "low < high"),
        (lambda: Categorical(np.array([0.5, 0.6])), "adds up to 1"),
        (lambda: MultivariateNormal(LOC, -COVARIANCE), "positive eigenvalues"),
        (lambda: MultivariateNormal(LOC), "one of covariance_matrix"),
        (
            lambda: MultivariateNormal(LOC, COVARIANCE).log_prob(np.ones(2)),
            r"events of shape \(3,\)",
        ),
        (lambda: Poisson(1.0).rsample(KEY), r"Use sample\(\)"),
        (lambda: Independent(Normal(0.0, 1.0), 1), "batch shape is"),
        (lambda: Normal(np.zeros(3), 1.0).expand((2,)), "cannot be expanded"),
        (lambda: kl_divergence(Normal(0.0, 1.0), StudentT(3.0)), "Give a key"),
        (lambda: Mixture(Categorical(SHARES), [Normal(0.0, 1.0)]), "as many components"),
        (lambda: MixtureSameFamily(Categorical(SHARES), Normal(0.0, 1.0)), "must end with 3"),
        (lambda: bijections.Compose([np.exp]), "expects bijections"),
        (lambda: Dirichlet(CONCENTRATION).cdf(0.5), "no closed form of cdf"),
        (lambda: Normal(0.0, 1.0).log_prob(np.array([1j])), "real numbers"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(trellis.errors.TrellisError, match=words):
        call()
