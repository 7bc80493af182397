"""Normalisation against torch's functions and float64 formulas, with large offsets and half
precision."""

import numpy as np
import pytest

import trellis
from oracles import torch
from oracles import torch_functional as T
from trellis import functional as F
from trellis.errors import ShapeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(7)
X = rng.normal(size=(3, 4, 5, 6))  # channel last
W, B = rng.normal(size=6), rng.normal(size=6)


def first(x):
    return torch.tensor(np.moveaxis(x, -1, 1))


def last(x):
    return np.moveaxis(x.detach().numpy(), 1, -1)


def layer(x, w, b):
    return F.layer_norm(x, weight=w, bias=b)


def group(x, w, b):
    return F.group_norm(x, 3, weight=w, bias=b)


def instance(x, w, b):
    return F.instance_norm(x, weight=w, bias=b)


def rms(x, w, b):
    return F.rms_norm(x, weight=w) + b


def batch(x, w, b):
    m, v = x[0, 0, 0] * 0, x[0, 0, 0] * 0 + 1
    return F.batch_norm(x, m, v, weight=w, bias=b, training=True)[0]


def response(x, w, b):
    return F.local_response_norm(x * w + b, size=3, alpha=0.5)


def t(x):
    return torch.tensor(x)


ORACLES = {
    "layer": (layer, lambda x: T.layer_norm(torch.tensor(x), (6,), t(W), t(B)).numpy()),
    "group": (group, lambda x: last(T.group_norm(first(x), 3, t(W), t(B)))),
    "instance": (instance, lambda x: last(T.instance_norm(first(x), weight=t(W), bias=t(B)))),
    "rms": (rms, lambda x: T.rms_norm(torch.tensor(x), (6,), t(W), 1e-6).numpy() + B),
    "batch": (batch, lambda x: last(T.batch_norm(first(x), None, None, t(W), t(B), training=True))),
    "response": (response, lambda x: last(T.local_response_norm(first(x * W + B), 3, alpha=0.5))),
}


@pytest.mark.parametrize("row", ORACLES)
def test_values(row, backend, array, x64):
    fn, oracle = ORACLES[row]
    with x64():
        assert_close(fn(array(X), array(W), array(B)), oracle(X), backend=backend)
    x, w, b = [array(part.astype("float32")) for part in (X, W, B)]
    assert_close(fn(x, w, b), oracle(X), dtype="float32", rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", ORACLES)
def test_gradients(row, array, x64):
    fn, _ = ORACLES[row]
    x = X[:2, :2, :2]
    with x64():
        check_gradients(fn, (array(x), array(W), array(B)), order=1)


@pytest.mark.parametrize("row", ORACLES)
def test_compiled(row, array, compiled):
    fn, _ = ORACLES[row]
    x, w, b = [array(part.astype("float32")) for part in (X, W, B)]
    assert_close(compiled(fn)(x, w, b), fn(x, w, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", ["layer", "group", "instance", "batch"])
@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_large_offsets(row, offset, array):
    """The float32 result is that of float64 on the same numbers, not only near it."""
    fn, oracle = ORACLES[row]
    x = (X + offset).astype("float32")
    w, b = array(W.astype("float32")), array(B.astype("float32"))
    # The offset comes off first: torch's own group_norm loses digits to it even in float64.
    assert_close(
        fn(array(x), w, b), oracle(x - np.float64(offset)), dtype="float32", rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("row", ORACLES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(row, dtype, array, xp):
    """Squares of 300 overflow float16, and sums of 1000 ones stall in bfloat16."""
    fn, oracle = ORACLES[row]
    x = xp.astype(array((X * 100).astype("float32")), dtype)
    exact = np.asarray(trellis.to_numpy(x), dtype="float64")
    w, b = array(W.astype("float32")), array(B.astype("float32"))
    if row in (
        "rms",
        "batch",
        "response",
    ):  # these three helpers of the test compute with x themselves
        w, b = xp.astype(w, dtype), xp.astype(b, dtype)
    assert_close(fn(x, w, b), oracle(exact), dtype=dtype, rtol=0.05, atol=0.05)


def test_layer_norm_over_several_axes(array, x64):
    w, b = rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    mean, var = X.mean((1, 3), keepdims=True), X.var((1, 3), keepdims=True)
    expected = (X - mean) / np.sqrt(var + 1e-3) * w[:, None] + b[:, None]
    with x64():
        y = F.layer_norm(array(X), axis=(1, -1), weight=array(w), bias=array(b), epsilon=1e-3)
        assert_close(y, expected)


def test_channel_first(array, x64):
    x = np.moveaxis(X, -1, 1)
    with x64():
        for fn in (
            lambda x, w, axis: F.group_norm(x, 2, weight=w, channel_axis=axis),
            lambda x, w, axis: F.instance_norm(x, bias=w, channel_axis=axis),
            lambda x, w, axis: F.batch_norm(x, w, w * w, training=True, channel_axis=axis)[0],
            lambda x, w, axis: F.local_response_norm(x, size=4, channel_axis=axis),
        ):
            expected = np.moveaxis(trellis.to_numpy(fn(array(X), array(W), -1)), -1, 1)
            assert_close(fn(array(x), array(W), 1), expected)


def test_batch_norm_statistics(backend, array, x64):
    mean, var = rng.normal(size=6), rng.uniform(1, 2, size=6)
    m, v = torch.tensor(mean), torch.tensor(var)
    expected = T.batch_norm(first(X), m, v, t(W), t(B), training=True, momentum=0.3)
    with x64():
        w, b = array(W), array(B)
        y, new_mean, new_var = F.batch_norm(
            array(X), array(mean), array(var), weight=w, bias=b, training=True, momentum=0.3
        )
        assert_close(y, last(expected))
        assert_close(new_mean, m.numpy(), backend=backend)
        assert_close(new_var, v.numpy(), backend=backend)
        y, same_mean, same_var = F.batch_norm(array(X), new_mean, new_var, weight=w, bias=b)
        assert_close(y, last(T.batch_norm(first(X), m, v, t(W), t(B))))
        assert_close((same_mean, same_var), (m.numpy(), v.numpy()))
        check_gradients(
            lambda *xs: F.batch_norm(xs[0], xs[1], xs[2], weight=xs[3])[0],
            (array(X[:1, :1, :2]), array(mean), array(var), w),
            order=1,
        )
        gradient = trellis.grad(
            lambda x: trellis.sum(F.batch_norm(x, array(mean), array(var), training=True)[1])
        )
        assert_close(gradient(array(X)), np.zeros_like(X))


def test_batch_norm_keeps_the_dtype_of_statistics(array, xp):
    x = xp.astype(array(X.astype("float32")), "float16")
    zeros, ones = array(np.zeros(6, "float32")), array(np.ones(6, "float32"))
    y, mean, var = F.batch_norm(x, zeros, ones, training=True)
    assert [xp.dtype_name(part.dtype) for part in (y, mean, var)] == [
        "float16",
        "float32",
        "float32",
    ]


def test_spectral_norm(array, x64, backend):
    w = rng.normal(size=(4, 2, 3))
    u = rng.normal(size=2)
    matrix = np.moveaxis(w, 1, 0).reshape(2, -1)
    left, singular, _ = np.linalg.svd(matrix)
    with x64():
        y, new_u = F.spectral_norm(array(w), array(u), iterations=200, axis=1)
        assert_close(y, w / singular[0], backend=backend)
        assert_close(trellis.abs(new_u), np.abs(left[:, 0]), rtol=1e-6)
        check_gradients(
            lambda w: F.spectral_norm(w, array(left[:, 0]), axis=1)[0],
            (array(w),),
            order=1,
            modes=("rev",),
            rtol=1e-4,
        )
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        F.spectral_norm(array(w.astype("float32")), array(np.ones(3, "float32")), axis=1)


def test_nests(array):
    x = array(X.astype("float32"))
    nest = {"a": x, "b": 2 * x}
    assert_close(F.layer_norm(nest)["b"], F.layer_norm(2 * x))
    m, v = array(np.zeros(6, "float32")), array(np.ones(6, "float32"))
    y, mean, var = F.batch_norm(nest, m, v, training=True)
    assert_close((y["b"], mean["b"], var["b"]), F.batch_norm(2 * x, m, v, training=True))


def test_constant_input_has_finite_gradients(array):
    x = array(np.full((2, 3, 6), 5.0, "float32"))
    for fn in (F.layer_norm, F.instance_norm, lambda x: F.group_norm(x, 2), F.rms_norm):
        gradient = trellis.grad(lambda x, fn=fn: trellis.sum(fn(x) ** 2))(x)
        assert np.isfinite(trellis.to_numpy(gradient)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: F.layer_norm(x, weight=w), r"weight of shape \(6,\), got \(5,\)"),
        (lambda x, w: F.group_norm(x, 4), "6 channels into 4 groups"),
        (lambda x, w: F.batch_norm(x, w, w), r"mean of shape \(6,\), got \(5,\)"),
        (
            lambda x, w: F.batch_norm(x[:1, :1, :1], x[0, 0, 0], x[0, 0, 0], training=True),
            "more than one value",
        ),
        (lambda x, w: F.instance_norm(x[0, 0]), "batch axis first"),
        (lambda x, w: F.layer_norm(x, axis=(1, 1)), "twice"),
    ],
)
def test_bad_input(call, message, array):
    with pytest.raises(ShapeError, match=message):
        call(array(X.astype("float32")), array(np.ones(5, "float32")))
