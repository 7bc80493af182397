"""Corners that the public Array API suite and comparisons with mpmath found; the suite draws its examples anew each time."""

import numpy as np
import pytest

import trellis
from trellis.testing import assert_close, check_gradients


def test_eye_with_a_diagonal_outside(backend, xp):
    for k in (2**63, -(2**63) - 1):
        assert_close(xp.eye(2, 3, k=k), np.zeros((2, 3), "float32"), backend=backend)


def test_vecdot_of_other_lengths(backend, xp, array):
    for other in (1, 2):
        with pytest.raises((ValueError, TypeError)):
            xp.vecdot(array(np.ones((2, 3), "float32")), array(np.ones((2, other), "float32")))


def test_a_number_beyond_float32_rounds(backend, xp):
    # The first rounds to the largest float32, the second to infinity.
    for value in (3.402823466385289e38, 1e39):
        with np.errstate(over="ignore"):
            expected = np.asarray(value).astype("float32")
            found = xp.asarray(value)
        assert_close(found, expected, backend=backend, rtol=0, atol=0)


def signs(xp, x):
    return [bool(xp.signbit(part)[0]) for part in (xp.real(x), xp.imag(x))]


def test_complex_zeros_have_the_sign_of_the_standard(backend, xp, array):
    x = xp.tanh(array(np.array([complex(np.inf, 2.0)], "complex64")))
    assert_close(x, np.array([1.0 + 0j], "complex64"), backend=backend, rtol=0, atol=0)
    assert signs(xp, x) == [False, False]
    assert signs(xp, xp.sign(array(np.array([complex(-0.0, -0.0)], "complex64")))) == [False, False]
    x = xp.expm1(array(np.array([complex(-0.0, 0.0)], "complex64")))
    assert_close(x, np.array([0j], "complex64"), backend=backend, rtol=0, atol=0)
    assert signs(xp, x) == [False, False]


def test_acos_of_a_large_number_and_nan(backend, xp, array):
    x = xp.acos(array(np.array([complex(1e30, np.nan)], "complex64")))
    assert bool(xp.isnan(xp.real(x))[0]) and bool(xp.isnan(xp.imag(x))[0])
    assert xp.dtype_name(x.dtype) == "complex64"


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e25])
def test_qr_of_numbers_of_any_size(size, backend, xp, array):
    for x in (np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([[1.0, 2j], [3.0 + 1j, -4.0]])):
        x = (x * size).astype("float32" if x.dtype == np.float64 else "complex64")
        q, r = xp.linalg.qr(array(x))
        # A product of 2 by 2 matrices: some units of float32 relative to the largest.
        assert_close(xp.matmul(q, r), x, backend=backend, rtol=0, atol=1e-6 * 5 * size)
    q, r = xp.linalg.qr(array(np.zeros((2, 0), "float32")))
    assert tuple(q.shape) == (2, 0) and tuple(r.shape) == (0, 0)


def test_solve_of_nothing_with_other_batches(backend, xp, array):
    a, b = np.zeros((2, 1, 0, 0), "float32"), np.zeros((3, 0, 4), "float32")
    found = xp.linalg.solve(array(a), array(b))
    assert_close(found, np.zeros((2, 3, 0, 4), "float32"), backend=backend)


@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p", "sign"])
def test_complex_numbers_of_any_size(name, backend, xp, array):
    z = np.array([3e30 - 2e30j, -3e-30 + 2e-30j, 2e-25 + 5e20j, 0.3 + 0.4j, 2e-9 + 3e-9j])
    z = z.astype("complex64").astype("complex128")
    # Of numbers this small log1p(z) is z itself to 16 digits; NumPy's own loses them.
    small = np.abs(z) < 1e-8
    expected = {"log1p": lambda z: np.where(small, z - z * z / 2, np.log1p(z))}.get(
        name, getattr(np, name)
    )(z)
    found = getattr(xp, name)(array(z.astype("complex64")))
    # 3 units of float32 in each part's size relative to the whole.
    error = np.abs(trellis.to_numpy(found) - expected) / np.abs(expected)
    assert error.max() < 4e-7
    assert trellis.backend_of(found) == backend and xp.dtype_name(found.dtype) == "complex64"


@pytest.mark.parametrize("shape", [(), (1,)])
def test_log1p_where_a_part_is_infinite(shape, backend, xp, array):
    for z in (complex(np.inf, np.nan), complex(-np.inf, np.nan), complex(np.nan, np.inf)):
        found = trellis.to_numpy(xp.log1p(array(np.full(shape, z, "complex64"))))
        assert found.shape == shape and np.isposinf(found.real).all() and np.isnan(found.imag).all()


def test_gradient_of_a_complex_logarithm(backend, xp, array, x64):
    with x64():
        x, y = array(np.array([0.3, -2.0])), array(np.array([0.4, 1.5]))
        joined = lambda x, y: xp.add(x, xp.multiply(1j, y))  # noqa: E731
        check_gradients(lambda x, y: xp.real(xp.log(joined(x, y))), (x, y), order=1)
        check_gradients(lambda x, y: xp.imag(xp.log1p(joined(x, y))), (x, y), order=1)


def test_clip_with_a_bound_of_nan(backend, xp, array):
    x, bound = array(np.array([1.0, -2.0], "float32")), array(np.array([np.nan, -3.0], "float32"))
    nan = np.full(2, np.nan, "float32")
    assert_close(xp.clip(x, min=np.nan), nan, backend=backend)
    assert_close(xp.clip(x, max=np.nan), nan, backend=backend)
    assert_close(xp.clip(x, min=bound), np.array([np.nan, -2.0], "float32"), backend=backend)
    assert_close(xp.clip(x, max=bound), np.array([np.nan, -3.0], "float32"), backend=backend)


def test_an_imaginary_number_is_true(backend, xp, array):
    x = array(np.array([2j, 0j], "complex64"))
    assert_close(xp.any(x, axis=()), np.array([True, False]), backend=backend)
    assert_close(xp.all(x, axis=()), np.array([True, False]), backend=backend)
