"""Distributions on every backend: equal values and draws, compiled, under grad, vmap and scan."""

import numpy as np
import pytest

import numpyro_rows as known
import trellis
from conftest import one_program
from distribution_rows import ROWS
from trellis import distributions
from trellis.distributions import (
    Bernoulli,
    Binomial,
    Categorical,
    Gamma,
    Independent,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    Poisson,
    Transformed,
    TruncatedNormal,
    VonMises,
    bijections,
)

# The programs of the others are made of the same operations.
COMPILED_NAMES = {
    *("Normal", "TruncatedNormal", "Cauchy", "Logistic", "Uniform", "Weibull", "Gamma"),
    *("GeneralizedPareto", "Kumaraswamy", "Bernoulli", "Geometric", "Poisson"),
}
COMPILED = [row for row in ROWS if row.name in COMPILED_NAMES]


@pytest.fixture
def program_of(backend, compiled):
    """`compiled`, of functions of distributions: tf.function alone does not look into these."""
    return trellis.compile if backend == "tensorflow" else compiled


@pytest.fixture
def wide(x64):
    with x64():
        yield


def made(row, xp, kind="float64"):
    given = {name: xp.from_numpy(value.astype(kind)) for name, value in row.parameters.items()}
    return getattr(distributions, row.name)(**given)


def everything(each):
    """All that has no search in it, of several distributions at their points."""
    found = {}
    for name, (d, x) in each.items():
        found[name] = [d.log_prob(x)]
        if name not in ("Gamma", "Poisson"):
            found[name] += [d.cdf(x)]
    return found


def test_one_compiled_program_of_all_families(xp, program_of, wide):
    each = {
        row.name: (made(row, xp), xp.from_numpy(np.resize(row.points, (4, 1)))) for row in COMPILED
    }

    def program(each):
        return everything(each)

    found = program_of(program)(each)
    numpy = trellis.namespace("numpy")
    expected = everything(
        {row.name: (made(row, numpy), np.resize(row.points, (4, 1))) for row in COMPILED}
    )
    for name, values in expected.items():
        for got, value in zip(found[name], values, strict=True):
            # NumPy's values are compared with SciPy's in test_families; compilers join operations.
            np.testing.assert_allclose(
                trellis.to_numpy(got), value, rtol=2e-12, atol=2e-13, err_msg=name
            )


DRAWN = {
    "Normal": lambda a: Normal(a, 2.0),
    "Gamma": lambda a: Gamma(a, 2.0),
    "TruncatedNormal": lambda a: TruncatedNormal(a, 1.0, -1.0, 2.0),
    "VonMises": lambda a: VonMises(0.3, a),
    "Binomial": lambda a: Binomial(60, 0.2 * a),
    "Bernoulli": lambda a: Bernoulli(0.2 * a),
    "Poisson": lambda a: Poisson(a),
    "mixture": lambda a: MixtureSameFamily(
        Categorical(logits=trellis.stack([a, -a], axis=-1)),
        Normal(trellis.stack([a, 5.0 + a], axis=-1), 1.0),
    ),
    "flow": lambda a: Transformed(Normal(a, 1.0), [bijections.Tanh(), bijections.Affine(1.0, 3.0)]),
}


def test_draws_are_equal_on_all_backends(backend, xp):
    """Those of NumPy, which follow their cdf."""
    values = np.array([0.5, 2.5], "float32")
    for name, family in DRAWN.items():
        sampled = one_program(backend, lambda key, a, f=family: f(a).sample(key, (5,)))
        found = sampled(trellis.random.key(3, backend=backend), xp.from_numpy(values))
        expected = family(values).sample(trellis.random.key(3), (5,))
        found = trellis.to_numpy(found)
        assert found.shape == (5, 2)
        if name in ("Binomial", "Bernoulli", "Poisson"):
            assert np.array_equal(found, expected), name
        else:
            assert found.dtype == np.float32
            # Rounding in logarithms, which frameworks and compilers do differently.
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6, err_msg=name)


ALL = known.rows()


def test_every_family_has_a_row():
    bases = {"Distribution", "Parametric"}
    families = {
        name
        for name, value in vars(distributions).items()
        if isinstance(value, type) and issubclass(value, distributions.Distribution)
    }
    assert families - bases == set(ALL)


def test_draws_of_all_families_are_equal_on_all_backends(backend, xp):
    """Those of NumPy: the bits of counts, and of floats all but rounding in logarithms, powers and
    products, of which a draw has ten or so, next to where a difference cancels."""
    numpy = trellis.namespace("numpy")
    wrong = []
    for name, row in ALL.items():
        own, same = (
            known.ours(row, xp=xp, kind="float32"),
            known.ours(row, xp=numpy, kind="float32"),
        )
        found = trellis.to_numpy(own.sample(trellis.random.key(3, backend=backend), (4,)))
        expected = same.sample(trellis.random.key(3), (4,))
        assert found.shape == expected.shape, name
        assert row.whole or found.dtype == expected.dtype == np.float32, name
        if row.whole:
            good = np.array_equal(found, expected)
        else:
            good = np.allclose(found, expected, rtol=1e-4, atol=1e-5)
        wrong += [] if good else [(name, found.tolist(), expected.tolist())]
    assert wrong == []


def test_compiled_draws_and_their_gradients(backend, xp, compiled):
    key = trellis.random.key(4, backend=backend)
    values = xp.from_numpy(np.array([0.5, 2.5], "float32"))
    families = {name: DRAWN[name] for name in ("Normal", "TruncatedNormal", "flow")}

    def program(key, values):
        def total(values):
            parts = [trellis.sum(f(values).rsample(key, (3,))) for f in families.values()]
            return sum(parts)

        counts = [DRAWN[name](values).sample(key, (3,)) for name in ("Bernoulli", "Binomial")]
        return trellis.grad(total)(values), counts

    slopes, counts = compiled(program)(key, values)
    expected, numpy_counts = program(trellis.random.key(4), trellis.to_numpy(values))
    np.testing.assert_allclose(trellis.to_numpy(slopes), expected, rtol=1e-4)
    for got, value in zip(counts, numpy_counts, strict=True):
        assert np.array_equal(trellis.to_numpy(got), value)


def test_a_distribution_is_a_pytree(xp, program_of):
    d = Normal(xp.from_numpy(np.float32([0.0, 1.0, 2.0])), 2.0)
    x = xp.from_numpy(np.float32([1.0, 1.0, 1.0]))
    slopes = trellis.grad(lambda d: trellis.sum(d.log_prob(x)))(d)
    assert type(slopes) is Normal
    np.testing.assert_allclose(trellis.to_numpy(slopes.loc), [0.25, 0.0, -0.25])
    # (x - m)**2 / s**3 - 1 / s, of three points at the distances 1, 0, 1.
    np.testing.assert_allclose(trellis.to_numpy(slopes.scale), 2 / 8 - 3 / 2)
    each = Normal(d.loc, xp.from_numpy(np.float32([1.0, 2.0, 3.0])))
    mapped = trellis.vmap(lambda d, x: d.log_prob(x))(each, x)
    np.testing.assert_allclose(
        trellis.to_numpy(mapped), trellis.to_numpy(each.log_prob(x)), rtol=1e-6
    )
    moved = program_of(lambda d: Normal(d.loc + 1.0, d.scale))(each)
    assert type(moved) is Normal
    np.testing.assert_allclose(trellis.to_numpy(moved.mean), [1.0, 2.0, 3.0])
    # As the carry of a loop: a random walk with drift.
    last, means = trellis.scan(lambda d, x: (Normal(d.loc + x, d.scale), d.mean), each, x)
    np.testing.assert_allclose(trellis.to_numpy(last.loc), [3.0, 4.0, 5.0])
    assert tuple(means.shape) == (3, 3)


def test_compiled_gradient_by_a_distribution(xp, program_of):
    factor = xp.from_numpy(np.float32([[1.0, 0.0], [0.5, 2.0]]))
    d = MultivariateNormal(xp.from_numpy(np.float32([0.0, 0.0])), scale_tril=factor)
    x = xp.from_numpy(np.float32([1.0, -1.0]))

    def program(d, x):
        return trellis.grad(lambda d: d.log_prob(x))(d).loc

    found = program_of(program)(d, x)
    covariance = np.array([[1.0, 0.5], [0.5, 4.25]])
    expected = np.linalg.solve(covariance, [1.0, -1.0])
    np.testing.assert_allclose(trellis.to_numpy(found), expected, rtol=1e-6)


def test_parameters_are_fitted_by_an_optimizer(xp, program_of):
    """The maximum of the likelihood of a normal distribution is known."""
    data = xp.from_numpy(np.random.default_rng(0).normal(3.0, 0.5, 200).astype("float32"))
    v = trellis.Container(
        loc=xp.from_numpy(np.float32([0.0])), raw=xp.from_numpy(np.float32([0.0]))
    )
    positive = bijections.biject_to(distributions.constraints.positive)
    opt = trellis.optim.Adam(0.1)

    def loss(v):
        return -trellis.mean(Normal(v.loc, positive(v.raw)).log_prob(data))

    step = program_of(lambda v: trellis.grad(loss)(v))
    for _ in range(150):
        v = opt.step(v, step(v))
    expected = trellis.to_numpy(data)
    np.testing.assert_allclose(trellis.to_numpy(v.loc), [expected.mean()], atol=5e-3)
    np.testing.assert_allclose(trellis.to_numpy(positive(v.raw)), [expected.std()], atol=5e-3)


def test_an_optimizer_steps_through_distributions(xp, program_of):
    """As the variables themselves, and inside of a dict."""
    d = Normal(xp.from_numpy(np.float32([0.0, 2.0])), xp.from_numpy(np.float32([1.0, 2.0])))
    opt = trellis.optim.Adam(0.5)

    def step(d, state):
        grads = trellis.grad(lambda d: -trellis.sum(d.log_prob(1.0)))(d)
        nested, _ = opt.update({"d": d}, {"d": grads}, opt.init({"d": d}))
        return opt.update(d, grads, state), nested["d"]

    (moved, state), nested = program_of(step)(d, opt.init(d))
    # Adam's first step is the rate, away from the sign of the gradient.
    for found in (moved, nested):
        assert type(found) is Normal
        np.testing.assert_allclose(trellis.to_numpy(found.loc), [0.5, 1.5], rtol=1e-5)
        # (x - m)**2 / s**3 - 1 / s is 0 at the first one: no step.
        np.testing.assert_allclose(trellis.to_numpy(found.scale), [1.0, 1.5], rtol=1e-5)
    assert type(state["m"]) is Normal
    with pytest.raises(trellis.errors.ShapeError, match="Pytrees differ"):
        trellis.tree.map(lambda x, y: x, d, {"loc": d.loc})


def test_dtypes_stay(backend, xp):
    for kind in ("float16", "float32"):
        d = Normal(xp.astype(xp.from_numpy(np.float32([0.0, 1.0])), kind), 2.0)
        key = trellis.random.key(0, backend=backend)
        for value in (d.log_prob(0.5), d.cdf(0.5), d.mean, d.entropy(), d.sample(key)):
            assert xp.dtype_name(value.dtype) == kind
    count = Poisson(xp.from_numpy(np.float32([1.0]))).sample(trellis.random.key(0, backend=backend))
    assert xp.dtype_name(count.dtype) == xp.dtype_name(xp.asarray(0).dtype)
    # Numbers alone: the key decides where it is drawn, the point where it is evaluated.
    drawn = Independent(Normal(0.0, 1.0).expand(3), 1).sample(
        trellis.random.key(0, backend=backend)
    )
    assert trellis.backend_of(drawn) == backend
