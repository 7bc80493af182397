"""Composed linear algebra against SciPy and mpmath: values, stacks, complex, derivatives."""

import numpy as np
import pytest
import scipy.linalg

import trellis
from trellis import linalg
from trellis.testing import check_gradients

mp = pytest.importorskip("mpmath")

RNG = np.random.default_rng(3)
A = RNG.normal(size=(2, 4, 4)) + 4 * np.eye(4)
B = RNG.normal(size=(2, 4, 3))
COMPLEX = A + 1j * RNG.normal(size=A.shape)
TALL = RNG.normal(size=(2, 6, 3))
WIDE = np.swapaxes(TALL, -1, -2).copy()


@pytest.fixture(autouse=True)
def wide(x64):
    with x64():
        yield


def each(fn, *xs):
    return np.stack([fn(*x) for x in zip(*xs, strict=True)])


def close(got, expected, rtol=1e-12):
    got = trellis.to_numpy(got)
    assert got.dtype == expected.dtype
    # Sums of at most eight products of numbers of size 1 to 10, times the condition (below 30).
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * np.nanmax(np.abs(expected)))


@pytest.mark.parametrize("a", [A, COMPLEX], ids=["real", "complex"])
def test_triangles(backend, xp, a):
    x, b = xp.from_numpy(a), xp.from_numpy(B.astype(a.dtype))
    for lower in (False, True):
        for unit in (False, True):
            expected = each(
                lambda a, b: scipy.linalg.solve_triangular(
                    a,
                    b,
                    lower=lower,
                    unit_diagonal=unit,
                ),
                a,
                B.astype(a.dtype),
            )
            close(linalg.solve_triangular(x, b, lower=lower, unit_diagonal=unit), expected)
        expected = each(
            lambda a, b: scipy.linalg.solve_triangular(a, b, lower=lower, trans="C"),
            a,
            B.astype(a.dtype),
        )
        close(linalg.solve_triangular(x, b, lower=lower, adjoint=True), expected)
    positive = a @ np.conj(np.swapaxes(a, -1, -2))
    expected = np.linalg.solve(positive, B.astype(a.dtype))
    for upper in (False, True):
        factor = linalg.cholesky(xp.from_numpy(positive), upper=upper)
        close(linalg.cho_solve(factor, b, upper=upper), expected, 1e-11)


def test_the_other_half_is_not_read(backend, xp):
    a = np.where(np.tri(3), 1.0, np.nan)
    b = np.array([1.0, 2.0, 3.0])
    got = linalg.solve_triangular(xp.from_numpy(a), xp.from_numpy(b), lower=True)
    close(got, np.array([1.0, 1.0, 1.0]))
    check_gradients(
        lambda b: linalg.solve_triangular(xp.from_numpy(A[0]), b, lower=True),
        [xp.from_numpy(B[0])],
    )


def test_least_squares(backend, xp):
    right = {6: RNG.normal(size=(2, 6, 2)), 3: RNG.normal(size=(2, 3, 2))}
    deficient = TALL.copy()
    deficient[..., 2] = deficient[..., 0] + deficient[..., 1]
    for a in (TALL, WIDE, deficient):
        b = right[a.shape[-2]]
        expected = each(lambda a, b: scipy.linalg.lstsq(a, b)[0], a, b)
        close(linalg.lstsq(xp.from_numpy(a), xp.from_numpy(b)), expected)
    vector = linalg.lstsq(xp.from_numpy(TALL[0]), xp.from_numpy(right[6][0, :, 0]))
    close(vector, scipy.linalg.lstsq(TALL[0], right[6][0, :, 0])[0])
    # With repeated singular values, too.
    for a in (TALL[0], np.eye(6, 3)):
        check_gradients(
            lambda a: linalg.lstsq(a, xp.from_numpy(right[6][0])), [xp.from_numpy(a)], order=1
        )


def test_condition(backend, xp):
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(linalg.cond(xp.from_numpy(A), ord=order), np.linalg.cond(A, p=order))
    singular = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert trellis.to_numpy(linalg.cond(xp.from_numpy(singular))) == np.inf
    close(linalg.cond(xp.from_numpy(COMPLEX)), np.linalg.cond(COMPLEX))


def exponential(a):
    """By mpmath in 40 digits."""
    with mp.workdps(40):
        found = mp.expm(mp.matrix(a.tolist()), method="taylor")
        rows = [[complex(found[i, j]) for j in range(len(a))] for i in range(len(a))]
    found = np.array(rows)
    return found if np.iscomplexobj(a) else found.real


def test_expm(backend, xp):
    # Sizes from no squaring to eight of them, in one stack; nilpotent, defective, and zero.
    jordan = np.diag(np.full(4, 0.5)) + np.diag(np.ones(3), 1)
    stack = np.stack(
        [0.01 * A[0], A[1], -20 * A[0], jordan, np.diag(np.ones(3), 1), np.zeros((4, 4))]
    )
    got = trellis.to_numpy(linalg.expm(xp.from_numpy(stack)))
    for one, a in zip(got, stack, strict=True):
        expected = exponential(a)
        # The error of an exponential grows with the norm of the matrix (here up to 200).
        rtol = 1e-14 * max(10.0, np.abs(a).sum(0).max())
        assert np.abs(one - expected).max() <= rtol * np.abs(expected).max()
    turned = linalg.expm(xp.from_numpy(COMPLEX[0]))
    close(turned, exponential(COMPLEX[0]), 1e-13)
    single = linalg.expm(xp.from_numpy(A[0].astype("float32")))
    # 1e-6 is 8 units of float32, times a norm of 8.
    close(single, exponential(A[0]).astype("float32"), 1e-6)


def test_expm_has_derivatives_of_all_orders(backend, xp):
    for a in (A[0, :2, :2], np.eye(2), np.diag([1.0], 1)):  # repeated eigenvalues, defective
        x, e = xp.from_numpy(a), xp.from_numpy(np.array([[1.0, 2.0], [-1.0, 0.5]]))
        _, exact = scipy.linalg.expm_frechet(a.T, trellis.to_numpy(e))
        slope = trellis.grad(lambda x: trellis.sum(e * linalg.expm(x)))
        close(slope(x), exact, 1e-13)
        check_gradients(slope, [x], order=1, modes=["rev"])


def test_one_compiled_program(backend, xp, compiled):
    def program(a, b):
        return linalg.expm(a), linalg.solve_triangular(a, b, lower=True), linalg.cond(a)

    a, b = xp.from_numpy(A), xp.from_numpy(B)
    first, second, third = compiled(program)(a, b)
    close(first, each(exponential, A), 1e-13)
    close(second, np.linalg.solve(np.tril(A), B))
    close(third, np.linalg.cond(A))


def test_toeplitz_and_blocks(backend, xp):
    c, r = np.array([1.0, 2.0, 3.0]), np.array([9.0, 8.0])
    close(linalg.toeplitz(xp.from_numpy(c), xp.from_numpy(r)), scipy.linalg.toeplitz(c, r))
    z = np.array([1.0, 2.0 + 1j])
    close(linalg.toeplitz(xp.from_numpy(z)), scipy.linalg.toeplitz(z))
    stacked = linalg.toeplitz(xp.from_numpy(np.stack([c, -c])))
    close(stacked, np.stack([scipy.linalg.toeplitz(c), scipy.linalg.toeplitz(-c)]))
    blocks = [np.ones((1, 2)), np.full((2, 1), np.nan), np.zeros((0, 1))]
    got = linalg.block_diag(*[xp.from_numpy(x) for x in blocks])
    close(got, scipy.linalg.block_diag(*blocks))
    got = linalg.block_diag(xp.from_numpy(A), xp.from_numpy(B[0]))
    close(got, each(lambda a: scipy.linalg.block_diag(a, B[0]), A))


def test_mistakes(backend, xp):
    whole, vector = xp.from_numpy(np.eye(2, dtype=int)), xp.from_numpy(np.ones(2))
    tall = xp.from_numpy(np.ones((3, 2)))
    with pytest.raises(trellis.errors.DtypeError, match="floating-point numbers, got int"):
        linalg.expm(whole)
    with pytest.raises(trellis.errors.ShapeError, match="takes square matrices"):
        linalg.expm(tall)
    with pytest.raises(trellis.errors.ShapeError, match="takes matrices"):
        linalg.cond(vector)
    with pytest.raises(trellis.errors.ShapeError, match="as many rows in b as in a"):
        linalg.lstsq(tall, vector)
    with pytest.raises(trellis.errors.ShapeError, match="at least one matrix"):
        linalg.block_diag()
