"""Resizing, pixel shuffle, patches and metrics."""

import numpy as np
import pytest

import trellis
from oracles import torch
from oracles import torch_functional as T
from trellis import functional as F
from trellis.errors import ArgumentError, ShapeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(9)


def first(x):
    return np.moveaxis(x, -1, 1)


def last(x):
    return np.moveaxis(x, 1, -1)


# Resizing
# --------------------------------------------------------------------------------------------

METHODS = [
    ("nearest", (5,), (8,)), ("nearest", (5, 6), (3, 11)), ("nearest", (3, 4, 5), (5, 2, 5)),
    ("linear", (5,), (9,)),
    ("bilinear", (5, 6), (7, 4)), ("bilinear", (1, 6), (3, 6)), ("trilinear", (3, 4, 5), (5, 2, 7)),
    ("bicubic", (5, 6), (7, 4)),
    ("bicubic", (5, 6), (11, 13)),
]  # fmt: skip


@pytest.mark.parametrize(("method", "sizes", "outs"), METHODS)
@pytest.mark.parametrize("align_corners", [False, True])
def test_resize(method, sizes, outs, align_corners, backend, array, x64):
    x = rng.normal(size=(2, *sizes, 3))
    if method == "nearest":
        if align_corners:
            with pytest.raises(ArgumentError, match="align_corners"):
                F.resize(array(x.astype("float32")), outs, align_corners=True)
            return
        expected = T.interpolate(torch.tensor(first(x)), outs, mode="nearest-exact").numpy()
    else:
        expected = T.interpolate(
            torch.tensor(first(x)), outs, mode=method, align_corners=align_corners
        ).numpy()
    with x64():
        options = {"method": method, "align_corners": align_corners}
        assert_close(
            F.resize(array(x), outs, **options),
            last(expected),
            rtol=1e-9,
            atol=1e-9,
            backend=backend,
        )
        y = F.resize(array(first(x)), outs, data_format="channel_first", **options)
        assert_close(y, expected, rtol=1e-9, atol=1e-9)
        small = array(x[:1, ..., :1])
        check_gradients(lambda x: F.resize(x, outs, **options), (small,), order=1)


def test_tricubic_is_cubic_along_each_axis(array, x64):
    x = rng.normal(size=(1, 3, 4, 5, 2))
    with x64():
        y = F.resize(array(x), (3, 4, 9), method="tricubic")
        rows = F.resize(array(x.reshape(12, 5, 2)), 9, method="cubic")
        assert_close(y, trellis.to_numpy(rows).reshape(1, 3, 4, 9, 2))


def test_interpolate(array):
    x = rng.normal(size=(2, 4, 5, 3)).astype("float32")
    assert_close(F.interpolate(array(x), (2, 1.5)), F.resize(array(x), (8, 7)))
    assert_close(F.interpolate(array(x), 1, method="bicubic"), x)
    with pytest.raises(ArgumentError, match="nothing"):
        F.interpolate(array(x), 0.1)
    with pytest.raises(ArgumentError, match="'trilinear'"):
        F.resize(array(x), 3, method="trilinear")


def test_resize_compiled_and_half(array, compiled_or_eager, xp):
    x = array(rng.normal(size=(1, 4, 5, 2)).astype("float32"))
    fn = lambda x: F.resize(x, (7, 3), method="bicubic")  # noqa: E731
    assert_close(compiled_or_eager(fn)(x), fn(x))
    half = xp.astype(x, "float16")
    assert_close(fn(half), trellis.to_numpy(fn(x)), dtype="float16", rtol=0.01, atol=0.01)


@pytest.fixture
def compiled_or_eager(backend, request):
    return (lambda fn: fn) if backend == "numpy" else request.getfixturevalue("compiled")


# Pixels and patches
# ----------------------------------------------------------------------------------


def test_pixel_shuffle(backend, array, x64, compiled_or_eager):
    x = rng.normal(size=(2, 3, 4, 12)).astype("float32")
    expected = T.pixel_shuffle(torch.tensor(first(x)), 2).numpy()
    y = F.pixel_shuffle(array(x), 2)
    assert_close(y, last(expected), backend=backend)
    assert_close(F.pixel_shuffle(array(first(x)), 2, data_format="NCHW"), expected)
    assert_close(F.pixel_unshuffle(y, 2), x)
    assert_close(F.pixel_unshuffle(array(expected), 2, data_format="NCHW"), first(x))
    assert_close(compiled_or_eager(lambda x: F.pixel_shuffle(x, 2))(array(x)), y)
    with x64():
        check_gradients(
            lambda x: F.pixel_shuffle(x, 2), (array(x[:1, :1].astype("float64")),), order=1
        )
    with pytest.raises(ShapeError, match="divisible by 9"):
        F.pixel_shuffle(array(x), 3)
    with pytest.raises(ShapeError, match="3 x 4"):
        F.pixel_unshuffle(array(x), 2)


@pytest.mark.parametrize(
    ("strides", "padding", "dilations"), [(1, 0, 1), (2, 1, 1), ((1, 2), 2, (2, 1))]
)
def test_unfold_and_fold(strides, padding, dilations, backend, array, x64):
    x = rng.normal(size=(2, 3, 6, 7))  # channel first, as torch has it
    window = (3, 2)
    options = {"dilation": dilations, "padding": padding, "stride": strides}
    patches = T.unfold(torch.tensor(x), window, **options)
    folded = T.fold(patches, (6, 7), window, **options).numpy()
    with x64():
        y = F.unfold(
            array(x), window, strides, padding, dilations=dilations, data_format="channel_first"
        )
        assert_close(y, patches.numpy(), backend=backend)
        z = F.fold(
            y, (6, 7), window, strides, padding, dilations=dilations, data_format="channel_first"
        )
        assert_close(z, folded)
        rows = F.unfold(array(last(x)), window, strides, padding, dilations=dilations)
        # From (channels, elements) to (elements, channels) in every row.
        count = patches.shape[-1]
        expected = (
            patches.numpy().reshape(2, 3, 6, count).transpose(0, 3, 2, 1).reshape(2, count, 18)
        )
        assert_close(rows, expected)
        assert_close(
            F.fold(rows, (6, 7), window, strides, padding, dilations=dilations), last(folded)
        )
        small = array(last(x)[:1, :4, :4, :1])
        check_gradients(lambda x: F.unfold(x, 2, 1, 1), (small,), order=1)
        check_gradients(
            lambda p: F.fold(p, (3, 3), 2, 1, "VALID"), (array(x[0, :1, :4, :4]),), order=1
        )


def test_unfold_makes_a_convolution(array, compiled_or_eager):
    x = array(rng.normal(size=(2, 5, 6, 3)).astype("float32"))
    filters = array(rng.normal(size=(3, 2, 3, 4)).astype("float32"))

    def by_product(x, filters):
        return trellis.reshape(
            trellis.matmul(F.unfold(x, (3, 2), 1, "SAME"), trellis.reshape(filters, (18, 4))),
            (2, 5, 6, 4),
        )

    expected = trellis.conv2d(x, filters, 1, "SAME")
    assert_close(compiled_or_eager(by_product)(x, filters), expected, rtol=1e-4, atol=1e-5)


def test_patches_bad_input(array):
    x = array(np.ones((1, 4, 4, 2), "float32"))
    with pytest.raises(ShapeError, match="no output"):
        F.unfold(x, 5, 1, "VALID")
    with pytest.raises(ShapeError, match="expects 9 patches"):
        F.fold(array(np.ones((1, 8, 8), "float32")), (4, 4), 2, 1, "VALID")


# Metrics
# ---------------------------------------------------------------------------------------------


def test_accuracy(backend, array, compiled_or_eager):
    scores = rng.normal(size=(50, 4)).astype("float32")
    targets = rng.integers(0, 4, size=50).astype("int32")
    expected = np.float32((scores.argmax(-1) == targets).mean())
    assert_close(F.accuracy(array(scores), array(targets)), expected, backend=backend)
    assert_close(F.accuracy(array(scores.argmax(-1).astype("int32")), array(targets)), expected)
    assert_close(compiled_or_eager(F.accuracy)(array(scores), array(targets)), expected)
    with pytest.raises(ShapeError):
        F.accuracy(array(scores), array(targets[:3]))
    with pytest.raises(ShapeError, match="astype"):  # classes in floats, or the scores of one?
        F.accuracy(array([1.0, 0.0]), array([1, 0], "int32"))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_top_k_accuracy(k, array):
    scores = rng.normal(size=(50, 4)).astype("float32")
    targets = rng.integers(0, 4, size=50).astype("int32")
    best = np.argsort(-scores, -1)[:, :k]
    assert_close(
        F.top_k_accuracy(array(scores), array(targets), k),
        np.float32((best == targets[:, None]).any(-1).mean()),
    )
    with pytest.raises(ArgumentError, match="from 1 to 4"):
        F.top_k_accuracy(array(scores), array(targets), 5)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "none"])
def test_confusion_and_f1(average, backend, array):
    metrics = pytest.importorskip("sklearn.metrics")
    predictions, targets = rng.integers(0, 4, size=(2, 60)).astype("int32")
    p, t = array(predictions), array(targets)
    expected = metrics.confusion_matrix(targets, predictions, labels=range(5))
    assert_close(F.confusion_matrix(p, t, 5), expected, dtype=False, backend=backend)
    score = metrics.f1_score(
        targets,
        predictions,
        labels=range(5),
        average=None if average == "none" else average,
        zero_division=0,
    )
    assert_close(F.f1_score(p, t, 5, average=average), score, dtype="float32", rtol=1e-5)


def test_metrics_bad_input(array):
    p, t = array(np.array([0, 3], "int32")), array(np.array([0, 1], "int32"))
    with pytest.raises(ArgumentError, match="predictions from 0 to 2, got 3"):
        F.confusion_matrix(p, t, 3)
    with pytest.raises(ArgumentError, match="'mean'"):
        F.f1_score(p, t, 4, average="mean")
