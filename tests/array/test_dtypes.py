"""Canonical names, the default float, promotion, and what each framework would narrow in
silence."""

import itertools

import numpy as np
import pytest

import trellis
from trellis import errors
from trellis._core import dtypes
from trellis.testing import assert_close

NAMES = ("bool", *dtypes.INTEGER, "float16", "float32", "float64", *dtypes.COMPLEX)


@pytest.mark.parametrize("name", NAMES)
def test_names_equal_native_types(name, backend, xp, x64):
    canonical = getattr(trellis, name)
    assert canonical == name and canonical == getattr(xp, name)
    assert hash(canonical) == hash(name)
    with x64():
        assert xp.as_dtype(canonical) == xp.as_dtype(name) == xp.as_dtype(xp.as_dtype(name))
        assert xp.dtype_name(xp.as_dtype(name)) == name
        x = trellis.zeros(2, dtype=canonical, backend=backend)
    assert trellis.dtype(x) == name and canonical == x.dtype
    assert repr(trellis.dtype(x)) == f"trellis.{name}"


def test_different_names_differ(xp):
    assert trellis.float32 != xp.float64 and trellis.float32 != "float64"
    assert trellis.int32 != np.dtype("uint32")


def test_unknown_types_are_refused(backend):
    for dtype in ("float33", "str", object()):
        with pytest.raises(errors.TrellisError) as caught:
            trellis.zeros(2, dtype=dtype, backend=backend)
        assert isinstance(caught.value, (TypeError, ValueError))


def test_bfloat16(backend):
    x = trellis.asarray([1.0, 2.5], dtype="bfloat16", backend=backend)
    assert trellis.dtype(x) == "bfloat16"
    assert_close(trellis.astype(x, "float32"), [1.0, 2.5], backend=backend)
    total = trellis.sum(x)
    assert trellis.dtype(total) == "bfloat16"
    assert trellis.backend_of(total) == backend


# The default float
# ---------------------------------------------------------------------------------


def test_default_float(backend, x64):
    for dtype, cplx in (("float32", "complex64"), ("float64", "complex128")):
        with x64(), trellis.using_default_dtype(dtype), trellis.using_backend(backend):
            for x in (
                trellis.zeros(2),
                trellis.ones(2),
                trellis.full(2, 0.5),
                trellis.eye(2),
                trellis.linspace(0, 1, 3),
                trellis.arange(0.0, 1.0, 0.5),
                trellis.asarray([1.0, 2.0]),
                trellis.mean(trellis.arange(3)),
                trellis.one_hot(trellis.arange(2), 2),
                trellis.fft.fftfreq(4),
            ):
                assert trellis.dtype(x) == dtype and trellis.backend_of(x) == backend
            assert trellis.dtype(trellis.asarray([1j])) == cplx
    assert trellis.default_dtype() == "float32"


def test_default_int(backend):
    wanted = "int32" if backend == "jax" else "int64"
    with trellis.using_backend(backend):
        for x in (
            trellis.arange(3),
            trellis.asarray([1, 2]),
            trellis.full(2, 7),
            trellis.argmax(trellis.ones(3)),
            trellis.sum(trellis.ones(3, dtype="int8")),
        ):
            assert trellis.dtype(x) == wanted


@pytest.mark.parametrize("dtype", ["int32", "complex64", "float33", None])
def test_default_must_be_a_float(dtype):
    with pytest.raises(TypeError, match="default dtype"):
        trellis.set_default_dtype(dtype)


def test_set_default_dtype(x64):
    try:
        trellis.set_default_dtype(np.float64)
        assert trellis.default_dtype() == "float64" and trellis.zeros(1).dtype == np.float64
    finally:
        trellis.set_default_dtype("float32")
    assert trellis.zeros(1).dtype == np.float32


# Nothing is narrowed in silence
# --------------------------------------------------------------------


def test_jax_refuses_64_bits_when_they_are_off():
    for call in (
        lambda: trellis.zeros(2, dtype="float64", backend="jax"),
        lambda: trellis.asarray([1, 2], dtype=trellis.int64, backend="jax"),
        lambda: trellis.astype(trellis.ones(2, backend="jax"), "float64"),
        lambda: trellis.asarray(np.zeros(2), backend="jax"),
    ):
        with pytest.raises(errors.PrecisionError, match="jax_enable_x64"):
            call()
    assert trellis.dtype(trellis.asarray(np.zeros(2), dtype="float32", backend="jax")) == "float32"


def test_types_survive(backend, array, x64):
    """float32 in gives float32 out, float64 in gives float64 out; numbers do not widen."""
    for dtype in ("float16", "float32", "float64"):
        with x64():
            x = array([0.25, 0.5], dtype)
            for y in (
                trellis.sin(x),
                x * 2,
                trellis.add(x, 1.5),
                trellis.pow(x, 2),
                trellis.mean(x),
                trellis.where(x > 0.3, x, 0),
                trellis.clip(x, 0, 1),
                trellis.var(x),
                trellis.logsumexp(x),
                trellis.multiply(2, x),
                trellis.maximum(x, 0),
            ):
                assert trellis.dtype(y) == dtype


# Promotion
# -----------------------------------------------------------------------------------------


def test_promotion_table():
    assert dtypes.promote("int8", "uint8") == "int16"
    assert dtypes.promote("uint32", "int8") == "int64"
    assert dtypes.promote("float32", "float64") == "float64"
    assert dtypes.promote("float64", "complex64") == "complex128"
    for a, b in itertools.product(dtypes.NUMERIC, repeat=2):
        if (a, b) in dtypes.PROMOTION:
            assert dtypes.promote(a, b) == dtypes.promote(b, a)
            assert a != b or dtypes.promote(a, b) == a
    with pytest.raises(KeyError):
        dtypes.promote("int64", "uint64")


def standard_pairs():
    """Pairs that the standard's table promotes: within floats and complex, and within integers."""
    kinds = (dtypes.INTEGER, ("float32", "float64", "complex64", "complex128"))
    return [
        (a, b)
        for kind in kinds
        for a, b in itertools.combinations_with_replacement(kind, 2)
        if (a, b) in dtypes.PROMOTION
    ]


@pytest.mark.parametrize("a, b", standard_pairs())
def test_promotion(a, b, backend, array, x64):
    wanted = dtypes.promote(a, b)
    with x64():
        x, y = array([1, 2], a), array([3, 4], b)
        assert_close(trellis.add(x, y), np.array([4, 6], wanted), backend=backend)
        assert_close(trellis.multiply(y, x), np.array([3, 8], wanted), backend=backend)
        assert_close(trellis.where(x == 1, x, y), np.array([1, 4], wanted), backend=backend)
        assert_close(trellis.concat([x, y]), np.array([1, 2, 3, 4], wanted), backend=backend)
        # An array without axes counts like any other.
        assert_close(trellis.add(x, y[0]), np.array([4, 5], wanted), backend=backend)
        assert trellis.result_type(x, y) == trellis.result_type(a, b) == wanted


def test_result_type_of_names_and_numbers():
    assert trellis.result_type("int8", "int16") == "int16"
    assert trellis.result_type(np.zeros(2, "float32"), 1.5) == "float32"
    assert trellis.result_type(trellis.float32, np.dtype("float64")) == "float64"
    assert repr(trellis.result_type("int8", "uint8")) == "trellis.int16"


def test_questions_about_names():
    import torch

    assert trellis.isdtype(torch.float32, "real floating")
    assert trellis.isdtype("uint8", ("bool", "integral"))
    assert not trellis.isdtype(trellis.int8, "unsigned integer")
    assert trellis.can_cast("int8", torch.int16) and not trellis.can_cast("int16", "int8")
    assert trellis.finfo(torch.float16).bits == 16 and trellis.iinfo("uint8").max == 255
