"""root, fixed_point and the linear solvers, against NumPy's and closed forms."""

import numpy as np
import pytest

import trellis
from trellis import optimize
from trellis.conformance.compilers import one_program


@pytest.fixture(autouse=True)
def wide(x64):
    with x64():
        yield


@pytest.mark.parametrize("method", ["newton", "broyden"])
def test_roots(xp, backend, method):
    def fn(x):
        return trellis.stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])

    run = one_program(backend, lambda x: optimize.root(fn, x, method=method))
    found = run(xp.from_numpy(np.array([-1.2, 1.0])))
    np.testing.assert_allclose(trellis.to_numpy(found.x), [1.0, 1.0], rtol=1e-10)  # its tolerance
    assert found.message == "converged"


@pytest.mark.parametrize("method", ["anderson", "plain"])
def test_fixed_points(xp, backend, method):
    run = one_program(backend, lambda x: optimize.fixed_point(trellis.cos, x, method=method))
    found = run(xp.from_numpy(np.array([1.0, 0.5])))
    # The Dottie number; its tolerance over 1 - |cos'|.
    np.testing.assert_allclose(trellis.to_numpy(found.x), 0.7390851332151607, atol=4e-10)
    assert int(found.steps) < (12 if method == "anderson" else 80)


def test_gradients_of_roots(xp, backend):
    """x of x^3 + a x = b: dx/da = -x / (3 x^2 + a), dx/db = 1 / (3 x^2 + a)."""
    a, b = np.array([1.0, 2.0]), np.array([3.0, -1.0])

    def total(a, b):
        return trellis.sum(
            optimize.root(lambda x, a, b: x**3 + a * x - b, trellis.ones_like(a), (a, b)).x
        )

    gradients = one_program(backend, trellis.grad(total, (0, 1)))
    by_a, by_b = gradients(xp.from_numpy(a), xp.from_numpy(b))
    x = np.array([np.roots([1, 0, a[i], -b[i]]) for i in range(2)])
    x = np.real(x[np.abs(np.imag(x)) < 1e-12])
    np.testing.assert_allclose(trellis.to_numpy(by_a), -x / (3 * x**2 + a), rtol=1e-9)
    np.testing.assert_allclose(trellis.to_numpy(by_b), 1 / (3 * x**2 + a), rtol=1e-9)


def test_gradients_of_fixed_points(xp):
    """x = a cos(x): dx/da = cos(x) / (1 + a sin(x))."""

    def found(a):
        return optimize.fixed_point(lambda x, a: a * trellis.cos(x), trellis.ones_like(a), (a,)).x

    a = xp.from_numpy(np.array(0.7))
    x = float(found(a))
    expected = np.cos(x) / (1 + 0.7 * np.sin(x))
    assert float(trellis.grad(found)(a)) == pytest.approx(expected, rel=1e-9)


def matrices():
    rng = np.random.default_rng(0)
    m = rng.normal(size=(24, 24))
    return m @ m.T + np.eye(24), m + 8 * np.eye(24), rng.normal(size=24)


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab"])
def test_linear_equations(xp, backend, method):
    symmetric, general, b = matrices()
    a = symmetric if method == "cg" else general

    def total(a, b):
        found = optimize.linear_solve(a, b, method=method, tol=1e-13)
        return trellis.sum(found.x**2), found

    both = one_program(backend, trellis.value_and_grad(total, (0, 1), has_aux=True))
    (_, found), (by_a, by_b) = both(xp.from_numpy(a), xp.from_numpy(b))
    x = np.linalg.solve(a, b)
    u = np.linalg.solve(a.T, 2 * x)
    # The residual is 1e-13 of b; the condition of both matrices is below 1e4.
    np.testing.assert_allclose(trellis.to_numpy(found.x), x, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(trellis.to_numpy(by_b), u, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(trellis.to_numpy(by_a), -np.outer(u, x), rtol=1e-7, atol=1e-8)


def test_a_preconditioner_saves_steps(xp):
    d = np.arange(1.0, 41.0) ** 2
    b, scale = xp.from_numpy(np.ones(40)), xp.from_numpy(d)
    slow = optimize.cg(lambda x: scale * x, b)
    fast = optimize.cg(lambda x: scale * x, b, preconditioner=lambda x: x / scale)
    np.testing.assert_allclose(trellis.to_numpy(fast.x), 1 / d, rtol=1e-10)
    assert int(fast.steps) == 1
    assert int(slow.steps) > 20


def test_what_has_no_solution_says_so(xp):
    found = optimize.root(lambda x: x**2 + 1.0, xp.from_numpy(np.array(0.7)))
    assert not bool(found.converged)
    assert found.message.startswith("no further progress") or found.message == "max_steps reached"


@pytest.mark.parametrize("method", ["newton", "broyden"])
def test_singular_derivatives_do_not_raise(xp, backend, method):
    """Where they begin, x**2 + 1 has the derivative 0 and the two equations have the same: eager
    frameworks raise when that matrix is inverted, and compiled ones answer nan."""
    run = one_program(backend, lambda x: optimize.root(lambda x: x**2 + 1.0, x, method=method))
    found = run(xp.from_numpy(np.array([0.0])))
    assert not bool(found.converged)
    np.testing.assert_array_equal(trellis.to_numpy(found.x), [0.0])

    def fn(x):
        return trellis.stack([x[0] ** 2 + x[1] - 3.0, x[0] + x[1] ** 2 - 3.0])

    found = optimize.root(fn, xp.from_numpy(np.array([0.5, 0.5])), method=method)
    # The positive root of x**2 + x - 3; its tolerance.
    np.testing.assert_allclose(trellis.to_numpy(found.x), (13**0.5 - 1) / 2, atol=1e-10)


def test_mistakes(xp):
    x = xp.from_numpy(np.zeros(3))
    with pytest.raises(trellis.errors.ShapeError, match="as many numbers as there are unknowns, 3"):
        optimize.root(lambda x: x[:2], x)
    with pytest.raises(trellis.errors.ShapeError, match="a function or a matrix"):
        optimize.cg(x, x)
    with pytest.raises(trellis.errors.ArgumentError, match="'cg', 'gmres', 'bicgstab'"):
        optimize.linear_solve(lambda x: x, x, method="lu")
