"""trellis.special: values against stored numbers of mpmath, SciPy's corner cases, derivatives."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import trellis
from trellis import special
from trellis.testing import check_gradients

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REFERENCES = json.loads((HERE / "references.json").read_text())
BOUNDS = tomllib.loads((ROOT / "tools" / "special" / "bounds.toml").read_text())
USUAL = {"float64": 4.0, "float32": 2.0}
# It is `trellis.sinc`, which has its own tests.
ELSEWHERE = {"sinc"}


def test_every_function_has_references():
    assert set(REFERENCES) == set(dir(special)) - ELSEWHERE


def stored(name):
    rows = np.array(REFERENCES[name]["rows"])
    return REFERENCES[name]["orders"], list(rows[:, :-3].T.copy()), *rows[:, -3:].T


def called(xp, name, kind):
    """The function at the stored points."""
    orders, grid, *_ = stored(name)
    xs = [xp.from_numpy(g.astype(kind)) for g in grid]
    return trellis.to_numpy(getattr(special, name)(*orders, *xs))


@pytest.mark.parametrize("kind", USUAL)
def test_values(backend, xp, x64, kind):
    wrong = {}
    for name in REFERENCES:
        _, _, exact, rest, size = stored(name)
        got = called(xp, name, kind)
        assert got.dtype == kind
        # Bessel functions are measured by the size of their oscillation.
        unit = np.spacing(np.maximum(np.abs(exact), size).astype(kind)).astype(np.float64)
        error = np.max(np.abs((got.astype(np.float64) - exact) - rest) / unit)
        bound = BOUNDS.get(name, USUAL)[kind]
        if not error <= bound:
            wrong[name] = error, bound
    assert wrong == {}


CORNERS = np.array([-np.inf, -2.5, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan])
# SciPy has another convention: none of these is a number that it gives.
OWN = {
    "softplus_inverse": "no function of SciPy",
    "log1mexp": "no function of SciPy",
    **dict.fromkeys(("i0", "i1"), "infinite at infinity; nan in SciPy"),
    **dict.fromkeys(("j0", "j1", "y0", "y1"), "0 at infinity; nan in SciPy"),
    "polygamma": "nan for infinite orders and arguments",
    **dict.fromkeys(("beta", "betaln"), "nan where arguments below 0 or infinite ones meet a pole"),
    "zeta": "SciPy continues Riemann's function below 1",
    "jn": "negative arguments of odd orders are right in both; inf is 0 here, nan in SciPy",
    "yn": "inf is 0 here, nan in SciPy",
}


def test_corner_cases_are_those_of_scipy(backend, xp, x64):
    different = {}
    for name, reference in REFERENCES.items():
        if name in OWN:
            continue
        count = len(reference["rows"][0]) - 3
        grid = [g.ravel() for g in np.meshgrid(*[CORNERS] * count)]
        orders = reference["orders"]
        got = trellis.to_numpy(getattr(special, name)(*orders, *[xp.from_numpy(g) for g in grid]))
        with np.errstate(all="ignore"):
            expected = getattr(scipy.special, name)(*orders, *grid)
        differs = np.isnan(got) != np.isnan(expected)
        both = ~np.isnan(got) & ~np.isnan(expected)
        differs |= both & ((np.isinf(got) | np.isinf(expected)) & (got != expected))
        if differs.any():
            places = list(zip(*[g[differs].tolist() for g in grid]))
            different[name] = places[:4], got[differs][:4], expected[differs][:4]
    assert different == {}


def points(name):
    """A few stored points, away from where the step of a difference leaves the domain."""
    orders, grid, exact, *_ = stored(name)
    smooth = np.all([(np.abs(g) > 0.05) & (np.abs(g) < 20) for g in grid], axis=0)
    smooth &= (np.abs(exact) > 1e-3) & (np.abs(exact) < 1e3)
    smooth &= np.all([np.abs(np.abs(g) - 1) > 0.02 for g in grid], axis=0)
    return orders, [g[smooth][:: max(1, smooth.sum() // 3)][:3] for g in grid]


WITHOUT_SLOPE = {"gammasgn": "a step function"}


def test_gradients(backend, xp, x64):
    """Against central differences: their own error is about 1e-10 over the step's curvature."""
    for name in REFERENCES:
        if name in WITHOUT_SLOPE:
            continue
        orders, grid = points(name)
        xs = tuple([xp.from_numpy(g) for g in grid])
        fn = getattr(special, name)
        if name == "polygamma":  # the order is a whole number
            n, xs = xs[0], xs[1:]
            check_gradients(lambda x, n=n: special.polygamma(n, x), xs, order=1, modes=("rev",))
            continue
        check_gradients(lambda *xs, fn=fn: fn(*orders, *xs), xs, order=1, modes=("rev",))


@pytest.mark.parametrize("name", ["gammaln", "erfcx", "log_ndtr", "gammainc", "j1"])
def test_second_derivatives(backend, xp, x64, name):
    orders, grid = points(name)
    xs = tuple([xp.from_numpy(g[:1]) for g in grid])
    check_gradients(lambda *xs: getattr(special, name)(*orders, *xs), xs, modes=("rev",))


@pytest.mark.parametrize("name", ["gammaln", "digamma", "ndtri", "expi", "gammainc", "betainc"])
def test_compiled_equals_eager(backend, xp, x64, compiled, name):
    orders, grid, *_ = stored(name)
    xs = [xp.from_numpy(g) for g in grid]
    eager = trellis.to_numpy(getattr(special, name)(*orders, *xs))
    found = trellis.to_numpy(compiled(lambda *xs: getattr(special, name)(*xs))(*xs))
    # Compilers join multiplications and additions: each may be rounded once less.
    bound = 2 * BOUNDS.get(name, USUAL)["float64"]
    assert np.all(np.abs(found - eager) <= bound * np.spacing(np.abs(eager)))


@pytest.mark.parametrize("name", ["gammaln", "ndtr", "beta"])
def test_compiled_gradients_and_vmap(backend, xp, x64, compiled, name):
    orders, grid = points(name)
    xs = [xp.from_numpy(g) for g in grid]
    fn = getattr(special, name)
    slope = trellis.grad(lambda x, *rest: trellis.sum(fn(x, *rest)))
    expected = trellis.to_numpy(slope(*xs))
    # As above, over the few hundred steps of a continued fraction.
    np.testing.assert_allclose(trellis.to_numpy(compiled(slope)(*xs)), expected, rtol=1e-12)
    each = trellis.to_numpy(trellis.vmap(fn)(*xs))
    np.testing.assert_allclose(each, trellis.to_numpy(fn(*xs)), rtol=1e-15)


def test_dtypes_numbers_and_pytrees(backend, xp, x64):
    half = xp.astype(xp.from_numpy(np.array([0.5, 2.5])), "float16")
    assert xp.dtype_name(special.gammaln(half).dtype) == "float16"
    whole = xp.from_numpy(np.array([1, 5]))
    expected = np.log([1.0, 24.0]).astype(str(trellis.default_dtype()))
    np.testing.assert_allclose(trellis.to_numpy(special.gammaln(whole)), expected, rtol=1e-6)
    x = xp.from_numpy(np.array([[0.5], [2.0]]))
    y = xp.from_numpy(np.array([1.0, 3.0, 5.0]))
    assert tuple(special.beta(x, y).shape) == (2, 3)
    np.testing.assert_allclose(
        trellis.to_numpy(special.gammainc(2.0, y)), scipy.special.gammainc(2.0, [1.0, 3.0, 5.0])
    )
    found = special.xlogy({"a": x}, {"a": x})
    np.testing.assert_allclose(trellis.to_numpy(found["a"]), [[0.5 * np.log(0.5)], [2 * np.log(2)]])


def test_mistakes(backend, xp):
    with pytest.raises(trellis.errors.DtypeError, match="real numbers"):
        special.gammaln(xp.from_numpy(np.array([1j])))
    x = xp.from_numpy(np.array([1.0], np.float32))
    with pytest.raises(trellis.errors.ArgumentError, match="order"):
        special.jn(2.5, x)
    with pytest.raises(trellis.errors.ArgumentError, match="order"):
        special.expn(-1, x)
