"""The rows `linear` and `dropout` on all four backends."""

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis.errors import ArgumentError, DtypeError, ShapeError
from trellis.testing import assert_close, check_gradients

from . import vectors
from .layer_checks import (
    check_compiled,
    check_mixed,
    check_nests,
    check_raises,
    check_types,
    check_vectors,
)


def loop_linear(x, w, b, outer):
    """y[o, n, j] = sum_i x[o, n, i] * w[o, j, i] + b[o, j], one `o` at a time."""
    inner = x.shape[len(outer) : -1]
    y = np.zeros((*outer, *inner, w.shape[-2]))
    for o in np.ndindex(*outer):
        row_x = x[tuple(i if n > 1 else 0 for i, n in zip(o, x.shape, strict=False))]
        row_w = w[tuple(i if n > 1 else 0 for i, n in zip(o, w.shape, strict=False))]
        row_b = 0 if b is None else b if b.ndim == 1 else b[o]
        for n in np.ndindex(*inner):
            products = [np.sum(row_x[n] * row_w[j]) for j in range(w.shape[-2])]
            y[o + n] = np.array(products) + row_b
    return y


def test_linear(backend, xp, array, x64):
    check_vectors("linear", xp, x64)
    rng = np.random.default_rng(0)
    for outer in ((), (3,), (3, 2)):
        for inner in ((), (4,), (2, 5)):
            x, w = rng.standard_normal((*outer, *inner, 3)), rng.standard_normal((*outer, 2, 3))
            for b in (None, rng.standard_normal(2), rng.standard_normal((*outer, 2))):
                for dtype in ("float32", "float64"):
                    with x64():
                        bias = None if b is None else array(b, dtype)
                        y = trellis.linear(array(x, dtype), array(w, dtype), bias=bias)
                        assert_close(y, loop_linear(x, w, b, outer).astype(dtype), backend=backend)
    for x_outer, w_outer in (((1, 2), (3, 2)), ((3, 1), (1, 2))):
        x, w = rng.standard_normal((*x_outer, 4, 3)), rng.standard_normal((*w_outer, 2, 3))
        y = trellis.linear(array(x, "float32"), array(w, "float32"))
        assert_close(y, loop_linear(x, w, None, (3, 2)).astype("float32"), backend=backend)

    def three(x, w, b):
        return trellis.linear(x, w, bias=b)

    def make(dtype, outer=(3,)):
        shapes = ((*outer, 2, 3), (*outer, 2, 3), (*outer, 2))
        return [array(np.random.default_rng(1).standard_normal(s), dtype) for s in shapes]

    for outer in ((), (2,)):
        with x64():
            check_gradients(three, make("float64", outer))
        check_compiled(three, make("float32", outer), backend)
    check_types(three, make, backend, x64)
    x, w, b = make("float32")
    check_nests(three, x, x * 2, (w, b), backend)
    check_mixed(three, [x, w, b], backend)
    whole = trellis.linear(
        array([[1, 2]], "int32"), array([[3, 4], [5, 6]], "int32"), bias=array([1, 2], "int32")
    )
    assert_close(whole, np.array([[12, 19]], "int32"), backend=backend)
    check_raises(ValueError, [
        (r"\(3, 2, 3\)", lambda: trellis.linear(array(np.zeros((3, 4)), "float32"), w)),
        (r"weight.*\(3,\)", lambda: trellis.linear(x, array(np.zeros(3), "float32"))),
        ("broadcast", lambda: trellis.linear(array(np.zeros((2, 2, 3)), "float32"), w)),
        (r"bias.*\(5,\)", lambda: trellis.linear(x, w, bias=array(np.zeros(5), "float32"))),
        (r"bias.*\(2, 2\)", lambda: trellis.linear(x, w, bias=array(np.zeros((2, 2)), "float32"))),
    ])  # fmt: skip


def test_dropout(backend, xp, array, x64):
    check_vectors("dropout", xp, x64)
    for vector in vectors.of("dropout"):
        if "prop" in vector:
            check_properties(vector, xp)
    x = np.linspace(-2, 3, 60).reshape(5, 12)
    for dtype in ("float32", "float64"):
        with x64():
            y = trellis.dropout(array(x, dtype), 0.4, seed=5)
            kept = trellis.to_numpy(y) != 0
            assert 0 < kept.sum() < 60
            assert_close(y, np.where(kept, x / 0.6, 0).astype(dtype), backend=backend)
            unscaled = trellis.dropout(array(x, dtype), 0.4, seed=5, scale=False)
            assert_close(unscaled, np.where(kept, x, 0).astype(dtype), backend=backend)
            for options in ({"training": False}, {"dtype": dtype}):
                same = trellis.dropout(
                    array(x, "float32"), 0.0 if "dtype" in options else 0.4, **options
                )
                assert trellis.dtype(same) == options.get("dtype", "float32")
            # The gradient is mask / (1 - prob).
            g = trellis.grad(lambda z: trellis.sum(trellis.dropout(z, 0.4, seed=5)))(
                array(x, dtype)
            )
            assert_close(g, (kept / 0.6).astype(dtype), backend=backend)
    ones = array(np.ones(64), "float32")
    first = trellis.to_numpy(trellis.dropout(ones, 0.5, seed=0))
    np.testing.assert_array_equal(first, trellis.to_numpy(trellis.dropout(ones, 0.5, seed=0)))
    assert (first != trellis.to_numpy(trellis.dropout(ones, 0.5, seed=1))).any()
    # Sameness of the four backends is itself the property; NumPy is in every installation.
    there = trellis.dropout(trellis.namespace("numpy").ones(64), 0.5, seed=0)
    np.testing.assert_array_equal(first, there)
    unseeded = [trellis.to_numpy(trellis.dropout(ones, 0.5)) for _ in range(2)]
    assert (unseeded[0] != unseeded[1]).any()
    block = array(np.ones((6, 4, 3)), "float32")
    for noise, axis in (((None, 1, 3), 1), ((1, 4, None), 0), ((6, None, 1), 2)):
        y = trellis.to_numpy(trellis.dropout(block, 0.5, seed=2, noise_shape=noise))
        assert (y == np.take(y, [0], axis=axis)).all() and len(np.unique(y)) == 2
    check_compiled(lambda z: trellis.dropout(z, 0.3, seed=9), [ones], backend)
    nested = trellis.dropout({"a": ones, "b": {"c": ones}}, 0.5, seed=4)
    a, c = trellis.to_numpy(nested["a"]), trellis.to_numpy(nested["b"]["c"])
    assert (
        type(nested) is dict and set(np.unique(np.stack([a, c]))) == {0.0, 2.0} and (a != c).any()
    )
    assert_close(trellis.dropout(ones, 1.0, seed=3), np.zeros(64, "float32"), backend=backend)
    check_raises(ValueError, [
        ("from 0 to 1, got 1.5", lambda: trellis.dropout(ones, 1.5)),
        ("from 0 to 1, got -0.1", lambda: trellis.dropout(ones, -0.1)),
        (r"noise_shape.*\(2,\)", lambda: trellis.dropout(ones, 0.5, noise_shape=(2,))),
        (r"noise_shape.*\(1, 1\)", lambda: trellis.dropout(ones, 0.5, noise_shape=(1, 1))),
        ("-3", lambda: trellis.dropout(ones, 0.5, seed=-3)),
    ])  # fmt: skip
    check_raises(TypeError, [("int", lambda: trellis.dropout(array([1, 2], "int32"), 0.5, seed=0))])
    cast = trellis.dropout(array([1, 2], "int32"), 0.5, seed=0, dtype="float32")
    assert trellis.dtype(cast) == "float32"


def check_properties(vector, xp):
    y = trellis.to_numpy(vectors.call(vector, xp, "float32")).astype(float)
    wanted = vector["prop"]
    target = np.asarray(wanted["zero_or"])
    assert ((y == 0) | np.isclose(y, target, rtol=1e-6)).all()
    if "repeat" in wanted:
        np.testing.assert_array_equal(y, trellis.to_numpy(vectors.call(vector, xp, "float32")))
    if "zero_fraction" in wanted:
        assert abs((y == 0).mean() - wanted["zero_fraction"][0]) < wanted["zero_fraction"][1]
        assert abs(y.mean() - wanted["mean"][0]) < wanted["mean"][1]


def test_dropout_mask(backend, array):
    """The mask is that of Threefry's words: the upper ones of half as many counters, then the
    lower, as integers."""
    key = trellis.random.key(7)
    for size in (1, 2, 7, 5000, 300_001):
        words = trellis.to_numpy(trellis.random.split(key, (size + 1) // 2)).T.reshape(-1)[:size]
        for prob in (1e-12, 0.1, 0.5, 0.7, 1 - 1e-12):
            ones = array(np.ones(size), "float32")
            kept = trellis.to_numpy(trellis.dropout(ones, prob, seed=7, scale=False))
            least = np.uint64(min(int(np.ceil(prob * 2**32)), 2**32 - 1))
            np.testing.assert_array_equal(kept, words >= least)
    check_compiled(
        lambda x: trellis.dropout(x, 0.3, seed=7), [array(np.ones(5001), "float32")], backend
    )


@pytest.mark.parametrize(
    ("rows", "weights", "sizes", "error", "message"),
    [
        ((4, 3), (2, 2, 5), [1, 1], ShapeError, "groups, in, out"),
        ((4, 3), (2, 3, 5), [1, 1, 1], ShapeError, "groups, in, out"),
        ((4, 3), (2, 3, 5), [3, 3], ShapeError, "6 rows together"),
        ((4, 3), (2, 3, 5), [-1, 3], ArgumentError, "from 0 to 4, got -1"),
        ((4, 3), (2, 3, 5), [1.0, 2.0], DtypeError, "integers"),
    ],
)
def test_grouped_matmul_bad_input(rows, weights, sizes, error, message, array):
    kind = "float32" if isinstance(sizes[0], float) else "int32"
    with pytest.raises(error, match=message):
        F.grouped_matmul(
            array(np.ones(rows), "float32"), array(np.ones(weights), "float32"), array(sizes, kind)
        )


def test_grouped_matmul_of_halves(backend, array):
    """Sums in float32: 4096 ones are 4096, where float16 would stop at 2048."""
    x, weights = array(np.ones((2, 4096)), "float16"), array(np.ones((2, 4096, 1)), "float16")
    y = F.grouped_matmul(x, weights, array([1, 1], "int32"))
    assert_close(y, np.full((2, 1), 4096, "float16"), backend=backend)
