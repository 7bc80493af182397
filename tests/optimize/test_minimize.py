"""minimize and least_squares: the problems of More, Garbow and Hillstrom, SciPy, and gradients."""

import numpy as np
import pytest
import scipy.optimize
from problems import PROBLEMS, objective, residuals, start

import trellis
from trellis import optimize
from trellis.conformance.compilers import compile_with, one_program
from trellis.optimize.minimizing import METHODS


@pytest.fixture(autouse=True)
def wide(x64):
    # Trials far away overflow, of which NumPy warns, and are not taken.
    with x64(), np.errstate(all="ignore"):
        yield


# Other frameworks compile each problem anew, in seconds.
SHARE = [pytest.param(False, id="short"), pytest.param(True, marks=pytest.mark.long, id="long")]


def names(backend, every, method="lbfgs"):
    """Half of them on NumPy for Newton's methods, which take longer."""
    if backend != "numpy" and not every:
        return ["helical_valley"]
    return list(PROBLEMS)[:: 1 if every or "bfgs" in method else 2]


@pytest.mark.parametrize("every", SHARE)
@pytest.mark.parametrize("method", METHODS)
def test_more_garbow_hillstrom(xp, backend, method, every):
    for name in names(backend, every, method):
        fn = objective(xp, name)
        run = one_program(backend, lambda x, fn=fn: optimize.minimize(fn, x, method=method))
        found = run(xp.from_numpy(start(name)))
        if (method, name) != ("newton-cg", "osborne_1"):
            # There the value has no digits left at a gradient of 3e-7, and rounding decides whether
            # a line search still finds a smaller one.
            assert bool(found.converged), name
            assert float(found.gradient_norm) <= 1e-8, name
        # The paper prints six digits. A minimum of 0 is flat in the singular problem, and so is the
        # valley of the badly scaled one, where a gradient of 1e-8 is reached at 1.2e-9.
        value, flat = float(found.value), 2e-9 if name == "powell_badly_scaled" else 2e-12
        assert value == pytest.approx(PROBLEMS[name].minimum, rel=3e-6, abs=flat), name


def test_the_valley_has_an_end(xp, backend):
    """A smaller bound for the gradient leads to its minimum."""
    if backend == "numpy":
        fn = objective(xp, "powell_badly_scaled")
        for method in METHODS:
            found = optimize.minimize(fn, start("powell_badly_scaled"), method=method, tol=1e-13)
            assert float(found.value) < 1e-18, method


@pytest.mark.parametrize("every", SHARE)
def test_least_squares_of_the_same_problems(xp, backend, every):
    for name in names(backend, every):
        fn = residuals(xp, name)
        run = one_program(backend, lambda x, fn=fn: optimize.least_squares(fn, x, tol=1e-5))
        value = 2 * float(run(xp.from_numpy(start(name))).value)
        # With large residuals the method converges slowly, and the singular problem is flat.
        assert value == pytest.approx(PROBLEMS[name].minimum, rel=1e-4, abs=1e-6), name


# SciPy goes on to another minimum, or overflows at the start; that of 1.13 ends early in one more.
ELSEWHERE = {"biggs", "freudenstein_roth"}
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17):
    ELSEWHERE.add("watson")


def test_the_printed_minima_are_those_of_scipy(backend):
    if backend != "numpy":
        return
    for name in set(PROBLEMS) - ELSEWHERE:
        fn = residuals(trellis.namespace("numpy"), name)
        found = scipy.optimize.least_squares(fn, start(name), method="lm", max_nfev=20000,
                                             xtol=1e-15, ftol=1e-15, gtol=1e-15)  # fmt: skip
        assert 2 * found.cost == pytest.approx(PROBLEMS[name].minimum, rel=3e-6, abs=1e-12), name


# The points after five steps, in float64 on NumPy: the steps are the same everywhere.
FIVE_STEPS = {
    "lbfgs": [-1.021385160033696, 1.0392943881350645],
    "bfgs": [-1.0225412611978375, 1.04241664906061],
    "newton-cg": [-0.5510413218154518, 0.26094711641174895],
    "trust-region": [-0.674964507267666, 0.40891711681339643],
}


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_the_same_everywhere(xp, backend, method):
    fn = objective(xp, "rosenbrock")
    run = one_program(backend, lambda x: optimize.minimize(fn, x, method=method, max_steps=5))
    found = run(xp.from_numpy(start("rosenbrock")))
    # Five steps multiply the rounding of one by less than 1e4.
    np.testing.assert_allclose(trellis.to_numpy(found.x), FIVE_STEPS[method], rtol=1e-11)
    assert found.message == "max_steps reached"


def logistic(xp):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 4))
    y = np.where(x @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(size=60) > 0, 1.0, -1.0)

    def loss(w, x, y, penalty):
        terms = trellis.functional.softplus(-y * (trellis.matmul(x, w["slope"]) + w["shift"]))
        return trellis.mean(terms) + penalty * trellis.sum(w["slope"] ** 2)

    return x, y, loss


def test_logistic_regression_as_scipy(xp, backend):
    x, y, loss = logistic(xp)

    def reference(w):
        return np.mean(np.logaddexp(0.0, -y * (x @ w[:4] + w[4]))) + 0.1 * np.sum(w[:4] ** 2)

    expected = scipy.optimize.minimize(reference, np.zeros(5), tol=1e-12).x
    begin = {"slope": xp.from_numpy(np.zeros(4)), "shift": xp.from_numpy(np.zeros(()))}
    run = one_program(backend, lambda *args: optimize.minimize(loss, begin, args))
    found = run(xp.from_numpy(x), xp.from_numpy(y), xp.from_numpy(np.array(0.1)))
    # SciPy differentiates by differences: 1e-6 is its error.
    np.testing.assert_allclose(trellis.to_numpy(found.x["slope"]), expected[:4], atol=1e-6)
    assert float(found.x["shift"]) == pytest.approx(expected[4], abs=1e-6)
    assert bool(found.converged)
    assert float(found.gradient_norm) <= 1e-8


def ridge(x, a, b):
    return trellis.sum((x - a) ** 2) + b * trellis.sum(x) ** 2


def test_gradients_of_a_minimum(xp, backend):
    """The minimum of |x - a|^2 + b (sum x)^2 is a - b sum(a) / (1 + n b)."""
    a, b = np.array([1.0, 2.0, -0.5]), np.array(0.5)

    def total(a, b):
        found = optimize.minimize(ridge, {"x": trellis.zeros_like(a)}["x"], (a, b), tol=1e-10)
        return trellis.sum(found.x**2)

    gradients = one_program(backend, trellis.grad(total, (0, 1)))
    by_a, by_b = gradients(xp.from_numpy(a), xp.from_numpy(b))
    part = b / (1 + 3 * b)
    x = a - part * a.sum()
    np.testing.assert_allclose(trellis.to_numpy(by_a), 2 * x - 2 * part * x.sum(), rtol=1e-8)
    slope = 1 / (1 + 3 * b) ** 2
    assert float(by_b) == pytest.approx(-2 * x.sum() * slope * a.sum(), rel=1e-8)


def test_second_derivatives_of_a_minimum(xp, backend):
    """The minimum of exp(x) - a x is log(a), whose second derivative is -1 / a^2."""

    def found(a):
        zero = trellis.zeros_like(a)
        return optimize.minimize(lambda x, a: trellis.exp(x) - a * x, zero, (a,), tol=1e-11).x

    second = one_program(backend, trellis.grad(trellis.grad(found)))
    assert float(second(xp.from_numpy(np.array(3.0)))) == pytest.approx(-1 / 9, rel=1e-8)


def test_what_it_closes_over_raises_where_it_is_differentiated(xp):
    def total(a):
        return trellis.sum(optimize.minimize(lambda x: ridge(x, a, 0.5), xp.zeros_like(a)).x)

    with pytest.raises(Exception, match="Pass them in args"):
        trellis.grad(total)(xp.from_numpy(np.array([1.0, 2.0])))


def test_batched(xp, backend):
    rows = np.array([[1.0, 2.0, -0.5], [3.0, 0.0, 0.0]])
    half = xp.from_numpy(np.array(0.5))

    def one(a):
        return optimize.minimize(ridge, xp.zeros_like(a), (a, half), method="bfgs").x

    batched = one_program(backend, trellis.vmap(one))
    found = batched(xp.from_numpy(rows))
    expected = rows - 0.2 * rows.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(trellis.to_numpy(found), expected, atol=1e-8)  # its tolerance


def test_batched_gradients(xp, backend):
    """Behind two transforms, where no truth value can be read."""
    rows = np.array([[1.0, 2.0, -0.5], [3.0, 0.0, 0.0]])
    half = xp.from_numpy(np.array(0.5))

    def total(a):
        return trellis.sum(optimize.minimize(ridge, xp.zeros_like(a), (a, half)).x ** 2)

    found = one_program(backend, trellis.vmap(trellis.grad(total)))(xp.from_numpy(rows))
    x = rows - 0.2 * rows.sum(axis=1, keepdims=True)
    expected = 2 * x - 0.4 * x.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(trellis.to_numpy(found), expected, atol=1e-7)  # 1e-8 in each x


def test_compiled(xp, backend):
    run = compile_with(
        backend, lambda x, a, b: optimize.minimize(ridge, x, (a, b), method="bfgs"), autograph=False
    )
    a, b = np.array([1.0, 2.0]), np.array(1.0)
    found = run(xp.from_numpy(np.zeros(2)), xp.from_numpy(a), xp.from_numpy(b))
    assert float(found.value) == pytest.approx(9 / 3, rel=1e-12)  # b (sum a)^2 / (1 + n b)
    np.testing.assert_allclose(trellis.to_numpy(found.x), [0.0, 1.0], atol=1e-8)  # its tolerance


def test_float32_stays(xp):
    x = xp.from_numpy(np.zeros(2, "float32"))
    found = optimize.minimize(lambda x: trellis.sum((x - 1.0) ** 2), x)
    assert {
        str(trellis.namespace(found.x).dtype_name(y.dtype)) for y in (found.x, found.value)
    } == {"float32"}
    assert bool(found.converged)


def test_reasons(xp):
    nan = optimize.minimize(lambda x: trellis.sum(trellis.log(x - 2.0)), xp.from_numpy(np.zeros(1)))
    assert not bool(nan.converged)
    assert nan.message == "a value or a derivative is not finite"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: optimize.minimize(lambda x: x, x, method="adam"), "'lbfgs', 'bfgs'"),
        (lambda x: optimize.minimize(lambda x: x * x, x), "returns one number"),
        (lambda x: optimize.minimize(lambda x: x, x, tol=-1.0), "above 0 for tol"),
        (lambda x: optimize.minimize(lambda x: x, x, max_steps=0), "above 0 for max_steps"),
        (lambda x: optimize.minimize(lambda x: x, x, x), "a tuple for args"),
        (lambda x: optimize.minimize(lambda x: x, trellis.astype(x, "float16")), "float32 or"),
        (lambda x: optimize.minimize(lambda x: x, {}), "at least one array"),
    ],
)
def test_mistakes(xp, call, message):
    with pytest.raises(trellis.errors.TrellisError, match=message):
        call(xp.from_numpy(np.zeros(2)))
