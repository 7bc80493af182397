"""Corners that the public Array API suite and comparisons with mpmath found; the suite draws its
examples anew each time."""

import numpy as np
import pytest
from scipy import special

import trellis
from trellis import errors
from trellis import functional as F
from trellis._core import dtypes
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


def test_asinh_of_nan_and_a_large_number(backend, xp, array):
    for imag in (2.0, 1e30, -1e30):
        x = trellis.to_numpy(xp.asinh(array(np.array([complex(np.nan, imag)], "complex64"))))
        assert np.isnan(x.real).all() and np.isnan(x.imag).all()


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


# Of nothing
# ----------------------------------------------------------------------------------------


# NumPy says by itself that a mean of nothing is nan.
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_reductions_of_nothing(backend, array):
    for dtype in ("float32", "complex64"):
        found = trellis.to_numpy(trellis.mean(array(np.zeros((2, 0), dtype)), axis=1))
        assert found.dtype == dtype and found.shape == (2,) and np.isnan(found).all()
        if dtype == "complex64":
            assert np.isnan(found.real).all() and np.isnan(found.imag).all()
    empty = array(np.zeros((2, 0), "float32"))
    for function in (F.softmax, F.log_softmax):
        assert_close(function(empty), np.zeros((2, 0), "float32"), backend=backend)
    assert_close(trellis.logsumexp(empty, axis=1), np.full(2, -np.inf, "float32"), backend=backend)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0, 0)])
def test_linear_algebra_of_nothing(shape, backend, array):
    x = array(np.zeros(shape, "float32"))
    rank = trellis.linalg.matrix_rank(x)
    np.testing.assert_array_equal(trellis.to_numpy(rank), np.zeros(shape[:-2]))
    for order in ("fro", "nuc", 2, np.inf):
        norm = trellis.linalg.matrix_norm(x, ord=order)
        assert_close(norm, np.zeros(shape[:-2], "float32"), backend=backend)
    with pytest.raises(errors.ShapeError, match="there is none"):
        trellis.linalg.matrix_norm(x, ord=-2)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_the_largest_of_nothing(name, array):
    for dtype in ("float32", "int32"):
        for shape, axis in (((0,), None), ((2, 0), 1), ((2, 0), None)):
            with pytest.raises((ValueError, IndexError, RuntimeError)):
                getattr(trellis, name)(array(np.zeros(shape, dtype)), axis=axis)


def test_functions_along_no_axis_change_nothing(backend, array):
    x, y = np.array(3.0, "float32"), np.array([1.0, 2.0], "float32")
    for found in (
        trellis.pad(array(x), 2),
        trellis.fft.fftshift(array(x)),
        trellis.fft.ifftshift(array(x)),
        trellis.roll(array(x), (), axis=()),
        trellis.flip(array(x)),
    ):
        assert_close(found, x, backend=backend)
    for found in (
        trellis.roll(array(y), (), axis=()),
        trellis.flip(array(y), axis=()),
        trellis.fft.fftshift(array(y), axes=()),
        trellis.squeeze(array(y), ()),
    ):
        assert_close(found, y, backend=backend)


def test_searching_for_nothing(backend, array, x64):
    with x64():
        x, wanted = array(np.array([1.0, 2.0])), array(np.zeros((2, 0)))
        found = trellis.searchsorted(x, wanted)
        assert_close(found, np.zeros((2, 0), "int64"), backend=backend)
        empty = array(np.zeros((2, 0)))
        assert_close(F.softmax(empty, axis=(0, 1)), np.zeros((2, 0)), backend=backend)


@pytest.mark.parametrize("dtype", [*dtypes.SIGNED, *dtypes.UNSIGNED])
def test_indices_of_every_integer_type(dtype, backend, array, x64):
    with x64():
        x, i = array(np.array([[1.0, 2.0], [3.0, 4.0]])), array(np.array([1, 1], dtype))
        rows = np.array([[3.0, 4.0], [3.0, 4.0]])
        assert_close(trellis.take(x, i, axis=0), rows, backend=backend)
        assert_close(F.embedding(i, x), rows, backend=backend)
        found = trellis.segment_sum(x, i, num_segments=2)
        assert_close(found, np.array([[0.0, 0.0], [4.0, 6.0]]), backend=backend)
        found = trellis.take_along_axis(x, array(np.array([[1], [0]], dtype)), axis=1)
        assert_close(found, np.array([[2.0], [3.0]]), backend=backend)
        found = trellis.scatter(x, i, 1.0, reduce="add")
        assert_close(found, np.array([[1.0, 2.0], [5.0, 6.0]]), backend=backend)
        found = F.cross_entropy(x, i, reduction="sum")
        expected = 2 * np.log(1 + np.exp(-1.0))
        assert_close(found, np.array(expected), backend=backend)


@pytest.mark.parametrize("order", [np.inf, 0, 1, 2, 0.5, 3])
def test_the_norm_of_no_elements_is_zero(order, backend, array):
    x = array(np.zeros((2, 0), "float32"))
    norm = trellis.linalg.vector_norm(x, axis=1, ord=order)
    assert_close(norm, np.zeros(2, "float32"), backend=backend)


@pytest.mark.parametrize("order", [-np.inf, -1, -2])
def test_the_smallest_of_no_elements(order, array):
    with pytest.raises(errors.ShapeError, match="there is none"):
        trellis.linalg.vector_norm(array(np.zeros(0, "float32")), ord=order)


# Ranks and axes
# ------------------------------------------------------------------------------------


def test_matrix_rank_is_relative(array, x64):
    with x64():
        x = np.diag([100.0, 5.0, 1.0])
        assert int(trellis.linalg.matrix_rank(array(x), rtol=0.02)) == 2
        limits = array(np.array([0.02, 0.1]))
        ranks = trellis.linalg.matrix_rank(array(np.stack([x, x])), rtol=limits)
        assert trellis.to_numpy(ranks).tolist() == [2, 1]


ON_AXIS = (
    "sum prod max min mean std var all any argmax argmin logsumexp cumulative_sum flip sort argsort"
).split()


@pytest.mark.parametrize("name", ON_AXIS)
def test_an_array_without_axes_has_no_axis_0(name, array):
    x = array(np.array(True) if name in ("all", "any") else np.array(3.0, "float32"))
    for axis in (0, -1):
        with pytest.raises((ValueError, IndexError)):
            getattr(trellis, name)(x, axis=axis)


@pytest.mark.parametrize("axis", [1.5, 1.0])
def test_an_axis_is_an_integer(axis, array):
    x = array(np.ones((2, 3), "float32"))
    for call in (
        lambda: trellis.sum(x, axis=axis),
        lambda: trellis.max(x, axis=axis),
        lambda: trellis.concat([x, x], axis=axis),
        lambda: trellis.stack([x, x], axis=axis),
        lambda: trellis.unstack(x, axis=axis),
        lambda: trellis.expand_dims(x, axis=axis),
        lambda: trellis.argmax(x, axis=axis),
        lambda: trellis.sort(x, axis=axis),
        lambda: trellis.flip(x, axis=axis),
        lambda: trellis.cumulative_sum(x, axis=axis),
        lambda: F.softmax(x, axis=axis),
    ):
        with pytest.raises(TypeError):
            call()


def test_permute_dims_needs_the_order(array):
    x = array(np.ones((2, 3), "float32"))
    for axes, error in ((None, TypeError), ((0,), ValueError), ((0, 0), ValueError)):
        with pytest.raises(error):
            trellis.permute_dims(x, axes)


def test_a_pair_for_each_axis(backend, array):
    x = array(np.ones((2, 2), "float32"))
    for pairs in ((1, 2), [(1, 2)], [(1, 2), (2, 1)]):  # one pair serves all axes
        assert tuple(trellis.pad(x, pairs).shape) == (5, 5)
    with pytest.raises(errors.ShapeError, match="3 pairs"):
        trellis.pad(x, [(1, 2)] * 3)


def test_differences_of_order_zero(backend, array):
    x, before = array(np.array([1.0, 2.0], "float32")), array(np.array([9.0], "float32"))
    found = trellis.diff(x, n=0, prepend=before)
    assert_close(found, np.array([9.0, 1.0, 2.0], "float32"), backend=backend)
    with pytest.raises(errors.ArgumentError, match="n >= 0"):
        trellis.diff(x, n=-1)


@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_a_transform_needs_a_point(name, backend, array):
    x, transform = array(np.array([3.0 + 0j], "complex64")), getattr(trellis.fft, name)
    with pytest.raises(errors.ArgumentError, match="at least one point"):
        transform(x)
    assert_close(transform(x, n=1), np.array([3.0], "float32"), backend=backend)


def test_an_ellipsis_that_the_output_does_not_name_is_summed(backend, array):
    a, b = np.arange(8.0).reshape(2, 2, 2), np.arange(6.0).reshape(2, 3)
    found = trellis.einsum("...ik,...j->ij", array(a.astype("float32")), array(b.astype("float32")))
    assert_close(found, np.einsum("bik,bj->ij", a, b).astype("float32"), backend=backend)


@pytest.mark.parametrize("dtype", [*dtypes.SIGNED, *dtypes.UNSIGNED])
def test_einsum_keeps_the_type_of_integers(dtype, backend, array, x64):
    with x64():
        x, y = array(np.array([[1, 2], [3, 4]], dtype)), array(np.array([1, 2], dtype))
        for text, arrays, expected in (
            ("ij->", (x,), 10),
            ("ij->j", (x,), [4, 6]),
            ("ij,k->", (x, y), 30),
            ("ij,j->i", (x, y), [5, 11]),
        ):
            found = trellis.einsum(text, *arrays)
            assert_close(found, np.array(expected, dtype), backend=backend)


def test_meshgrid_of_any_arrays(backend, array):
    x, y = trellis.meshgrid(array(np.array(1, "int32")), array(np.array([2.0, 3.0], "float32")))
    assert_close(x, np.array([[1], [1]], "int32"), backend=backend)
    assert_close(y, np.array([[2.0], [3.0]], "float32"), backend=backend)


# Integers
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*dtypes.SIGNED, *dtypes.UNSIGNED])
def test_integers_divided_by_zero(dtype, backend, array, x64):
    with x64(), np.errstate(divide="ignore"):
        x, y = array(np.array([7, 0, 7], dtype)), array(np.array([0, 0, 2], dtype))
        assert_close(trellis.floor_divide(x, y), np.array([0, 0, 3], dtype), backend=backend)
        assert_close(trellis.truncate_divide(x, y), np.array([0, 0, 3], dtype), backend=backend)
        assert_close(trellis.remainder(x, y), np.array([0, 0, 1], dtype), backend=backend)
        assert_close(trellis.fmod(x, y), np.array([0, 0, 1], dtype), backend=backend)


@pytest.mark.parametrize("dtype", dtypes.SIGNED)
def test_integers_to_negative_powers(dtype, backend, array, x64):
    """The whole part of 1 / x**n, which a compiled function can give too."""
    with x64():
        x, n = (
            array(np.array([2, 1, -1, -1, 3], dtype)),
            array(np.array([-1, -2, -3, -2, 2], dtype)),
        )
        assert_close(trellis.pow(x, n), np.array([0, 1, -1, 1, 9], dtype), backend=backend)
        assert_close(trellis.pow(2, n), np.array([0, 0, 0, 0, 4], dtype), backend=backend)


@pytest.mark.parametrize("dtype", [*dtypes.SIGNED, *dtypes.UNSIGNED])
def test_functions_of_every_integer(dtype, backend, array, x64):
    with x64():
        x, counts = array(np.array([0, 1, 2], dtype)), array(np.array([1, 0, 2]))
        assert_close(F.relu(x), np.array([0, 1, 2], dtype), backend=backend)
        assert_close(trellis.repeat(x, counts), np.array([0, 2, 2], dtype), backend=backend)
        assert_close(trellis.repeat(x, 2), np.array([0, 0, 1, 1, 2, 2], dtype), backend=backend)
        assert_close(trellis.flip(x), np.array([2, 1, 0], dtype), backend=backend)


@pytest.mark.parametrize("how", ["set", "add", "subtract", "multiply", "power", "min", "max"])
def test_numbers_that_do_not_fit_are_not_written(how, array, x64):
    with x64():
        for dtype, value in (
            ("uint8", -1), ("uint8", 300), ("uint64", -1), ("int8", 128), ("int32", 1.5),
            ("int64", float("nan")),
            ("float32", 1j),
        ):  # fmt: skip
            place = trellis.at(array(np.array([1, 2], dtype)), 0)
            with pytest.raises(errors.ArgumentError, match="does not fit into"):
                getattr(place, how)(value)


def test_numbers_beside_integers_must_fit(array, x64):
    """The result has the type of the array, so that a number outside of it cannot take part."""
    with x64():
        for dtype, value in (("uint8", -1), ("uint8", 256), ("int8", 200), ("uint64", -1)):
            x = array(np.array([1, 2], dtype))
            for call in (
                lambda: trellis.add(x, value),
                lambda: trellis.subtract(value, x),
                lambda: trellis.greater(x, value),
                lambda: trellis.equal(value, x),
                lambda: trellis.maximum(x, value),
                lambda: trellis.bitwise_and(x, value),
                lambda: trellis.hypot(x, value),
                lambda: trellis.isclose(x, value),
                lambda: trellis.where(array(np.array([True, False])), x, value),
                lambda: trellis.clip(x, value),
                lambda: trellis.clip(x, 0, value),
                lambda: trellis.full_like(x, value),
                lambda: trellis.full((2,), value, dtype=dtype),
            ):
                with pytest.raises(errors.ArgumentError, match="does not fit into"):
                    call()
        with pytest.raises(errors.ArgumentError, match="does not fit into"):
            trellis.clip(array(np.array([1, 2], "int32")), 0.5)


def test_bounds_of_another_integer_type(backend, array):
    x, low = array(np.array([1, 200], "uint8")), array(np.array([-1, -1], "int8"))
    assert_close(trellis.clip(x, low), np.array([1, 200], "uint8"), backend=backend)
    assert_close(trellis.clip(low, x), np.array([1, -56], "int8"), backend=backend)


def test_an_imaginary_part_is_not_written_away(array):
    place = trellis.at(array(np.ones(2, "float32")), 0)
    with pytest.raises(errors.DtypeError, match="imaginary part"):
        place.set(array(np.array(2j, "complex64")))


def test_integers_have_no_quotients(array):
    """As in NumPy, where x[i] /= 2 raises: the type of x stays."""
    place = trellis.at(array(np.array([1, 2], "int32")), 0)
    with pytest.raises(errors.DtypeError, match=r"divide\(\) expects x of a floating-point type"):
        place.divide(2)


def test_other_elements_stay_to_the_last_bit(backend, array):
    """Of complex numbers, x**1 and x / 1 are not x on every framework."""
    x = np.array([complex(np.inf, 1), 0.1 + 0.7j, 3 - 4j, 2j], "complex64")
    expected = np.array([complex(np.inf, 1), 0.1 + 0.7j, 1.5 - 2j, 2j], "complex64")
    assert_close(trellis.at(array(x), 2).divide(2.0), expected, backend=backend, rtol=0, atol=0)
    found = trellis.to_numpy(trellis.at(array(x), 2).power(2.0))
    np.testing.assert_allclose(found[2], -7 - 24j, rtol=1e-6)  # some steps of float32
    np.testing.assert_array_equal(found[[0, 1, 3]], x[[0, 1, 3]])


def test_one_of_repeated_indices_divides(backend, array):
    """Once, as in NumPy; `multiply` takes all of them."""
    x, places = array(np.array([8.0, 8.0], "float32")), array(np.array([0, 0], "int32"))
    assert_close(trellis.at(x, places).divide(2.0), np.array([4, 8], "float32"), backend=backend)
    assert_close(trellis.at(x, places).power(2.0), np.array([64, 8], "float32"), backend=backend)


def test_several_shifts_need_as_many_axes(array):
    x = array(np.zeros((2, 3), "float32"))
    for shift, axis in (([1, 2], 0), ([1, 2], None), ([1, 2, 3], (0, 1)), ([[1, 2]], (0, 1))):
        with pytest.raises(errors.ShapeError, match="one for each of several axes"):
            trellis.roll(x, array(np.array(shift, "int32")), axis=axis)
    x = array(np.arange(6, dtype="int32").reshape(2, 3))
    found = trellis.roll(x, array(np.array(1, "int32")), axis=(0, 1))
    np.testing.assert_array_equal(trellis.to_numpy(found), [[5, 3, 4], [2, 0, 1]])


def test_whole_numbers_fit(backend, array):
    x = array(np.array([1, 2], "int32"))
    assert_close(trellis.at(x, 0).set(5.0), np.array([5, 2], "int32"), backend=backend)
    assert_close(
        trellis.pad(x, 1, constant_values=3.0), np.array([3, 1, 2, 3]), backend=backend, dtype=False
    )
    with pytest.raises(errors.ArgumentError, match="does not fit"):
        trellis.pad(x, 1, constant_values=1.5)


def test_padding_with_complex_numbers(backend, array):
    x = array(np.array([2j], "complex64"))
    found = trellis.pad(x, 1, constant_values=1 + 1j)
    assert_close(found, np.array([1 + 1j, 2j, 1 + 1j], "complex64"), backend=backend)


SLICES = [
    (slice(None, None, -1),),
    (slice(None, None, -2), 1),
    (slice(2, None, -1), slice(0, 2)),
    (..., slice(None, 0, -1)),
    (None, slice(1, 1, -1)),
    (slice(None, None, -1), slice(None, None, -1)),
]


@pytest.mark.parametrize("index", SLICES, ids=str)
def test_backward_slices(index, backend, array):
    x = np.arange(12.0, dtype="float32").reshape(4, 3)
    values = np.arange(100.0, 100.0 + x[index].size, dtype="float32").reshape(x[index].shape)
    expected = x.copy()
    expected[index] = values
    place = trellis.at(array(x), index)
    assert_close(place.set(array(values)), expected, backend=backend)
    expected = x.copy()
    expected[index] += 1
    assert_close(place.add(1.0), expected, backend=backend)


# Truth and logarithms
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic_with_numbers(name, backend, array):
    function, plain = getattr(trellis, name), getattr(np, name)
    for x in (
        np.array([1.0, 0.0], "float32"),
        np.array([True, False]),
        np.array([2j, 0], "complex64"),
    ):
        for number in (True, False, 0, 2.5):
            assert_close(function(array(x), number), plain(x, number), backend=backend)
            assert_close(function(number, array(x)), plain(number, x), backend=backend)
    for other in (None, "yes", [1]):
        with pytest.raises(errors.TrellisError):
            function(array(np.ones(1, "float32")), other)


def test_logsumexp_of_complex_numbers(backend, array, x64):
    x = np.array([[1 + 1j, 2 - 1j], [300 + 0j, 301 + 2j]])
    with x64():
        found = trellis.to_numpy(trellis.logsumexp(array(x), axis=1))
    shift = x.real.max(axis=1)
    np.testing.assert_allclose(found, np.log(np.sum(np.exp(x - shift[:, None]), axis=1)) + shift)


def test_floor_divide_of_bfloat16(backend, array):
    native = trellis.namespace("numpy").as_dtype("bfloat16")
    x, y = np.array([-8.9375, 7.0]).astype(native), np.array([0.49609375, 0.5]).astype(native)
    found = trellis.floor_divide(array(x), array(y))
    assert_close(
        trellis.astype(found, "float32"), np.array([-19.0, 14.0], "float32"), backend=backend
    )
    # 18.5 / 2.0625 is 8.97, which is 9 in bfloat16.
    x, y = np.array([18.5, -18.5]).astype(native), np.array([2.0625] * 2).astype(native)
    found = trellis.truncate_divide(array(x), array(y))
    expected = np.array([8.0, -8.0], "float32")
    assert_close(trellis.astype(found, "float32"), expected, backend=backend)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.5])
def test_causal_attention_of_any_scale(scale, array):
    q, k, v = np.random.default_rng(0).normal(size=(3, 2, 4, 3))
    logits = np.where(np.tril(np.ones((4, 4), bool)), scale * (q @ np.swapaxes(k, -1, -2)), -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True)) @ v
    found = F.scaled_dot_product_attention(
        *[array(a.astype("float32")) for a in (q, k, v)], is_causal=True, scale=scale
    )
    np.testing.assert_allclose(trellis.to_numpy(found), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("size", [3, 17, 64])  # kernels differ by size
def test_softmax_of_a_row_with_nan_is_nan(name, size, backend, array):
    x = np.random.default_rng(0).normal(size=(4, size)).astype("float32")
    x[1, 1] = x[2, 0] = x[3, -1] = np.nan
    for axis, given in ((-1, x), (0, x.T.copy())):
        found = trellis.to_numpy(getattr(F, name)(array(given), axis=axis))
        found = found if axis == -1 else found.T
        assert np.isfinite(found[0]).all() and np.isnan(found[1:]).all()


def test_attention_weights_of_a_query_with_nan_are_nan(backend, array):
    x = np.ones((1, 3, 4), "float32")
    x[0, 1, 2] = np.nan
    layer = trellis.nn.MultiHeadAttention(4, 2, backend=backend)
    key = np.ones((1, 3, 4), "float32")
    out, weights = layer(*[array(y) for y in (x, key, key)], return_attention_weights=True)
    for y in (trellis.to_numpy(out), trellis.to_numpy(weights)):
        assert np.isfinite(y[0, [0, 2]]).all() and np.isnan(y[0, 1]).all()


# Singular values that are dropped
# -----------------------------------------------------


def test_tolerances_of_pinv_and_matrix_rank(array):
    """Relative to the largest one; without one the same everywhere: 5 times float32's epsilon."""
    x = np.diag(np.array([4.0, 2.0, 1.0, 0.5, 8e-6], "float32"))
    inverse = np.diag(np.array([0.25, 0.5, 1.0, 2.0, 1.25e5], "float32"))
    # Diagonal: the kernels round each number by some units in its last place.
    np.testing.assert_allclose(trellis.to_numpy(trellis.linalg.pinv(array(x))), inverse, rtol=1e-5)
    x[-1, -1] = 1e-6
    inverse[-1, -1] = 0
    np.testing.assert_allclose(trellis.to_numpy(trellis.linalg.pinv(array(x))), inverse, rtol=1e-5)
    assert int(trellis.linalg.matrix_rank(array(x))) == 4
    assert [int(trellis.linalg.matrix_rank(array(x), rtol=t)) for t in (0.2, 0.4, 0.6)] == [3, 2, 1]


# Types of linear algebra, transforms and layers
# -----------------------------------------------------

LINEAR_ALGEBRA = (
    "cholesky det eigh eigvalsh inv pinv qr slogdet solve svd svdvals matrix_norm vector_norm"
).split()


@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
def test_linear_algebra_in_every_type(name, backend, array, x64):
    """Integers are computed in the default float, 16 bits in float32, and the type comes back."""
    x, function = np.array([[2.0, 1.0], [1.0, 3.0]]), getattr(trellis.linalg, name)
    with x64():

        def run(x):
            return trellis.tree.leaves(function(x, x) if name == "solve" else function(x))

        exact = [np.abs(trellis.to_numpy(y)) for y in run(array(x))]
        for kind in ("int8", "int64", "uint16", *dtypes.FLOATING):
            found = run(trellis.astype(array(x), kind))
            wanted = kind if kind in dtypes.FLOATING else "float32"
            for y, z in zip(found, exact, strict=True):
                assert trellis.dtype(y) == wanted
                y = np.abs(trellis.to_numpy(trellis.astype(y, "float64")))
                np.testing.assert_allclose(y, z, rtol=2.0**-7, atol=2.0**-8)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_extremes_of_large_arrays_with_nan(name, kind, array):
    """Kernels for many elements are others than those for few."""
    x = np.ones((80, 80), "float32")
    x[7, 5] = np.nan
    given = trellis.astype(array(x), kind)
    for axis, expected in ((None, np.isnan(x).any()), (0, np.isnan(x).any(0))):
        found = getattr(trellis, name)(given, axis=axis)
        assert trellis.dtype(found) == kind
        found = trellis.to_numpy(trellis.astype(found, "float32"))
        np.testing.assert_array_equal(np.isnan(found), expected)
        np.testing.assert_array_equal(found[~np.isnan(found)], 1.0)


@pytest.mark.parametrize("kind", ["int8", "int64", *dtypes.FLOATING, *dtypes.COMPLEX])
def test_eigenvalues_are_complex_in_every_type(kind, array, x64):
    """2 by 2 with the eigenvalues 1 and 3: complex64, or complex128 for 64 bits."""
    with x64():
        x = trellis.astype(array(np.array([[2.0, 1.0], [1.0, 2.0]])), kind)
        wanted = "complex128" if kind in ("float64", "complex128") else "complex64"
        for values in (trellis.linalg.eigvals(x), trellis.linalg.eig(x).eigenvalues):
            assert trellis.dtype(values) == wanted
            # 16 bits are computed in float32.
            np.testing.assert_allclose(np.sort(trellis.to_numpy(values)), [1, 3], rtol=1e-6)
        # The first of two equal components is the positive one.
        values, vectors = [trellis.to_numpy(y) for y in trellis.linalg.eig(x)]
        root = 0.5**0.5
        expected = [[root, root], [-root, root]]
        found = vectors[:, np.argsort(values.real)]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_eigenvalues_of_no_rows_of_nan_and_of_stacks(array):
    for x, wanted in (
        (np.zeros((2, 0, 0)), np.zeros((2, 0))),
        (np.array([[[2.0, 0.0], [0.0, 5.0]], [[np.nan, 1.0], [0.0, 2.0]]]),
         [[2.0, 5.0], [np.nan, np.nan]]),
    ):  # fmt: skip
        values, vectors = trellis.linalg.eig(array(x.astype("float32")))
        assert tuple(vectors.shape) == x.shape
        for found in (values, trellis.linalg.eigvals(array(x.astype("float32")))):
            found = np.sort(trellis.to_numpy(found).real, axis=-1)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "fftn"])
def test_transforms_in_every_type(name, array, x64):
    with x64():
        for kind in ("int32", "float16", "bfloat16", "float32", "float64"):
            x = trellis.astype(array(np.array([1.0, 2.0, 4.0])), kind)
            found = str(trellis.dtype(getattr(trellis.fft, name)(x)))
            wide = kind == "float64"
            wanted = (
                ("float64" if wide else "float32")
                if name == "irfft"
                else "complex128"
                if wide
                else "complex64"
            )
            assert found == wanted


@pytest.mark.parametrize(
    "name", ["Linear", "LSTM", "GRU", "RNN", "LayerNorm", "MultiHeadAttention"]
)
def test_layers_follow_the_table(name, backend, array, x64):
    """float32 weights: integers and float16 give float32, a float64 batch gives float64."""
    with x64(), trellis.using_backend(backend):
        sizes = (4,) if name in ("LayerNorm", "MultiHeadAttention") else (4, 4)
        options = {"num_heads": 2} if name == "MultiHeadAttention" else {}
        layer = getattr(trellis.nn, name)(*sizes, **options)
        for kind, wanted in (
            ("int64", "float32"),
            ("float16", "float32"),
            ("float32", "float32"),
            ("float64", "float64"),
        ):
            y = layer(array(np.ones((2, 3, 4)).astype(kind)))
            found = {str(trellis.dtype(leaf)) for leaf in trellis.tree.leaves(y)}
            if name == "LayerNorm" and kind == "float16":
                wanted = "float16"  # a norm keeps the type of its input; the weights serve it
            assert found == {wanted}, kind


def test_losses_refuse_complex_numbers(array):
    x, classes = array(np.array([[1 + 1j, 2.0]], "complex64")), array(np.array([0], "int32"))
    for call in (
        lambda: F.cross_entropy(x, classes),
        lambda: F.nll_loss(x, classes),
        lambda: F.mse_loss(x, x),
    ):
        with pytest.raises(errors.DtypeError):
            call()


@pytest.mark.parametrize("name", ["adam_update", "lamb_update", "lars_update"])
def test_updates_refuse_to_drop_imaginary_parts(name, array):
    w, g = array(np.ones(2, "float32")), array(np.array([1j, 2.0], "complex64"))
    moments = () if name == "lars_update" else (array(np.zeros(2, "float32")),) * 2 + (1,)
    with pytest.raises(errors.DtypeError, match="imaginary part"):
        getattr(trellis, name)(w, g, 0.1, *moments)


# Integers of more than 64 bits -------------------------------------------------------------------

LARGE = 10**30


BESIDE_LARGE = {
    "add": (lambda x: trellis.add(x, LARGE), ("float32", "complex64")),
    "add, first": (lambda x: trellis.add(LARGE, x), ("float32", "complex64")),
    "divide": (lambda x: trellis.divide(LARGE, x), ("float32", "complex64")),
    "full_like": (lambda x: trellis.full_like(x, LARGE), ("float32", "complex64")),
    "maximum": (lambda x: trellis.maximum(x, LARGE), ("float32",)),
    "clip": (lambda x: trellis.clip(x, LARGE, None), ("float32",)),
    "where": (lambda x: trellis.where(x < 0, x, LARGE), ("float32",)),
}


@pytest.mark.parametrize("name", BESIDE_LARGE)
def test_large_integers_beside_floats_are_floats(array, name):
    fn, kinds = BESIDE_LARGE[name]
    for dtype in kinds:
        found = fn(array([1.0], dtype))
        assert trellis.dtype(found) == dtype
        # Division of complex numbers may round twice.
        np.testing.assert_allclose(trellis.to_numpy(found), np.asarray([1e30], dtype), rtol=2e-7)


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_large_integers_beside_integers_are_refused(array, dtype):
    with pytest.raises(trellis.errors.ArgumentError, match="does not fit into int"):
        trellis.add(array([1], dtype), LARGE)


def test_integers_beyond_all_floats_are_refused(array):
    with pytest.raises(trellis.errors.ArgumentError):
        trellis.add(array([1.0], "float32"), 10**400)


# Matrices without an inverse ---------------------------------------------------------------------

RANK_ONE = [[1.0, 2.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    "fn",
    [
        trellis.linalg.inv,
        lambda x: trellis.linalg.solve(x, x[..., 0]),
        lambda x: trellis.linalg.matrix_power(x, -2),
    ],
)
@pytest.mark.parametrize("values", [RANK_ONE, [RANK_ONE, [[1.0, 0.0], [0.0, 1.0]]]])
def test_singular_matrices_are_refused(array, fn, values):
    with pytest.raises(trellis.errors.ArgumentError, match="needs matrices that can be inverted"):
        fn(array(values, "float32"))


def test_an_inverse_too_large_for_its_type_is_infinite(array):
    """The matrix is regular: no pivot is zero."""
    with np.errstate(over="ignore"):  # NumPy warns of it
        found = trellis.linalg.inv(array([[1e-25, 1.0], [0.0, 1e-25]], "float32"))
    assert not np.isfinite(trellis.to_numpy(found)[0, 1])


def test_cholesky_of_a_matrix_that_is_not_positive_definite(array):
    with pytest.raises(trellis.errors.ArgumentError, match="needs positive definite matrices"):
        trellis.linalg.cholesky(array([[1.0, 2.0], [2.0, 1.0]], "float32"))


def test_cholesky_of_nan_is_nan_whole(array):
    good = [[4.0, 0.0], [0.0, 9.0]]
    found = trellis.linalg.cholesky(array([[[1.0, np.nan], [np.nan, 4.0]], good], "float32"))
    np.testing.assert_array_equal(
        trellis.to_numpy(found), [np.full((2, 2), np.nan), [[2.0, 0.0], [0.0, 3.0]]]
    )


# Statistics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n, correction", [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)])
@pytest.mark.filterwarnings("ignore:.*(Degrees|degrees) of freedom")  # NumPy and PyTorch tell
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")  # the same, from NumPy
def test_variance_of_too_few_elements_is_nan(array, compiled, n, correction):
    """What the standard says for N - correction <= 0."""
    x = array(np.arange(n).astype("float32"))
    for fn in (trellis.var, trellis.std):
        assert np.isnan(float(fn(x, correction=correction)))
    assert np.isnan(float(compiled(lambda x: trellis.var(x, correction=correction))(x)))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float32", "bool"])
def test_logical_not_of_every_type(array, dtype):
    found = trellis.logical_not(array(np.array([0, 1, 2]).astype(dtype)))
    assert trellis.to_numpy(found).tolist() == [True, False, False]


@pytest.mark.parametrize("method", ["min", "max"])
def test_nan_wins_among_numbers_at_one_place(method, backend, array, compiled):
    x = array(np.array([0.5, np.nan, 2.0, 3.0], "float32"))
    places = array(np.array([0, 0, 1, 2, 2, 2], "int32"))
    values = array(np.array([np.nan, 1.0, 0.0, 1.0, np.nan, 4.0], "float32"))

    def written(x, values):
        return getattr(trellis.at(x, places), method)(values)

    expected = np.array([np.nan, np.nan, np.nan, 3.0], "float32")
    for fn in (written, compiled(written)):
        with np.errstate(invalid="ignore"):  # NumPy warns of nan
            found = fn(x, values)
        assert_close(found, expected, backend=backend, rtol=0, atol=0)


def test_erfinv_next_to_one(backend, array):
    x = np.array([0.99999994, -0.99999994, 0.9999, 0.5, 1e-30], "float32")
    expected = special.erfinv(x.astype("float64"))
    # float32: what scipy, torch and JAX reach too.
    assert_close(trellis.erfinv(array(x)), expected.astype("float32"), backend=backend, rtol=2e-6)


def test_places_beyond_the_end_are_not_wrapped(backend, array):
    x = array(np.arange(12.0, dtype="float32").reshape(4, 3))
    for place in (3, 99, -4) if backend != "jax" else ():  # JAX does not look at their values
        with pytest.raises(errors.ShapeError):
            trellis.take_along_axis(x, array(np.full((4, 1), place, "int32")), axis=1)
    rows = trellis.take_along_axis(x, array(np.array([[2, -3]], "int32")), axis=1)
    expected = [[2, 0], [5, 3], [8, 6], [11, 9]]
    assert_close(rows, np.array(expected, "float32"), backend=backend, rtol=0, atol=0)


def test_segments_that_do_not_exist_are_left_out(backend, array, compiled):
    x = array(np.array([1.0, 2.0, 4.0, 8.0], "float32"))
    ids = array(np.array([0, 3, -1, 2], "int32"))

    def sums(x, ids):
        return trellis.segment_sum(x, ids, num_segments=3)

    expected = np.array([1.0, 0.0, 8.0], "float32")
    for fn in (sums, compiled(sums)):
        assert_close(fn(x, ids), expected, backend=backend, rtol=0, atol=0)
