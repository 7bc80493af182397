"""Gradients where a formula divides by zero but the derivative, or our convention for it,
exists."""

import numpy as np
import pytest

import trellis
from trellis import linalg
from trellis.testing import assert_close, check_gradients

INF = float("inf")


def gradient(fn, x, array, x64):
    with x64():
        g = trellis.grad(lambda x: trellis.sum(fn(x)))(array(np.asarray(x, "float64")))
        assert trellis.dtype(g) == "float64"
        return trellis.to_numpy(g)


# Determinants
# --------------------------------------------------------------------------------------

SINGULAR = {
    "rank 1": ([[1, 2], [2, 4]], [[4, -2], [-2, 1]]),
    "zero": ([[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    "one by one": ([[0]], [[1]]),
    "rank 2 of 3": ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]),
    "rank 1 of 3": (np.outer([1, 2, 3], [1, 1, 2]), np.zeros((3, 3))),
    "a zero row": ([[0, 0], [3, 5]], [[5, -3], [0, 0]]),
    "empty": (np.zeros((0, 0)), np.zeros((0, 0))),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_det_of_singular_matrices(name, array, x64):
    """The matrix of cofactors, by hand."""
    x, expected = SINGULAR[name]
    np.testing.assert_allclose(gradient(linalg.det, x, array, x64), expected, atol=1e-12)


def test_a_singular_matrix_does_not_harm_its_batch(array, x64):
    batch = np.array([[[1, 2], [2, 4]], [[3, 1], [1, 2]]], "float64")
    expected = [[[4, -2], [-2, 1]], [[2, -1], [-1, 3]]]
    np.testing.assert_allclose(gradient(linalg.det, batch, array, x64), expected, atol=1e-12)


def test_det_of_a_complex_singular_matrix(backend, array, x64):
    """Written over real parameters, so that no convention for complex gradients plays a part."""
    with x64():
        a = array(np.array([[1.0, 2.0], [0.0, 4.0]]))
        b = array(np.array([[1.0, 0.0], [-2.0, 0.0]]))  # (1+i)(4) = 2 (2-2i) + ..., of full rank
        fn = lambda a, b: trellis.real(linalg.det(trellis.add(a, trellis.multiply(1j, b))))  # noqa: E731
        check_gradients(fn, (a, b), order=1)


# Eigenvalues and singular values that coincide
# ------------------------------------------------------

ROTATION = [[0.0, -1.0], [1.0, 0.0]]
COINCIDING = {
    "svdvals": (linalg.svdvals, np.eye(2), np.eye(2)),
    "svdvals, tall": (linalg.svdvals, np.eye(3)[:, :2], np.eye(3)[:, :2]),
    "eigvalsh": (linalg.eigvalsh, np.eye(2), np.eye(2)),
    "eigvals": (lambda x: trellis.real(linalg.eigvals(x)), np.eye(2), np.eye(2)),
    "nuclear norm": (lambda x: linalg.matrix_norm(x, ord="nuc"), ROTATION, ROTATION),
    # The largest of two equal values: they share the gradient.
    "spectral norm": (lambda x: linalg.matrix_norm(x, ord=2), ROTATION, np.array(ROTATION) / 2),
    "smallest": (lambda x: linalg.matrix_norm(x, ord=-2), ROTATION, np.array(ROTATION) / 2),
}


@pytest.mark.parametrize("name", COINCIDING)
def test_coinciding_values(name, array, x64):
    fn, x, expected = COINCIDING[name]
    np.testing.assert_allclose(gradient(fn, x, array, x64), expected, atol=1e-12)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-3])
def test_pinv_of_nearly_equal_singular_values(gap, array, x64):
    """The derivative of the inverse is -(P^T G P^T), whatever the singular values."""
    x, w = np.diag([1.0, 1.0 + gap]), np.array([[1.0, 2.0], [3.0, 4.0]])
    p = np.linalg.inv(x)
    with x64():
        weights = array(w)
        found = gradient(lambda x: trellis.multiply(linalg.pinv(x), weights), x, array, x64)
    np.testing.assert_allclose(found, -p.T @ w @ p.T, rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 4, 3)])
def test_pinv_against_differences(shape, array, x64):
    x = np.random.default_rng(0).normal(size=shape)
    with x64():
        check_gradients(linalg.pinv, (array(x),), order=1)


@pytest.mark.parametrize("shape", [(2, 3), (1, 4), (2, 2, 5)])
def test_qr_of_a_wide_matrix(shape, array, x64):
    x = np.random.default_rng(1).normal(size=shape)
    with x64():
        check_gradients(lambda x: tuple(linalg.qr(x)), (array(x),), order=1)


# The vectors of repeated values
# ---------------------------------------------------------------------

WEIGHTED = np.array([[0.5, 2.0, -1.0], [0.3, 1.5, 0.7], [-0.4, 1.1, 0.2]])
# An orthogonal matrix and a symmetric one whose equal values LAPACK tells apart by rounding.
TURN = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.4, 0.9]]))[0]
NEARLY = (TURN * [2.0, 2.0, 1.0]) @ TURN.T


def weigh(x, w):
    return trellis.sum(x * w)


def from_eigh(x, w, of_values=lambda values: values):
    """A function of the matrix that uses the vectors; for of_values=log it is 0 at the identity."""
    values, v = linalg.eigh(x)
    return weigh((v * of_values(values)) @ trellis.matrix_transpose(v), w)


def from_eig(x, w):
    values, v = linalg.eig(x)
    return weigh(trellis.real((v * values) @ linalg.inv(v)), w)


def from_svd(x, w):
    u, s, vh = linalg.svd(x)
    return weigh((u * s) @ vh, w)


def polar(x, w):
    u, _, vh = linalg.svd(x)
    return weigh(u @ vh, w)


USES_VECTORS = {
    "eigh": (from_eigh, np.eye(3)),
    "eigh, a zero": (lambda x, w: from_eigh(x, w, trellis.log), np.eye(3)),
    "eigh, no rank": (from_eigh, np.diag([1.0, 0.0, 0.0])),
    "eigh, rounding": (from_eigh, NEARLY),
    "eig": (from_eig, np.eye(3)),
    "svd": (from_svd, np.eye(3)),
    "svd, rounding": (from_svd, TURN),
    "svd, polar": (polar, np.eye(3)),
}


@pytest.mark.parametrize("name", USES_VECTORS)
def test_vectors_of_repeated_values_have_no_derivative(name, backend, array, x64):
    """An error in words, and nan where values cannot be read; never a number, which would be wrong:
    the derivative of these by the vectors says nothing of that by the matrix."""
    fn, x = USES_VECTORS[name]
    with x64():
        x, w = array(x), array(WEIGHTED)
        if backend == "jax":  # it transposes forward mode, without values
            assert np.all(np.isnan(trellis.to_numpy(trellis.grad(fn)(x, w))))
            return
        with pytest.raises(trellis.errors.NotSupportedError, match=r"have no derivative here"):
            trellis.grad(fn)(x, w)


def test_vectors_of_repeated_values_in_compiled_code(backend, compiled, array, x64):
    if backend == "numpy":
        pytest.skip("nothing is compiled on NumPy")
    # XLA compiles the decomposition for TensorFlow in seconds; that one is enough.
    names = ("eigh, a zero", "eigh, rounding", "svd")[: 1 if backend == "tensorflow" else 3]
    with x64():
        xs, w = [array(USES_VECTORS[name][1]) for name in names], array(WEIGHTED)

        def program(xs, w):
            return [trellis.grad(USES_VECTORS[name][0])(x, w) for name, x in zip(names, xs)]

        for found in compiled(program)(xs, w):
            assert np.all(np.isnan(trellis.to_numpy(found)))


def projected(x, w):
    """Onto the vector of the smallest eigenvalue."""
    v = linalg.eigh(x).eigenvectors[..., :1]
    return weigh(v @ trellis.matrix_transpose(v), w)


def test_vectors_of_other_values_have_one(array, x64):
    """By perturbation theory: -(P W R + R W P), with R the inverse of x - 1 on the other vectors.
    Their two values differ by 1e-12, which is no rounding."""
    near = (TURN * [1.0, 2.0, 2.0 + 1e-12]) @ TURN.T
    near = (near + near.T) / 2
    p = TURN[:, :1] @ TURN[:, :1].T
    symmetric, rest = (WEIGHTED + WEIGHTED.T) / 2, np.eye(3) - p
    expected = -(p @ symmetric @ rest + rest @ symmetric @ p)
    with x64():
        found = trellis.to_numpy(trellis.grad(projected)(array(near), array(WEIGHTED)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


VALUES_ALONE = {
    "eigh": lambda x: linalg.eigh(x).eigenvalues,
    "eig": lambda x: trellis.real(linalg.eig(x).eigenvalues),
    "svd": lambda x: linalg.svd(x).S,
}


@pytest.mark.parametrize("name", VALUES_ALONE)
def test_values_beside_vectors_have_a_derivative(name, array, x64):
    """The sum of these is the trace, and all singular values of a rotation are 1."""
    fn = VALUES_ALONE[name]
    np.testing.assert_allclose(gradient(fn, np.eye(3), array, x64), np.eye(3), atol=1e-12)
    x, expected = (TURN, TURN) if name == "svd" else (NEARLY, np.eye(3))
    np.testing.assert_allclose(gradient(fn, x, array, x64), expected, atol=1e-12)


# Norms
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [INF, -INF, 0, 1, -1, 2, -2, 0.5, 3])
def test_vector_norms_at_zero(order, array, x64):
    fn = lambda x: linalg.vector_norm(x, ord=order)  # noqa: E731
    np.testing.assert_array_equal(gradient(fn, np.zeros(3), array, x64), np.zeros(3))
    found = gradient(fn, [0.0, 2.0, -1.0], array, x64)
    size = np.array([0.0, 2.0, 1.0])
    expected = {
        INF: [0, 1, 0], -INF: [0, 0, 0], 0: [0, 0, 0], 1: [0, 1, -1], -1: [0, 0, 0], -2: [0, 0, 0],
        2: np.array([0, 2, -1]) / 5**0.5,
        3: np.array([0, 4, -1]) * 9 ** (-2 / 3),
        0.5: np.array([0, 2**-0.5, -1]) * np.sum(size**0.5),
    }[order]  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("order", ["fro", "nuc", INF, -INF, 1, -1, 2, -2])
def test_matrix_norms_at_zero(order, array, x64):
    fn = lambda x: linalg.matrix_norm(x, ord=order)  # noqa: E731
    np.testing.assert_array_equal(gradient(fn, np.zeros((2, 2)), array, x64), np.zeros((2, 2)))


def test_norms_of_matrices_that_lack_rank(array, x64):
    """A singular value of 0 has gradient 0, as the absolute value of 0 has: its vectors are any."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 2)) @ rng.normal(size=(2, 2, 3))
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    found = gradient(lambda x: linalg.matrix_norm(x, ord="nuc"), x, array, x64)
    np.testing.assert_allclose(found, u[..., :2] @ vh[..., :2, :], atol=1e-12)
    found = gradient(lambda x: linalg.matrix_norm(x, ord=-2), x, array, x64)
    np.testing.assert_array_equal(found, np.zeros(x.shape))
    # Values that are small and not 0 count.
    small = np.diag([1.0, 1e-9])
    found = gradient(lambda x: linalg.matrix_norm(x, ord="nuc"), small, array, x64)
    np.testing.assert_allclose(found, np.eye(2), atol=1e-12)


# Element by element
# --------------------------------------------------------------------------------


def test_copysign_at_zero(array, x64):
    """copysign(x, y) is |x| with a sign; the derivative of |x| at 0 is 0."""
    with x64():
        y = array(np.array([1.0, -1.0, 1.0, -1.0]))
        found = gradient(lambda x: trellis.copysign(x, y), [0.0, 0.0, -2.0, 2.0], array, x64)
        np.testing.assert_array_equal(found, [0, 0, -1, -1])
        x = array(np.array([1.0, 2.0]))
        by_sign = gradient(lambda y: trellis.copysign(x, y), [0.0, -1.0], array, x64)
        np.testing.assert_array_equal(by_sign, [0, 0])


def test_the_gradient_of_eigh_is_symmetric(array, x64):
    """The matrix put together again is the matrix: its gradient is the symmetric part of g."""
    g = np.array([[1.0, 2.0], [5.0, 3.0]])
    with x64():
        weights = array(g)

    def again(x):
        values, vectors = trellis.linalg.eigh(x)
        scaled = trellis.multiply(vectors, trellis.expand_dims(values, -2))
        product = trellis.matmul(scaled, trellis.matrix_transpose(vectors))
        return trellis.multiply(product, weights)

    found = gradient(again, [[6.0, 1.0], [1.0, 10.0]], array, x64)
    np.testing.assert_allclose(found, (g + g.T) / 2, rtol=1e-12)


def test_the_gradient_of_a_complex_product_of_real_numbers(array, x64):
    found = gradient(
        lambda x: trellis.real(trellis.prod(x, dtype="complex128")), [2.0, 3.0, 4.0], array, x64
    )
    np.testing.assert_allclose(found, [12.0, 8.0, 6.0], rtol=1e-12)


def test_nextafter(array, x64):
    with x64():
        one, two = array(np.array([1.0])), array(np.array([2.0]))
        assert gradient(lambda x: trellis.nextafter(x, two), [1.0], array, x64).tolist() == [1]
        assert gradient(lambda y: trellis.nextafter(one, y), [2.0], array, x64).tolist() == [0]
        assert gradient(lambda x: trellis.nextafter(x, one), [1.0], array, x64).tolist() == [1]
        for kind in ("float16", "bfloat16"):
            steps = lambda x: trellis.nextafter(trellis.astype(x, kind), trellis.astype(two, kind))  # noqa: E731
            assert gradient(steps, [1.0], array, x64).tolist() == [1]


# Writes to one place
# -------------------------------------------------------------------------------

PLACES = np.array([1, 1, 3])
WEIGHTS = np.array([1.0, 10, 100, 1000, 10000])


@pytest.mark.parametrize("how", ["at", "scatter"])
def test_overwritten_writes_have_no_gradient(how, backend, array, x64):
    with x64():
        x, w, places = array(np.ones(5)), array(WEIGHTS), array(PLACES)

        def written(x, value):
            if how == "at":
                return trellis.at(x, places).set(value)
            return trellis.scatter(x, places, value)

        values = array(np.array([5.0, 6.0, 7.0]))
        assert_close(written(x, values), np.array([1.0, 6, 1, 7, 1]), backend=backend)
        by_number = gradient(lambda v: trellis.multiply(written(x, v), w), 5.0, array, x64)
        np.testing.assert_array_equal(by_number, 1010)
        by_vector = gradient(lambda v: trellis.multiply(written(x, v), w), [5, 6, 7], array, x64)
        np.testing.assert_array_equal(by_vector, [0, 10, 1000])
        by_x = gradient(lambda x: trellis.multiply(written(x, values), w), np.ones(5), array, x64)
        np.testing.assert_array_equal(by_x, [1, 0, 100, 0, 10000])


@pytest.mark.parametrize("axis", [0, 1])
def test_overwritten_rows(axis, array, x64):
    with x64():
        weights, places = np.arange(1.0, 10.0).reshape(3, 3), array(np.array([0, 0, 2]))
        x, w = array(np.ones((3, 3))), array(weights)
        found = gradient(
            lambda v: trellis.multiply(trellis.scatter(x, places, v, axis=axis), w),
            np.ones((3, 3)), array, x64,
        )  # fmt: skip
    expected = np.take(weights, [0, 0, 2], axis=axis)
    np.moveaxis(expected, axis, 0)[0] = 0
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("factors", [[4.0, 3, 2], [0.0, 3, 2], [0.0, 0, 2], [4.0, 0, 0]])
def test_products_with_zeros(factors, array, x64):
    x = np.array([1.0, 2, 3, 4, 5])
    a, b, c = factors
    with x64():
        w, places, start = array(WEIGHTS), array(PLACES), array(x)
        product = lambda x, v: trellis.scatter(x, places, v, reduce="multiply")  # noqa: E731
        found = gradient(lambda v: trellis.multiply(product(start, v), w), factors, array, x64)
        np.testing.assert_allclose(found, [20 * b, 20 * a, 4000])
        values = array(np.array(factors))
        by_x = gradient(lambda x: trellis.multiply(product(x, values), w), x, array, x64)
        np.testing.assert_allclose(by_x, WEIGHTS * np.array([1, a * b, 1, c, 1]))


def test_a_cast_through_bfloat16(array):
    """Rounding is a step function; its gradient passes as if nothing had been rounded."""
    x = array(np.array([1.5, -2.25], "float32"))
    g = trellis.grad(
        lambda x: trellis.sum(trellis.astype(trellis.astype(x * x, "bfloat16"), "float32"))
    )(x)
    assert trellis.dtype(g) == "float32"
    np.testing.assert_allclose(trellis.to_numpy(g), [3.0, -4.5])
