"""Activations against their formulas in float64, with derivatives, at extreme inputs, and
compiled."""

import numpy as np
import pytest
from scipy.special import erf

import trellis
from trellis import functional as F
from trellis.errors import ShapeError
from trellis.testing import assert_close, check_gradients

POINTS = np.array([[-7.3, -3.0, -1.2, -0.5, -1e-3, 0.0], [1e-3, 0.4, 1.0, 2.7, 5.9, 11.0]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def softmax(x, axis=-1):
    parts = np.exp(x)
    return parts / parts.sum(axis=axis, keepdims=True)


def halves(x, axis=-1):
    return np.split(x, 2, axis=axis)


def gelu(x):
    return x / 2 * (1 + erf(x / np.sqrt(2)))


def gelu_by_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x))


ROWS = {
    "relu": (F.relu, {}, lambda x: np.maximum(x, 0)),
    "relu6": (F.relu6, {}, lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (F.leaky_relu, {"negative_slope": 0.2}, lambda x: np.where(x > 0, x, 0.2 * x)),
    "elu": (F.elu, {"alpha": 1.5}, lambda x: elu(x, 1.5)),
    "selu": (F.selu, {}, lambda x: 1.0507009873554804934 * elu(x, 1.6732632423543772848)),
    "gelu": (F.gelu, {}, gelu),
    "gelu_by_tanh": (F.gelu, {"approximate": True}, gelu_by_tanh),
    "silu": (F.silu, {}, lambda x: x * sigmoid(x)),
    "mish": (F.mish, {}, lambda x: x * np.tanh(softplus(x))),
    "softplus": (F.softplus, {}, softplus),
    "softplus_beta": (F.softplus, {"beta": 2.0}, lambda x: softplus(2 * x) / 2),
    "softsign": (F.softsign, {}, lambda x: x / (1 + np.abs(x))),
    "sigmoid": (F.sigmoid, {}, sigmoid),
    "hard_sigmoid": (F.hard_sigmoid, {}, lambda x: np.clip(x + 3, 0, 6) / 6),
    "hard_swish": (F.hard_swish, {}, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "hard_tanh": (F.hard_tanh, {"low": -2.0, "high": 3.0}, lambda x: np.clip(x, -2, 3)),
    "softmax": (F.softmax, {"axis": 0}, lambda x: softmax(x, 0)),
    "softmax_all": (F.softmax, {"axis": (0, 1)}, lambda x: softmax(x, (0, 1))),
    "log_softmax": (F.log_softmax, {}, lambda x: np.log(softmax(x))),
    "log_softmax_all": (F.log_softmax, {"axis": (0, 1)}, lambda x: np.log(softmax(x, (0, 1)))),
    "log_sigmoid": (F.log_sigmoid, {}, lambda x: np.log(sigmoid(x))),
    "glu": (F.glu, {}, lambda x: halves(x)[0] * sigmoid(halves(x)[1])),
    "geglu": (F.geglu, {"axis": 0}, lambda x: halves(x, 0)[0] * gelu(halves(x, 0)[1])),
    "swiglu": (F.swiglu, {}, lambda x: halves(x)[0] * halves(x)[1] * sigmoid(halves(x)[1])),
}
# Where the central difference straddles a kink there is nothing to compare.
KINKED = {"relu", "relu6", "leaky_relu", "elu", "selu", "hard_sigmoid", "hard_swish", "hard_tanh"}


@pytest.mark.parametrize("row", ROWS)
def test_values(row, backend, array, x64):
    fn, options, reference = ROWS[row]
    with x64():
        assert_close(fn(array(POINTS), **options), reference(POINTS), backend=backend)
    x = POINTS.astype("float32")
    expected = reference(x.astype("float64")).astype("float32")
    assert_close(fn(array(x), **options), expected, rtol=2e-5, backend=backend)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(row, dtype, backend, array, xp):
    fn, options, reference = ROWS[row]
    x = xp.astype(array(POINTS.astype("float32")), dtype)
    rounded = np.asarray(trellis.to_numpy(x), dtype="float64")
    assert_close(fn(x, **options), reference(rounded), dtype=dtype)


@pytest.mark.parametrize("row", ROWS)
def test_gradients(row, array, x64):
    fn, options, _ = ROWS[row]
    points = POINTS + 0.013 if row in KINKED else POINTS
    with x64():
        check_gradients(lambda x: fn(x, **options), (array(points),), order=1)


@pytest.mark.parametrize(
    "row", ["softplus", "sigmoid", "softmax", "gelu", "silu", "elu", "log_softmax"]
)
def test_second_derivatives(row, array, x64):
    fn, options, _ = ROWS[row]
    with x64():
        check_gradients(lambda x: fn(x, **options), (array(POINTS[:, 2:4]),), order=2)


@pytest.mark.parametrize("row", ROWS)
def test_compiled(row, array, compiled):
    fn, options, _ = ROWS[row]
    x = array(POINTS.astype("float32"))
    assert_close(compiled(lambda x: fn(x, **options))(x), fn(x, **options))


@pytest.mark.parametrize("row", ROWS)
def test_extremes(row, array):
    """Finite values and gradients at 1e4, and nan stays nan."""
    fn, options, _ = ROWS[row]
    x = array(np.array([[-1e4, 1e4, -90.0, 90.0]] * 2, "float32"))
    value, gradient = trellis.value_and_grad(lambda x: trellis.sum(trellis.tanh(fn(x, **options))))(
        x
    )
    assert np.isfinite(trellis.to_numpy(fn(x, **options))).all()
    assert np.isfinite(float(value))
    assert np.isfinite(trellis.to_numpy(gradient)).all()
    y = fn(array(np.full((2, 4), np.nan, "float32")), **options)
    assert np.isnan(trellis.to_numpy(y)).all()


@pytest.mark.parametrize(
    ("row", "point", "slope"),
    [("relu", 0.0, 0.0), ("relu6", 0.0, 0.0), ("relu6", 6.0, 0.0), ("hard_tanh", -2.0, 0.0),
     ("softplus", 0.0, 0.5),
     ("sigmoid", 0.0, 0.25), ("softsign", 0.0, 1.0)],
)  # fmt: skip
def test_slopes_at_kinks(row, point, slope, array):
    fn, options, _ = ROWS[row]
    gradient = trellis.grad(lambda x: trellis.sum(fn(x, **options)))(
        array(np.array([point], "float32"))
    )
    assert_close(gradient, [slope])


def test_prelu(backend, array, x64, compiled_or_eager):
    weight = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    expected = np.where(POINTS > 0, POINTS, POINTS * weight)
    with x64():
        assert_close(F.prelu(array(POINTS), array(weight)), expected)
        assert_close(
            F.prelu(array(POINTS), array(np.array(0.3))), np.where(POINTS > 0, POINTS, POINTS * 0.3)
        )
        assert_close(F.prelu(array(POINTS.T), array(weight), axis=0), expected.T)
        check_gradients(F.prelu, (array(POINTS + 0.013), array(weight)), order=1)
    x, w = array(POINTS.astype("float32")), array(weight.astype("float32"))
    assert_close(compiled_or_eager(F.prelu)(x, w), expected.astype("float32"), rtol=1e-5)
    with pytest.raises(ShapeError, match=r"\(6,\)"):
        F.prelu(x, array(np.ones(5, "float32")))


@pytest.fixture
def compiled_or_eager(backend, request):
    return (lambda fn: fn) if backend == "numpy" else request.getfixturevalue("compiled")


def test_nests(array):
    x = array(POINTS.astype("float32"))
    nest = trellis.Container(a=x, b={"c": 2 * x})
    for fn in (F.relu, F.gelu, F.softmax, F.glu):
        result = fn(nest)
        assert isinstance(result, trellis.Container)
        assert_close(result.b.c, fn(2 * x))
    assert_close(
        F.prelu(nest, array(np.array(0.5, "float32"))).a, F.leaky_relu(x, negative_slope=0.5)
    )


def test_integers_become_floats(array, xp):
    assert_close(
        F.silu(array(np.array([1, 2], "int32"))), [sigmoid(1), 2 * sigmoid(2)], dtype="float32"
    )
    assert F.relu(array(np.array([-1, 2], "int32"))).dtype == xp.int32


def test_odd_halves(array):
    with pytest.raises(ShapeError, match="size is 3"):
        F.glu(array(np.ones((2, 3), "float32")))
