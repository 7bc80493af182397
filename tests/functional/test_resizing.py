"""The options of resize against torch, and against the formula of every coordinate and rounding."""

import math

import numpy as np
import pytest

from oracles import torch
from oracles import torch_functional as T
from trellis import functional as F
from trellis.errors import ArgumentError, ArgumentTypeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(31)


@pytest.mark.parametrize(("n", "out"), [(5, 8), (5, 10), (9, 3), (7, 2), (3, 7)])
def test_nearest_as_torch_means_it(n, out, backend, array):
    x = rng.normal(size=(2, 3, n)).astype("float32")
    expected = T.interpolate(torch.tensor(x), out, mode="nearest").numpy()
    y = F.resize(
        array(x), out, coordinates="asymmetric", rounding="floor", data_format="channel_first"
    )
    assert_close(y, expected, backend=backend)


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "nearest-exact"])
@pytest.mark.parametrize("scale", [1.7, 0.6])
def test_the_scale_itself_as_in_torch(method, scale, backend, array, x64):
    x = rng.normal(size=(2, 3, 5, 7))
    expected = T.interpolate(
        torch.tensor(x), scale_factor=scale, mode=method, recompute_scale_factor=False
    ).numpy()
    options = {"method": method.partition("-")[0], "data_format": "channel_first"}
    with x64():
        y = F.interpolate(array(x), scale, keep_scale=True, **options)
        assert_close(y, expected, backend=backend, rtol=1e-9, atol=1e-9)
        same = F.resize(array(x), expected.shape[2:], scale=scale, **options)
        assert_close(same, expected, backend=backend, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("method", "cubic"), [("bilinear", -0.75), ("bicubic", -0.5)])
# Not a width of 1: torch 2.13 then repeats its first row in all others.
@pytest.mark.parametrize("outs", [(3, 4), (5, 2), (11, 3)])
def test_antialias_as_in_torch(method, cubic, outs, backend, array, x64):
    x = rng.normal(size=(1, 2, 7, 13))
    expected = T.interpolate(torch.tensor(x), outs, mode=method, antialias=True).numpy()
    options = {
        "method": method,
        "antialias": True,
        "cubic_coefficient": cubic,
        "data_format": "channel_first",
    }
    with x64():
        y = F.resize(array(x), outs, **options)
        assert_close(y, expected, backend=backend, rtol=1e-9, atol=1e-9)
        small = array(x[:, :1, :, :5])
        check_gradients(lambda x: F.resize(x, (3, 2), **options), (small,), order=1)


def coordinate(mode, i, n, out, scale):
    """The definitions of ONNX's Resize."""
    width = scale * n
    return {
        "half_pixel": (i + 0.5) / scale - 0.5,
        "half_pixel_symmetric": n / 2 * (1 - out / width) + (i + 0.5) / scale - 0.5,
        "pytorch_half_pixel": (i + 0.5) / scale - 0.5 if out > 1 else 0.0,
        "asymmetric": i / scale,
        "align_corners": i * (n - 1) / (width - 1) if out > 1 else 0.0,
    }[mode]


ROUNDED = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda c: math.ceil(c - 0.5),
    "round_prefer_ceil": lambda c: math.floor(c + 0.5),
}
MODES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners"]


def resized(x, out, mode, scale, weight):
    """Every weight at every element, with the edge repeated."""
    n = len(x)
    y = np.zeros(out)
    for i in range(out):
        c = coordinate(mode, i, n, out, scale)
        factors = {j: weight(j - c) for j in range(-20, n + 20)}
        y[i] = sum(w * x[min(max(j, 0), n - 1)] for j, w in factors.items()) / sum(factors.values())
    return y


def keys(a):
    def weight(d):
        d = abs(d)
        if d <= 1:
            return (a + 2) * d**3 - (a + 3) * d**2 + 1
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0

    return weight


@pytest.mark.parametrize("mode", MODES)
# Powers of two, so that halves are halves in the formula too; the last one leaves one element.
@pytest.mark.parametrize(("n", "scale"), [(8, 0.5), (4, 2.0), (5, 2.5), (7, 0.25), (5, 0.25)])
def test_coordinates_and_roundings(mode, n, scale, backend, array):
    out = math.floor(n * scale)
    x = rng.normal(size=n).astype("float32")

    def call(**options):
        kept = {"coordinates": mode, "scale": scale, **options}
        return F.resize(array(x.reshape(1, n, 1)), out, **kept)[0, :, 0]

    for rounding, rounded in ROUNDED.items():
        at = [rounded(coordinate(mode, i, n, out, scale)) for i in range(out)]
        expected = x[np.clip(at, 0, n - 1)]
        assert_close(call(rounding=rounding), expected, backend=backend)
    for method, weight in [("linear", lambda d: max(1 - abs(d), 0)), ("cubic", keys(-0.5))]:
        expected = resized(x, out, mode, scale, weight).astype("float32")
        # Sums of float32.
        y = call(method=method, cubic_coefficient=-0.5)
        assert_close(y, expected, backend=backend, rtol=1e-5, atol=1e-6)


def test_exclude_outside(backend, array):
    """At c = -0.25 the two elements before the first one have no weight."""
    x = np.array([1.0, 2.0, 4.0, 8.0], "float32")
    weights = [keys(-0.5)(j + 0.25) for j in range(2)]
    y = F.resize(
        array(x.reshape(1, 4, 1)), 8, method="cubic", cubic_coefficient=-0.5, exclude_outside=True
    )
    expected = np.float32(np.dot(weights, x[:2]) / sum(weights))
    assert_close(y[0, 0, 0], expected, rtol=1e-6, backend=backend)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"coordinates": "corners"}, ArgumentError, "coordinates"),
        ({"rounding": "up"}, ArgumentError, "rounding"),
        ({"antialias": True}, ArgumentError, "nearest"),
        ({"method": "linear", "antialias": "no"}, ArgumentTypeError, "antialias"),
        ({"method": "cubic", "cubic_coefficient": "a"}, ArgumentTypeError, "cubic_coefficient"),
        ({"method": "linear", "scale": 0.0}, ArgumentError, "above 0"),
        ({"method": "linear", "scale": (1.0, 2.0)}, ArgumentError, "one scale"),
        (
            {"method": "linear", "align_corners": True, "coordinates": "asymmetric"},
            ArgumentError,
            "Write one of them",
        ),
    ],
)
def test_bad_options(options, error, message, array):
    with pytest.raises(error, match=message):
        F.resize(array(np.ones((1, 4, 1), "float32")), 2, **options)
