"""Triangular factors, bands, roots and logarithms of matrices against SciPy and mpmath."""

import numpy as np
import pytest
import scipy.linalg

import trellis
from trellis import linalg
from trellis.conformance.compilers import compile_with
from trellis.testing import check_gradients

mp = pytest.importorskip("mpmath")

RNG = np.random.default_rng(4)
A = RNG.normal(size=(2, 4, 4))
B = RNG.normal(size=(2, 4, 3))
COMPLEX = A + 1j * RNG.normal(size=A.shape)


@pytest.fixture(autouse=True)
def wide(x64):
    with x64():
        yield


def close(got, expected, rtol=1e-12):
    got = trellis.to_numpy(got)
    assert got.dtype == expected.dtype
    # Sums of at most eight products of numbers of size 1, times a condition of at most 40.
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def test_lu(backend, xp):
    deficient = A[0].copy()
    deficient[:, 1] = deficient[:, 0]
    for a in (A[0], COMPLEX[0], A[0, :, :2], A[0, :2], deficient, np.zeros((3, 3))):
        for got, expected in zip(linalg.lu(xp.from_numpy(a)), scipy.linalg.lu(a), strict=True):
            close(got, expected.astype(a.dtype))
    for a, b in ((A, B), (COMPLEX, B.astype(complex)), (A.astype("float32"), B.astype("float32"))):
        both, pivots = linalg.lu_factor(xp.from_numpy(a))
        # 2e-5 is 170 units of float32, for a condition of 40.
        rtol = 2e-5 if a.dtype == "float32" else 1e-12
        for i in range(2):
            expected = scipy.linalg.lu_factor(a[i])
            close(both[i, ...], expected[0], rtol)
            assert trellis.to_numpy(pivots[i, ...]).tolist() == expected[1].tolist()
        close(linalg.lu_solve((both, pivots), xp.from_numpy(b)), np.linalg.solve(a, b), rtol)
    one = linalg.lu_factor(xp.from_numpy(A[0]))
    close(linalg.lu_solve(one, xp.from_numpy(B[0, :, 0])), np.linalg.solve(A[0], B[0, :, 0]))


def test_derivatives_of_factors(backend, xp):
    a, b = xp.from_numpy(A[0, :3, :3]), xp.from_numpy(B[0, :3])
    check_gradients(lambda a: linalg.lu(a)[1:], [a], order=1)
    check_gradients(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), [a, b], order=1)


BANDS = [(1, 1), (2, 1), (0, 2), (0, 0)]


def test_bands(backend, xp):
    size = 6
    for below, above in BANDS:
        # Corners that are not part of the matrix are nan; the small diagonal asks for exchanges.
        ab = RNG.normal(size=(below + above + 1, size))
        ab[above] *= 0.01 if below + above else 1.0
        filled = ab.copy()
        for i in range(below + above + 1):
            for j in range(size):
                if not 0 <= i + j - above < size:
                    ab[i, j], filled[i, j] = np.nan, 0.0
        for b in (RNG.normal(size=size), RNG.normal(size=(size, 2)) + 1j):
            got = linalg.solve_banded((below, above), *map(xp.from_numpy, (ab, b)))
            # Small diagonals without exchanges: the condition is 1e6 at most.
            close(got, scipy.linalg.solve_banded((below, above), filled, b), 1e-9)
    ab, b = RNG.normal(size=(3, 5)), RNG.normal(size=(2, 5, 2))
    got = linalg.solve_banded((1, 1), xp.from_numpy(ab), xp.from_numpy(b))
    close(got, np.stack([scipy.linalg.solve_banded((1, 1), ab, x) for x in b]), 1e-11)
    singular = linalg.solve_banded((1, 1), xp.from_numpy(0 * ab), xp.from_numpy(b))
    assert np.isnan(trellis.to_numpy(singular)).any()
    inputs = [xp.from_numpy(x) for x in (ab[:, :4], b[0, :4])]
    check_gradients(lambda a, b: linalg.solve_banded((1, 1), a, b), inputs, order=1)


def exactly(function, a):
    """By mpmath in 40 digits."""
    with mp.workdps(40):
        found = function(mp.matrix(a.tolist()))
        rows = [[complex(found[i, j]) for j in range(len(a))] for i in range(len(a))]
    return np.array(rows) if np.iscomplexobj(a) else np.array(rows).real


POSITIVE = A @ np.swapaxes(A, -1, -2) + 0.1 * np.eye(4)
TURN = np.array([[0.0, -3.0], [3.0, 0.1]])
JORDAN = np.diag(np.full(3, 2.0)) + np.diag(np.ones(2), 1)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_functions_of_matrices(backend, xp, name):
    ours, theirs = getattr(linalg, name), getattr(mp, name)
    for a in (POSITIVE[0], TURN, 1e6 * JORDAN, COMPLEX[0], np.eye(3)):
        # The condition of these matrices is 100 at most; a root of TURN has half of its norm.
        close(ours(xp.from_numpy(a)), exactly(theirs, a), 1e-12)
    stack = np.stack([POSITIVE[1], 1e-5 * POSITIVE[0]])
    close(ours(xp.from_numpy(stack)), np.stack([exactly(theirs, a) for a in stack]), 1e-12)
    single = ours(xp.from_numpy(JORDAN.astype("float32")))
    # 2e-6 is 17 units of float32.
    close(single, exactly(theirs, JORDAN).astype("float32"), 2e-6)
    negative = trellis.to_numpy(ours(xp.from_numpy(np.diag([1.0, -2.0]))))
    assert np.isnan(negative).all()


def test_roots_of_singular_matrices(backend, xp):
    """Those that have one; half of the digits are lost where 0 is known up to rounding."""
    turn = np.linalg.qr(A[0, :3, :3])[0]
    for values, rtol in (
        ([1.0, 1.0, 0.0], 1e-15),
        ([0.0, 0.0, 0.0], 1e-15),
        ([4.0, 1.0, 0.0], 1e-7),
    ):
        around = turn if values[0] == 4.0 else np.eye(3)
        x, root = [around @ np.diag(v) @ around.T for v in (np.array(values), np.sqrt(values))]
        got = trellis.to_numpy(linalg.sqrtm(xp.from_numpy(x)))
        np.testing.assert_allclose(got, root, rtol=rtol, atol=rtol)
    stack = np.stack([np.diag([1.0, 0.0]), np.diag([9.0, 4.0])])
    close(linalg.sqrtm(xp.from_numpy(stack)), np.sqrt(stack))
    nilpotent = xp.from_numpy(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert np.isnan(trellis.to_numpy(linalg.sqrtm(nilpotent))).all()
    found = trellis.to_numpy(linalg.logm(xp.from_numpy(stack)))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], np.diag(np.log([9.0, 4.0])), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_complex_matrices_with_eigenvalues_below_zero(backend, xp, name):
    """A number below 0 has the root and the logarithm that numpy gives it."""
    ours, by_number = getattr(linalg, name), {"sqrtm": np.sqrt, "logm": np.log}[name]
    vectors = COMPLEX[0, :3, :3]
    for values in (np.array([-1.0, -1.0, -1.0]), np.array([-4.0, 1j, 2.0])):
        x = (vectors * values) @ np.linalg.inv(vectors)
        expected = (vectors * by_number(values.astype(complex))) @ np.linalg.inv(vectors)
        # The turn of 2**-5 costs its square in digits, 1,000 units.
        close(ours(xp.from_numpy(x)), expected, 2e-12)
    stack = np.stack([-np.eye(2), 4 * np.eye(2)]).astype(complex)
    close(
        ours(xp.from_numpy(stack)),
        by_number(np.array([-1, 4 + 0j]))[:, None, None] * np.eye(2),
        1e-12,
    )
    if name == "sqrtm":  # d sqrt(-t) / dt = i / (2 sqrt(t)), twice in the trace

        def below(t):
            x = xp.from_numpy(stack[0]) * trellis.astype(t, "complex128")
            return trellis.imag(linalg.trace(ours(x)))

        close(trellis.grad(below)(xp.from_numpy(np.array(4.0))), np.array(0.5), 1e-12)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_derivatives_at_repeated_eigenvalues(backend, xp, name):
    function = getattr(linalg, name)
    e = np.array([[1.0, 2.0], [-1.0, 0.5]])
    for a in (np.eye(2) * 2, np.array([[2.0, 1.0], [0.0, 2.0]])):
        x = xp.from_numpy(a)
        slope = trellis.grad(lambda x: trellis.sum(xp.from_numpy(e) * function(x)))
        # sqrtm: y a.T + a.T y = e for the root y; logm: by the block matrix, in SciPy.
        if name == "sqrtm":
            root = scipy.linalg.sqrtm(a).T
            expected = scipy.linalg.solve_sylvester(root, root, e)
        else:
            whole = np.block([[a.T, e], [np.zeros((2, 2)), a.T]])
            expected = scipy.linalg.logm(whole)[:2, 2:]
        close(slope(x), expected, 1e-11)
        check_gradients(slope, [x], order=1, modes=["rev"])


def test_compiled(backend, xp):
    ab = np.array([[0.0, 1, 1, 2], [4, 4, 4, 4], [1, 3, 1, 0.0]])

    def program(a, b, ab, c):
        factors = linalg.lu_factor(a)
        solved = linalg.lu_solve(factors, b), linalg.solve_banded((1, 1), ab, b)
        return (*solved, linalg.sqrtm(c), linalg.logm(c))

    # AutoGraph would only take time; tests/contract asks for it.
    inputs = map(xp.from_numpy, (A[0], B[0], ab, POSITIVE[0]))
    found = compile_with(backend, program, autograph=False)(*inputs)
    close(found[0], np.linalg.solve(A[0], B[0]))
    close(found[1], scipy.linalg.solve_banded((1, 1), ab, B[0]))
    close(found[2], exactly(mp.sqrtm, POSITIVE[0]))
    close(found[3], exactly(mp.logm, POSITIVE[0]))


def test_mistakes(backend, xp):
    a, b = xp.from_numpy(A[0]), xp.from_numpy(B[0])
    shape, argument = trellis.errors.ShapeError, trellis.errors.ArgumentError
    for error, match, call in [
        (shape, "needs 4 diagonals", lambda: linalg.solve_banded((2, 1), a[:3, :], b)),
        (shape, "as many rows in b as columns", lambda: linalg.solve_banded((2, 1), a, b[:3, :])),
        (argument, "two numbers of diagonals", lambda: linalg.solve_banded((1, -1), a, b)),
        (shape, "pair that lu_factor", lambda: linalg.lu_solve(a, b)),
        (shape, "square matrices", lambda: linalg.sqrtm(b)),
        (shape, "takes matrices", lambda: linalg.lu(a[0, :])),
    ]:
        with pytest.raises(error, match=match):
            call()
