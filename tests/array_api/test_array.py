"""The array object: operators, indices, writing, conversions and protocols, compared with NumPy."""

import contextlib
import copy
import operator
import pickle
import threading

import numpy as np
import pytest

import trellis
from trellis._array.items import set_item
from trellis.array_api import WrappedArray, unwrap, wrap
from trellis.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, TracingError

X = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
MASK = X[0] % 3 == 0
ROWS = np.array([1, 0, 1])
COLUMNS = np.array([[3, -1, 0]])


@pytest.fixture
def wrapped(array):
    """Numbers are of 32 bits unless their type is given: JAX has no others by default."""
    narrow = {"float64": "float32", "int64": "int32"}

    def make(values, dtype=None):
        x = np.asarray(values)
        return wrap(array(x, dtype or narrow.get(x.dtype.name, x.dtype)))

    return make


def same(found, expected):
    """Exactly: these operations only move values, or round in one way."""
    assert isinstance(found, WrappedArray)
    values = trellis.interchange.to_numpy(unwrap(found))
    assert found.shape == values.shape == np.shape(expected)
    assert np.array_equal(values, expected)


# Operators ----------------------------------------------------------------------------------------

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
BITWISE = ["and_", "or_", "xor", "lshift", "rshift"]


@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
def test_arithmetic(name, wrapped):
    # Powers of two, so that quotients are exact everywhere.
    x, y = np.array([1.0, 4.0, -8.0], "float32"), np.array([2.0, 4.0, 0.5], "float32")
    op = getattr(operator, name)
    y = np.array([2.0, 4.0, 1.0], "float32") if name == "pow" else y
    same(op(wrapped(x), wrapped(y)), op(x, y))
    same(op(wrapped(x), 2), op(x, 2))
    same(op(2, wrapped(y)), op(2, y))


@pytest.mark.parametrize("name", BITWISE)
def test_bits(name, wrapped):
    x, y = np.array([5, 12, 7], "int32"), np.array([1, 3, 2], "int32")
    op = getattr(operator, name)
    same(op(wrapped(x), wrapped(y)), op(x, y))
    same(op(wrapped(x), 2), op(x, 2))


def test_unary_and_matrix_products(wrapped):
    x = np.array([[1, -2], [3, 4]], "int32")
    for op in (operator.neg, operator.pos, operator.abs, operator.invert):
        same(op(wrapped(x)), op(x))
    same(wrapped(X) @ wrapped(X[0].T), X @ X[0].T)


def test_types_are_promoted_alike(wrapped):
    """Where TensorFlow's own operators raise, and JAX's give float32 of int and float16."""
    small, large = wrapped([1, 2], "int8"), wrapped([1, 2], "int32")
    half = wrapped([0.5, 0.5], "float16")
    assert trellis.dtype(small + large) == "int32"
    assert trellis.dtype(large * half) == trellis.result_type("int32", "float16")
    assert trellis.dtype(half + 1) == "float16"
    assert trellis.dtype(small + np.int64(3)) == "int8"  # a scalar of NumPy is a number


def test_operators_in_place_rebind(xp, wrapped):
    x = np.array([1.0, 2.0, 3.0], "float32")
    native = xp.asarray(x)
    y = alias = wrap(native)
    y += 1
    y *= wrapped(x)
    assert y is alias
    same(y, (x + 1) * x)
    assert np.array_equal(trellis.interchange.to_numpy(native), x)
    count = wrapped([1, 2], "int32")
    with pytest.raises(DtypeError, match="int32 cannot take values of float"):
        count /= 2
    with pytest.raises(ShapeError, match="In place"):
        y += wrapped(np.ones((2, 3), "float32"))


def test_native_arrays_on_the_left(xp):
    x = xp.asarray([1.0, 2.0])
    for other in (np.float32(2.0), 2.0):
        same(other * wrap(x), [2.0, 4.0])
    if xp.ABILITIES.asks_for_arrays:  # their operators ask for `__array__` first
        assert np.array_equal(np.asarray(x + wrap(x)), [2.0, 4.0])
    else:
        same(x + wrap(x), [2.0, 4.0])


def test_what_is_no_operand_raises(wrapped):
    for other in ("a", [1.0], None):
        with pytest.raises(TypeError):
            wrapped([1.0]) + other


# Elements -----------------------------------------------------------------------------------------

KEYS = {
    "integer": 1,
    "negative": (-1, 2),
    "slice": (slice(None), slice(1, None)),
    "backwards": (0, slice(None, None, -1), slice(3, 0, -2)),
    "empty backwards": (slice(0, 1, -1),),
    "ellipsis": (Ellipsis, 2),
    "new axes": (None, 0, Ellipsis, None),
    "mask": X > 7,
    "mask of some axes": (slice(None), MASK),
    "mask in front": np.array([True, False]),
    "mask at the end": (Ellipsis, np.array([True, False, True, True])),
    "true": True,
    "array": ROWS,
    "array of an axis": (0, slice(None), COLUMNS),
    "arrays": (ROWS, ROWS, COLUMNS),
    "arrays apart": (ROWS, slice(None), COLUMNS),
    "arrays together": (slice(None), ROWS, COLUMNS),
    "integer and array": (1, slice(1), ROWS),
    "array and new axis": (slice(None), None, ROWS),
    "no axes": (np.array(1), np.array(-1)),
    "small integers": np.array([1, 0], "uint8"),
    "nothing": np.zeros(0, "int32"),
}


def _as_wrapped(key, wrapped):
    if isinstance(key, tuple):
        return tuple(_as_wrapped(part, wrapped) for part in key)
    return wrapped(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("name", KEYS)
def test_getitem(name, wrapped):
    key = KEYS[name]
    same(wrapped(X)[_as_wrapped(key, wrapped)], X[key])


@pytest.mark.parametrize("name", [name for name in KEYS if name != "true"])
def test_setitem(name, wrapped):
    key, expected = KEYS[name], X.copy()
    x = wrapped(X)
    values = -1.0 - np.arange(X[key].size, dtype="float32").reshape(X[key].shape)
    is_repeated = name in ("array", "array of an axis", "arrays", "arrays apart", "arrays together")
    is_repeated = is_repeated or name in ("integer and array", "array and new axis")
    value = np.float32(-1.0) if is_repeated else values
    x[_as_wrapped(key, wrapped)] = wrapped(value)
    expected[key] = value
    same(x, expected)


def test_getitem_of_many_axes(wrapped):
    x = np.arange(48.0, dtype="float32").reshape(2, 1, 3, 1, 2, 1, 2, 1, 2, 1)
    key = (1, slice(None), slice(None, None, -1), 0, None, slice(1, 2), Ellipsis, 0)
    same(wrapped(x)[key], x[key])


def test_setitem_without_axes(wrapped):
    x = wrapped(np.float32(1.0))
    x[()] = 2.0
    same(x, 2.0)
    x[...] = wrapped(np.float32(3.0))
    same(x, 3.0)


def test_setitem_keeps_the_type(xp, wrapped):
    native = xp.asarray([1, 2, 3], dtype="int32")
    x = wrap(native)
    x[0] = wrapped([7], "int8")[0]
    same(x, [7, 2, 3])
    assert trellis.dtype(x) == "int32"
    assert np.array_equal(trellis.interchange.to_numpy(native), [1, 2, 3])
    with pytest.raises(DtypeError, match="int32 cannot take values of float32"):
        x[0] = wrapped([1.0], "float32")[0]


def test_wrong_indices(wrapped):
    x = wrapped(X)
    for key in (2, (0, 0, 0, 0), (..., ...), wrapped([5]), wrapped([[True]]), wrapped([0.5])):
        with pytest.raises(IndexError):
            x[key]


def test_elements_in_a_row(wrapped):
    x = wrapped(X)
    assert len(x) == 2
    for row, expected in zip(x, X, strict=True):
        same(row, expected)
    assert 3.0 in x
    assert 99.0 not in x
    for use in (len, iter):
        with pytest.raises(TypeError, match="without axes"):
            use(x[0, 0, 0])


# Attributes ---------------------------------------------------------------------------------------


def test_attributes(xp, wrapped):
    x = wrapped(X)
    assert (x.shape, x.ndim, x.size) == ((2, 3, 4), 3, 24)
    assert type(x.shape) is tuple
    assert x.dtype == unwrap(x).dtype
    assert x.device == xp.device(unwrap(x))
    same(x.mT, np.swapaxes(X, 1, 2))
    same(x[0].T, X[0].T)
    with pytest.raises(ShapeError, match=r"Write x\.mT"):
        _ = x.T
    same(x.to_device(x.device), X)
    with pytest.raises(AttributeError, match=r"unwrap\(x\)\.reshape"):
        x.reshape(-1)
    assert repr(x[0, 0, 0]).startswith("WrappedArray(")
    assert f"{x[0, 0, 1]:.2f}" == "1.00"
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_namespace(xp, wrapped):
    x = wrapped(X)
    lifted = x.__array_namespace__(api_version="2022.12")
    assert lifted is x.__array_namespace__()
    assert lifted.float32 == xp.float32
    assert lifted.__array_api_version__ == xp.__array_api_version__
    same(lifted.sum(x, axis=0), X.sum(0))
    same(lifted.linalg.matrix_transpose(x), np.swapaxes(X, 1, 2))
    assert isinstance(lifted.linalg.svd(x).S, WrappedArray)
    assert all(isinstance(y, WrappedArray) for y in lifted.unstack(x))
    same(lifted.asarray([[x[0, 0, 1], 2.0]]), [[1.0, 2.0]])
    assert set(dir(xp)) <= {*dir(lifted)}
    with pytest.raises(ArgumentError, match="2099"):
        x.__array_namespace__(api_version="2099.12")
    with pytest.raises(AttributeError):
        _ = lifted.no_such_function


def test_numbers(wrapped):
    x = wrapped([2.0, 0.0], "float32")
    assert (float(x[0]), int(x[0]), complex(x[0])) == (2.0, 2, 2)
    assert (bool(x[0]), bool(x[1])) == (True, False)
    assert [5, 6, 7][wrapped([1])[0]] == 6
    assert int(wrapped([2**32 - 1], "uint32")[0]) == 2**32 - 1
    with pytest.raises(TypeError, match="Only integer arrays"):
        operator.index(x[0])
    for convert in (float, int, complex, bool):
        with pytest.raises(TypeError, match="without axes"):
            convert(x)


def test_large_integers(wrapped, x64):
    with x64():
        assert int(wrapped(np.array([2**64 - 1], "uint64"))[0]) == 2**64 - 1


def test_memory(wrapped):
    x = wrapped(X)
    assert np.array_equal(np.asarray(x), X)
    assert np.asarray(x, dtype="float64").dtype == "float64"
    assert np.asarray(x).flags.writeable
    assert np.array_equal(np.from_dlpack(x), X)
    assert np.array_equal(np.from_dlpack(x, copy=True), X)
    device = x.__dlpack_device__()
    assert device[0] == 1
    for options in ({}, {"copy": True}, {"copy": False, "max_version": (1, 0)}):
        assert x.__dlpack__(dl_device=device, **options) is not None
    lifted = x.__array_namespace__()
    same(lifted.from_dlpack(wrap(X)), X)


def test_copies(wrapped):
    x = wrapped(X)
    for copied in (copy.copy(x), copy.deepcopy(x)):
        copied[0] = 0.0
        same(x, X)
    same(pickle.loads(pickle.dumps(wrap(X))), X)
    same(copy.deepcopy(x[0]), X[0])  # of a part


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("name", COPIES)
def test_copies_keep_the_gradient(name, array):
    """copy.deepcopy of a torch tensor has none: it would be 0 without a word."""
    x = array(np.array([1.0, 2.0, 3.0], "float32"))
    slope = trellis.grad(lambda x: trellis.sum(COPIES[name](wrap(x)) * x))(x)
    np.testing.assert_array_equal(trellis.to_numpy(slope), [2, 4, 6])


def test_a_pickle_would_lose_the_gradient(array):
    def fn(x):
        return trellis.sum(pickle.loads(pickle.dumps(wrap(x))))

    with pytest.raises(TracingError):
        trellis.grad(fn)(array(np.ones(3, "float32")))


def test_pickles(wrapped):
    same(pickle.loads(pickle.dumps(wrapped(X))), X)
    same(pickle.loads(pickle.dumps(wrapped(X)[:, 1])), X[:, 1])


@pytest.mark.parametrize(
    "dtypes", [("int8", "uint8"), ("int8", "int32"), ("uint8", "int8")], ids=str
)
def test_integers_out_of_range_are_not_written(dtypes, wrapped):
    """int8 would store 200 as -56."""
    own, other = dtypes
    x, value = wrapped([1, 2], own), wrapped([3], other)
    with pytest.raises(DtypeError, match=f"of {own} cannot take values of {other}"):
        x[:1] = value
    with pytest.raises(DtypeError, match=f"of {own} cannot take values of"):
        x += value
    same(x, np.array([1, 2], own))
    y = wrapped([1, 2], "int32")
    y[:1] = value  # int32 holds both
    y[1] = wrapped(True)
    same(y, np.array([3, 1], "int32"))


def test_floats_are_rounded(wrapped):
    x = wrapped([0.0], "float16")
    x[0] = wrapped(0.1, "float32")
    same(x, np.array([0.1], "float16"))


def test_what_can_be_wrapped(wrapped):
    x = wrapped(X)
    assert wrap(x) is x
    assert unwrap(3) == 3
    with pytest.raises(ArgumentTypeError, match="expects an array, got list"):
        wrap([1.0])


PARTS = {
    "slice": lambda xp, x: x[1:, ::-1],
    "row": lambda xp, x: x[1],
    "T": lambda xp, x: x.T,
    "permuted": lambda xp, x: xp.permute_dims(x, (-1, 0)),
    "reshaped": lambda xp, x: xp.reshape(x, (3, 2)),
    "part of a part": lambda xp, x: xp.reshape(x, (3, 2)).T[1:, ::2],
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_share_what_is_written(name, array):
    """As in NumPy: a write into a part is seen in the array, and the other way round."""
    take = PARTS[name]
    expected = np.arange(6.0, dtype="float32").reshape(2, 3)
    x = wrap(array(expected.copy()))
    part, wanted = take(x.__array_namespace__(), x), take(np, expected)
    assert np.shares_memory(wanted, expected)
    part += 10
    wanted += 10
    np.testing.assert_array_equal(np.asarray(x), expected)
    x[0, 1:] = 5
    expected[0, 1:] = 5
    np.testing.assert_array_equal(np.asarray(part), wanted)
    part[...] = 1
    wanted[...] = 1
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_single_elements_and_copies_do_not(array):
    x = wrap(array(np.array([1.0, 2.0, 3.0], "float32")))
    xp = x.__array_namespace__()
    first, picked, copied = x[0], x[xp.asarray([0, 1])], xp.reshape(x, (3, 1), copy=True)
    x[:] = 7
    assert float(first) == 1
    for found, expected in ((picked, [1, 2]), (copied, [[1], [2], [3]])):
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_gradients_of_writes_into_parts(array):
    def fn(x):
        y = wrap(x) * 1
        part = y[1:]
        part *= part
        return trellis.sum(y)

    x = array(np.array([1.0, 2.0, 3.0], "float32"))
    np.testing.assert_allclose(trellis.to_numpy(trellis.grad(fn)(x)), [1, 4, 6], rtol=1e-6)


def test_what_the_code_of_numpy_writes_is_seen(wrapped):
    """SciPy fills `output=` as NumPy's array, and returns that: immutable frameworks see it too."""
    x = wrapped(np.array([1.0, 2.0], "float32"))
    xp = x.__array_namespace__()
    memory = np.asarray(x)
    memory[0] = 5.0
    found = xp.asarray(memory)
    np.testing.assert_array_equal(np.asarray(found), [5.0, 2.0])
    np.testing.assert_array_equal(np.asarray(x), [5.0, 2.0])
    memory = np.asarray(x)
    x[1] = 7.0  # newer than what is in the memory
    xp.asarray(memory)
    np.testing.assert_array_equal(np.asarray(x), [5.0, 7.0])


def test_copies_that_are_asked_for_stay_copies(wrapped):
    x = wrapped(np.array([1.0, 2.0], "float32"))
    copied = np.array(x)
    copied[0] = 5.0
    x.__array_namespace__().asarray(copied)
    np.testing.assert_array_equal(np.asarray(x), [1.0, 2.0])


def test_a_view_of_another_type_raises(wrapped):
    x = wrapped(np.array([1.0, 2.0], "float32"))
    assert x.view(x.dtype) is x
    with pytest.raises(DtypeError, match="cannot be seen as float64"):
        x.view(float)


def test_the_diagonal_that_scipy_asks_for(wrapped):
    x = wrapped(X[0])
    same(x.__array_namespace__().diag(x), np.diag(X[0]))


def test_threads_write_their_parts(wrapped, monkeypatch):
    """scikit-learn computes rows of one matrix in threads."""
    x, both = wrapped(np.zeros(2, "float32")), threading.Barrier(2)

    def slow(*args):  # another thread is let in here, if nothing keeps it out
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        return set_item(*args)

    monkeypatch.setattr("trellis.array_api.array.set_item", slow)
    threads = [threading.Thread(target=x.__setitem__, args=(i, i + 1.0)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(x, np.array([1.0, 2.0], "float32"))
