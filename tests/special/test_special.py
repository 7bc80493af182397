"""trellis.special: values and derivatives against stored numbers of mpmath, SciPy's corner cases.

The tests go over all functions at once: on most backends a call costs more than its numbers.
"""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import scipy
import scipy.special

import trellis
from trellis import special
from trellis.testing import check_gradients

HERE = Path(__file__).parent
REFERENCES = json.loads((HERE / "references.json").read_text())
BOUNDS = tomllib.loads((HERE.parents[1] / "tools" / "special" / "bounds.toml").read_text())
KINDS = ("float64", "float32")
INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def wide(x64):
    with x64():
        yield


# Rows such as "beta, above 0.001" are about some of the results of another one.
WHOLE = [row for row in REFERENCES if "," not in row]


def name_of(row):
    return re.match(r"\w+", row)[0]


def function(row):
    """The function of a row, with the order that the row is about: `polygamma(2)`."""
    orders = REFERENCES[row]["orders"]
    fn = getattr(special, name_of(row))
    return (lambda *xs: fn(*orders, *xs)) if orders else fn


def arguments(xp, columns, kind="float64"):
    """Arrays of one length, so that the operations are compiled once for all functions."""
    return [xp.from_numpy(np.resize(c, 64).astype(kind)) for c in columns]


def stored(row):
    rows = np.array(REFERENCES[row]["rows"])
    return list(rows[:, :-3].T.copy()), *rows[:, -3:].T


def allowed(row, kind):
    return BOUNDS.get(row, BOUNDS["usual"])[kind]


def errors(row, got, kind):
    """In units of the last place."""
    grid, exact, rest, size = stored(row)
    unit = np.spacing(np.maximum(np.abs(exact), size).astype(kind)).astype(np.float64)
    error = np.abs((got[: len(exact)].astype(np.float64) - exact) - rest) / unit
    # Some points have numbers that are too small for float32.
    is_in_range = np.min(np.abs([*grid, np.where(exact == 0, 1, exact)]), 0) >= np.finfo(kind).tiny
    return np.where(is_in_range, error, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_values(backend, xp, kind):
    wrong = {}
    for row in REFERENCES:
        grid, *_ = stored(row)
        got = trellis.to_numpy(function(row)(*arguments(xp, grid, kind)))
        assert got.dtype == kind
        error = errors(row, got, kind)
        if not np.all(error <= allowed(row, kind)):
            worst = int(np.argmax(np.where(np.isnan(error), INF, error)))
            wrong[row] = error[worst], allowed(row, kind), [g[worst] for g in grid]
    assert wrong == {}


def test_far_quantiles_of_distributions(backend, xp):
    """exp(-1 / x) is the part of InverseGamma(1, 1) below x: 1e-100 was 1 % off, 1e-250 nan."""
    p = np.array([1e-300, 1e-250, 1e-100, 1e-57])
    found = trellis.to_numpy(trellis.distributions.InverseGamma(1.0, 1.0).icdf(xp.from_numpy(p)))
    np.testing.assert_allclose(found, -1 / np.log(p), rtol=1e-14)  # a few units
    # The middle of a symmetric distribution, of orders as large as counts are.
    half = xp.from_numpy(np.full(3, 0.5))
    orders = xp.from_numpy(np.array([1e4, 1e6, 1e9]))
    found = trellis.to_numpy(trellis.distributions.Beta(orders, orders).cdf(half))
    np.testing.assert_allclose(found, 0.5, rtol=1e-15)


def test_pieces_of_the_normal_distribution_meet(backend, xp):
    """From 0.7 to the root of 1/2 neither piece held, and the results were off by 1e-3."""
    x = np.linspace(-0.72, 0.72, 289)
    for name in ("ndtr", "log_ndtr"):
        found = trellis.to_numpy(getattr(special, name)(xp.from_numpy(x)))
        # Two libraries with errors of a few ulp each.
        np.testing.assert_allclose(found, getattr(scipy.special, name)(x), rtol=2e-15)


# Corner cases -------------------------------------------------------------------------------------

CORNERS = np.array([-INF, -2.5, -2, -1, -0.5, -0.0, 0, 0.5, 1, 2, 30, INF, NAN])


def log1mexp(x):
    with np.errstate(all="ignore"):
        return np.where(x < 0, NAN, np.where(x > 1, np.log1p(-np.exp(-x)), np.log(-np.expm1(-x))))


def softplus_inverse(y):
    with np.errstate(all="ignore"):
        return np.where(y < 0, NAN, y + log1mexp(y))


# SciPy has no such functions.
FORMULAS = {"log1mexp": log1mexp, "softplus_inverse": softplus_inverse}


def at(*points):
    return lambda *xs: any([all(np.equal(p, x) for p, x in zip(point, xs)) for point in points])


def is_negative_beta(a, b):
    return not min(a, b) >= 0 or np.isnan(a + b)


# Where SciPy gives something else: the points, what is given here, and why.
EXCEPTIONS = {
    **{name: [(at((INF,), (-INF,)), 0, "the limit; nan in SciPy")] for name in ("j0", "j1")},
    **{name: [(at((INF,)), 0, "the limit; nan in SciPy")] for name in ("y0", "y1")},
    **{name: [(at((INF,), (-INF,)), 0, "the limit; nan in SciPy")] for name in ("jn(2)", "jn(9)")},
    **{name: [(at((INF,)), 0, "the limit; nan in SciPy")] for name in ("yn(2)", "yn(9)")},
    **{name: [(at((INF,), (-INF,)), INF, "the limit; nan in SciPy")] for name in ("i0", "iv(2)")},
    **{
        name: [
            (at((INF,)), INF, "the limit; nan in SciPy"),
            (at((-INF,)), -INF, "the limit; nan in SciPy"),
        ]
        for name in ("i1", "iv(7)")
    },
    "eval_legendre(3)": [(at((-INF,)), -INF, "the limit; nan in SciPy")],
    "eval_legendre(20)": [(at((-INF,)), INF, "the limit; nan in SciPy")],
    **{
        f"polygamma({n})": [(at((-INF,)), NAN, "no limit between poles; SciPy takes it for one")]
        for n in range(1, 6)
    },
    "zeta": [
        (lambda x, q: np.isnan(x) or np.isnan(q), NAN, "SciPy looks for a pole first"),
        (at((INF, 2), (INF, 30)), 0, "the limit; nan in SciPy"),
        (
            lambda x, q: x > 1 and q in (-2.5, -0.5),
            NAN,
            "none for q below 0; SciPy has whole orders",
        ),
    ],
    "gammaincinv": [
        (at((0, 2), (0, 30), (0, INF)), NAN, "no probability; SciPy has 0 for the order -0"),
    ],
    "gammainccinv": [
        (
            at(*[(0, y) for y in (-INF, -2.5, -2, -1, -0.5)]),
            NAN,
            "no probability; SciPy has 0 for the order -0",
        ),
    ],
    **{
        name: [(at((INF, 1, 0.5), (1, INF, 0.5)), NAN, "as of other orders; SciPy has a limit")]
        for name in ("betaincinv", "betainccinv")
    },
    "beta": [
        (is_negative_beta, NAN, "none below 0; SciPy continues it, and has inf for nan there"),
        (at((0, INF), (INF, 0)), NAN, "0 times infinity; inf in SciPy"),
        (at((INF, INF)), 0, "the limit; nan in SciPy"),
    ],
    "betaln": [
        (is_negative_beta, NAN, "none below 0; SciPy continues it, and has inf for nan there"),
        (at((0, INF), (INF, 0)), NAN, "0 times infinity; inf in SciPy"),
        (at((INF, INF)), -INF, "the limit; nan in SciPy"),
    ],
}


# Equal to so many digits: the values between are the matter of another test. In float32 the
# logarithm of beta(1, 1) is a unit off 0.
DIGITS = {"float64": {"rtol": 1e-12, "atol": 0}, "float32": {"rtol": 1e-5, "atol": 2e-7}}


def same(got, expected, kind="float64"):
    both_nan = np.isnan(got) & np.isnan(expected)
    return both_nan | np.isclose(got, expected, **DIGITS[kind])


@pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17),
    reason="before 1.17 SciPy gives other values at some corners, such as gamma(-inf)",
)
@pytest.mark.parametrize("kind", KINDS)
def test_corner_cases_are_those_of_scipy(backend, xp, kind):
    different, unused = [], []
    for row in WHOLE:
        name, orders = name_of(row), REFERENCES[row]["orders"]
        count = len(stored(row)[0])
        points = np.stack(np.meshgrid(*[CORNERS] * count), axis=-1).reshape(-1, count)
        columns = [np.resize(c, max(len(points), len(CORNERS) ** 2)) for c in points.T]
        got = function(row)(*[xp.from_numpy(c.astype(kind)) for c in columns])
        got = trellis.to_numpy(got)[: len(points)]
        with np.errstate(all="ignore"):
            theirs = FORMULAS.get(name) or getattr(scipy.special, name)
            expected = np.array(theirs(*orders, *points.T))
        for rule, value, why in EXCEPTIONS.get(row, []):
            places = [i for i, point in enumerate(points) if rule(*point)]
            if np.all(same(expected[places], value)):
                unused.append((row, why))
            expected[places] = value
        if kind == "float32":  # what is out of its range
            with np.errstate(over="ignore", under="ignore"):
                expected = expected.astype(kind).astype("float64")
        for i in np.flatnonzero(~same(got, expected, kind)):
            different.append((row, points[i].tolist(), float(got[i]), float(expected[i])))
    assert different == []
    assert unused == []  # no exception without need


# Derivatives --------------------------------------------------------------------------------------

# The error of a derivative over its size. Those of incomplete gamma functions by their order are
# sums of a hundred terms, and second ones are of such sums.
SLOPES = {
    **dict.fromkeys(("gammainc", "gammaincc", "gammaincinv", "gammainccinv"), 1e-9),
    **dict.fromkeys(("betainc", "betaincc"), 1e-9),
    # The stored second derivatives, differences of an inverse, have no more digits.
    **dict.fromkeys(("betaincinv", "betainccinv"), 1e-3),
}


def slopes_of(fn, i):
    """The derivatives of first and second order by the argument `i`, of arrays."""

    def first(*xs):
        return trellis.grad(
            lambda x: trellis.sum(fn(*xs[:i], x, *xs[i + 1 :])),
        )(xs[i])

    def second(*xs):
        return trellis.grad(lambda x: trellis.sum(first(*xs[:i], x, *xs[i + 1 :])))(xs[i])

    return first, second


def derivatives(row):
    """The arguments of the stored points, and the derivatives there: [order, argument, point]."""
    count = len(stored(row)[0])
    table = np.array(REFERENCES[row]["slopes"]).T
    return list(table[:count]), table[count:].reshape(2, count, -1)


# Loops of a hundred steps: a minute of compilation for each derivative, so --long runs them on all.
LOOPS = ("betainc", "betaincc", "betaincinv", "betainccinv", "gammaincinv", "gammainccinv")


def test_first_and_second_derivatives(backend, xp):
    check_derivatives(xp, [row for row in WHOLE if row not in LOOPS or backend == "numpy"])


FORWARD = ("gammaln", "gammainc", "erfcx", "i1e", "betaln", "polygamma(2)", "owens_t", "jn(2)")


def test_forward_mode(backend, xp):
    wrong = []
    for row in FORWARD:
        columns, expected = derivatives(row)
        size = len(columns[0])
        xs = [xp.from_numpy(np.resize(c, 6)) for c in columns]
        weights = [0.5, -2.0][: len(xs)]
        tangents = [xp.from_numpy(np.full(6, w)) for w in weights]
        got = trellis.to_numpy(trellis.jvp(function(row), tuple(xs), tuple(tangents))[1])[:size]
        parts = np.array(weights)[:, None] * expected[0]
        # A sum over arguments, relative to its terms; the digits are those of reverse mode.
        error = np.abs(got - parts.sum(0)) / np.maximum(np.abs(parts).max(0), 1e-3)
        if not error.max() < SLOPES.get(row, 1e-12):
            wrong.append((row, error.max()))
    assert wrong == []


def test_forward_mode_within_other_modes(backend, xp):
    x, one = xp.from_numpy(np.array([0.5, 2.0])), xp.from_numpy(np.ones(2))
    exact = scipy.special.polygamma(1, np.array([0.5, 2.0]))

    def slope(x):
        return trellis.jvp(special.gammaln, (x,), (one,))[1]

    def steep(x):
        return trellis.grad(lambda x: trellis.sum(special.gammaln(x)))(x)

    for found in (
        trellis.grad(lambda x: trellis.sum(slope(x)))(x),
        trellis.jvp(steep, (x,), (one,))[1],
    ):
        np.testing.assert_allclose(trellis.to_numpy(found), exact, rtol=1e-13)  # a few units
    if backend == "torch":  # it would answer with zeros
        with pytest.raises(trellis.errors.NotSupportedError, match="no forward mode"):
            trellis.jvp(slope, (x,), (one,))
    else:
        twice = trellis.jvp(slope, (x,), (one,))[1]
        np.testing.assert_allclose(trellis.to_numpy(twice), exact, rtol=1e-13)


# Sums ---------------------------------------------------------------------------------------------


def test_weighted_sums(backend, xp):
    rng = np.random.default_rng(6)
    x, b = 300 * rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    b[0, 1], x[0, 1], x[1], b[2, 0], x[2, 0] = 0.0, 5000.0, -INF, 0.0, INF
    # Units of exponents of size 300.
    for kind, rtol in (("float64", 1e-14), ("float32", 1e-5)):
        given = [xp.from_numpy(v.astype(kind)) for v in (x, b)]
        for options in ({}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}, {"axis": 0}):
            with np.errstate(all="ignore"):
                finite = x.copy()
                finite[b == 0] = 0.0  # SciPy multiplies infinity by 0
                expected = scipy.special.logsumexp(finite, b=b, return_sign=True, **options)
            got = special.logsumexp(given[0], b=given[1], return_sign=True, **options)
            for one, other in zip(got, expected, strict=True):
                assert str(trellis.dtype(one)) == kind
                np.testing.assert_allclose(trellis.to_numpy(one), other, rtol=rtol)
    plain = special.logsumexp(xp.from_numpy(x[0]), b=2.0)
    np.testing.assert_allclose(trellis.to_numpy(plain), 5000 + np.log(2), rtol=1e-14)
    assert np.isnan(trellis.to_numpy(special.logsumexp(xp.from_numpy(x[0]), b=-1.0)))
    near = [xp.from_numpy(v) for v in (x[0] / 300, b[0])]
    # Through a weight of 0, too; sums of four numbers of size 1.
    check_gradients(
        lambda x, b: special.logsumexp(x, b=b, return_sign=True)[0],
        [near[0][2:], near[1][2:]],
        order=1,
    )
    x0, b0 = xp.from_numpy(np.array([0.0, 1.0])), xp.from_numpy(np.array([1.0, 0.0]))
    slope = trellis.grad(lambda b: special.logsumexp(x0, b=b))(b0)
    np.testing.assert_allclose(trellis.to_numpy(slope), [1.0, np.e], rtol=1e-14)


@pytest.mark.long
@pytest.mark.parametrize("row", LOOPS)
def test_derivatives_through_loops(backend, xp, row):
    check_derivatives(xp, [row])


def check_derivatives(xp, rows):
    wrong = []
    for row in rows:
        columns, expected = derivatives(row)
        size = len(columns[0])
        xs = [xp.from_numpy(np.resize(c, 6)) for c in columns]
        for i in range(len(columns)):
            for order, slope in enumerate(slopes_of(function(row), i)):
                got = trellis.to_numpy(slope(*xs))[:size]
                exact = expected[order, i]
                # Relative to the largest of the points: derivatives have zeros of their own.
                error = np.abs(got - exact) / np.maximum(np.abs(exact), 1e-3)
                if not np.all(error <= SLOPES.get(row, 1e-12)):
                    wrong.append((row, i, order + 1, error.tolist()))
    assert wrong == []


RANGES = {
    **{"polygamma": (0, 5), "jn": (-24, 24), "yn": (-24, 24), "iv": (-8, 8)},
    **{"expn": (0, 24), "eval_legendre": (0, 64)},
}


def test_no_derivative_by_a_whole_order(backend, xp):
    x = xp.from_numpy(np.array([1.0, 2.0]))
    for name, (low, high) in RANGES.items():
        for order in (x, 1.0, True, low - 1, high + 1):
            with pytest.raises(trellis.errors.ArgumentError, match=f"int from {low} to {high}"):
                getattr(special, name)(order, x)


def test_every_order(xp):
    """The highest ones, and those below 0, against SciPy, whose own errors are 1e-13 of some."""
    x = np.concatenate([np.geomspace(0.1, 60.0, 40), -np.geomspace(0.1, 60.0, 9)])
    for name, (low, high) in RANGES.items():
        for order in {low, min(low + 1, 0), -2 if low < 0 else 0, 0, 1, high - 1, high}:
            at = x[x > 0] if name in ("expn", "polygamma", "yn") else x
            at = np.clip(at, -1.5, 1.5) if name == "eval_legendre" else at
            expected = getattr(scipy.special, name)(order, at)
            got = trellis.to_numpy(getattr(special, name)(order, xp.from_numpy(at)))
            # Next to their zeros by the size of the oscillation.
            oscillates = {"jn": np.abs(at) > abs(order), "yn": at > abs(order)}.get(name, False)
            size = np.where(oscillates, np.sqrt(1 / np.abs(at)), np.abs(expected))
            size = np.maximum(size, 0.1) if name == "eval_legendre" else size
            assert np.all(np.abs(got - expected) <= 1e-12 * size), (name, order)


# Compilers ----------------------------------------------------------------------------------------


# Their formula is that of another row; the error functions are those of trellis, tested there.
SAME_PROGRAM = {
    *("gammaincc", "polygamma(2)", "polygamma(3)", "polygamma(4)", "j0", "y0", "i0", "i0e"),
    *("erf", "erfc", "erfinv", "betaincc", "gammainccinv", "betainccinv"),
    *("jn(9)", "yn(2)", "yn(9)", "iv(7)", "expn(8)", "eval_legendre(20)"),
}


# Hundreds of operations each, which torch compiles for ten seconds.
UNROLLED = ("jn(2)", "expn(2)", "owens_t")


def test_one_compiled_program_of_all_functions(backend, xp, compiled):
    left_out = (*SAME_PROGRAM, *LOOPS, *UNROLLED)
    check_compiled(xp, compiled, [row for row in WHOLE if row not in left_out])


# Far tails and large orders of the same programs, whose compilers have rules of their own there.
FAR = (
    "gammainccinv, of small probabilities",
    "betaincinv, of small probabilities",
    "betainc, of large orders",
)


@pytest.mark.long
@pytest.mark.parametrize("row", [r for r in (*LOOPS, *UNROLLED, *FAR) if r not in SAME_PROGRAM])
def test_compiled_loops(backend, xp, compiled, row):
    check_compiled(xp, compiled, [row])


def check_compiled(xp, compiled, rows):
    columns = {row: arguments(xp, stored(row)[0]) for row in rows}

    def program(columns):
        return {row: function(row)(*xs) for row, xs in columns.items()}

    found = compiled(program)(columns)
    # Compilers join multiplications and additions, and may order sums anew.
    over = {row: np.max(errors(row, trellis.to_numpy(y), "float64")) for row, y in found.items()}
    assert {row: e for row, e in over.items() if not e <= 2 * allowed(row, "float64")} == {}


def test_compiled_gradients(backend, xp, compiled):
    rows = ("gammaln", "ndtr", "kl_div", "erfcx", "j1", "expi", "xlogy")
    columns = {row: [xp.from_numpy(np.resize(c, 6)) for c in derivatives(row)[0]] for row in rows}

    def program(columns):
        return sum([trellis.sum(function(row)(*columns[row])) for row in rows])

    found = compiled(trellis.grad(program))(columns)
    for row in rows:
        exact = derivatives(row)[1][0]
        for slope, expected in zip(found[row], exact, strict=True):
            slope = trellis.to_numpy(slope)[: len(expected)]
            np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-15, err_msg=row)


def test_vmap(backend, xp):
    for row in ("gammaln", "betaln", "xlogy"):
        xs = arguments(xp, stored(row)[0])
        each = trellis.to_numpy(trellis.vmap(function(row))(*xs))
        assert np.all(errors(row, each, "float64") <= allowed(row, "float64")), row


# Calls --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gammaln", "erfcx", "i0", "ndtri", "xlogy"])
def test_graphs_have_their_formulas(xp, name):
    """What has a derivative of its own is followed like any other function."""
    fn = getattr(special, name)
    given = [xp.from_numpy(x) for x in (np.array([0.25, 0.75]), np.array([0.5, 2.0]))]
    xs = given if name == "xlogy" else given[:1]
    place: dict = {}
    exec(trellis.trace(fn, *xs).to_source("numpy"), place)
    found = place["forward"](*map(trellis.to_numpy, xs))
    # The same formula in another framework's arithmetic.
    np.testing.assert_allclose(found, trellis.to_numpy(fn(*xs)), rtol=1e-13)


def test_those_of_trellis_are_the_same_functions():
    for name in ("erf", "erfc", "erfinv", "sinc"):
        assert getattr(special, name) is getattr(trellis, name)


def test_dtypes_numbers_and_pytrees(backend, xp):
    half = xp.astype(xp.from_numpy(np.array([0.5, 2.5])), "float16")
    assert xp.dtype_name(special.gammaln(half).dtype) == "float16"
    whole = xp.from_numpy(np.array([1, 5]))
    got = special.gammaln(whole)
    assert xp.dtype_name(got.dtype) == str(trellis.default_dtype())
    np.testing.assert_allclose(trellis.to_numpy(got), np.log([1.0, 24.0]), rtol=1e-6)
    x = xp.from_numpy(np.array([[0.5], [2.0]]))
    y = xp.from_numpy(np.array([1.0, 3.0, 5.0]))
    assert tuple(special.beta(x, y).shape) == (2, 3)
    expected = scipy.special.gammainc(2.0, [1.0, 3.0, 5.0])
    np.testing.assert_allclose(trellis.to_numpy(special.gammainc(2.0, y)), expected, rtol=1e-14)
    found = special.xlogy({"a": x}, {"a": x})
    expected = [[0.5 * np.log(0.5)], [2 * np.log(2)]]
    np.testing.assert_allclose(trellis.to_numpy(found["a"]), expected, rtol=1e-15)


def test_mistakes(backend, xp):
    with pytest.raises(trellis.errors.DtypeError, match="real numbers"):
        special.gammaln(xp.from_numpy(np.array([1j])))
    with pytest.raises(trellis.errors.DtypeError, match="real numbers"):
        special.beta(xp.from_numpy(np.array([1.0])), True)
