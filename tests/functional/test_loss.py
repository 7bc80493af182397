"""Losses against torch's and against float64 formulas, stable at extreme logits, with gradients."""

import numpy as np
import pytest
from scipy.special import log_softmax

import trellis
from oracles import torch
from oracles import torch_functional as T
from trellis import functional as F
from trellis.errors import ArgumentError, DtypeError, MixedBackendsError, ShapeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(11)
X, Y = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
PROBS = rng.uniform(0.05, 0.95, size=(4, 5))
SHARES = PROBS / PROBS.sum(-1, keepdims=True)
BINARY = rng.integers(0, 2, size=(4, 5)).astype("float64")
SIGNS = 2 * BINARY - 1
CLASSES = np.array([0, 4, 2, 2])
WEIGHT = rng.uniform(0.5, 2, size=5)
COUNTS = rng.integers(0, 6, size=(4, 5)).astype("float64")


def t(x):
    return torch.tensor(x)


# name -> (function of the first float arguments, those arguments, constants, torch's answer)
ROWS = {
    "mse": (F.mse_loss, (X, Y), (), lambda r: T.mse_loss(t(X), t(Y), reduction=r)),
    "mae": (F.mae_loss, (X, Y), (), lambda r: T.l1_loss(t(X), t(Y), reduction=r)),
    "huber": (
        lambda x, y, **k: F.huber_loss(x, y, delta=0.7, **k), (X, Y), (),
        lambda r: T.huber_loss(t(X), t(Y), delta=0.7, reduction=r),
    ),
    "cross_entropy": (F.cross_entropy, (X,), (CLASSES,),
                      lambda r: T.cross_entropy(t(X), t(CLASSES), reduction=r)),
    "cross_entropy_smooth": (
        lambda x, y, **k: F.cross_entropy(x, y, label_smoothing=0.1, **k), (X,), (CLASSES,),
        lambda r: T.cross_entropy(t(X), t(CLASSES), label_smoothing=0.1, reduction=r),
    ),
    "cross_entropy_weighted": (
        lambda x, w, y, **k: F.cross_entropy(x, y, weight=w, label_smoothing=0.2, **k), (X, WEIGHT),
        (CLASSES,),
        lambda r: T.cross_entropy(t(X), t(CLASSES), t(WEIGHT), label_smoothing=0.2, reduction=r),
    ),
    "cross_entropy_ignored": (
        lambda x, w, y, **k: F.cross_entropy(x, y, weight=w, ignore_index=2, **k), (X, WEIGHT),
        (CLASSES,),
        lambda r: T.cross_entropy(t(X), t(CLASSES), t(WEIGHT), ignore_index=2, reduction=r),
    ),
    "cross_entropy_shares": (
        lambda x, y, w, **k: F.cross_entropy(x, y, weight=w, label_smoothing=0.2, **k),
        (X, SHARES, WEIGHT), (),
        lambda r: T.cross_entropy(t(X), t(SHARES), t(WEIGHT), label_smoothing=0.2, reduction=r),
    ),
    "nll": (
        lambda x, w, y, **k: F.nll_loss(x, y, weight=w, **k), (np.log(SHARES), WEIGHT), (CLASSES,),
        lambda r: T.nll_loss(t(np.log(SHARES)), t(CLASSES), t(WEIGHT), reduction=r),
    ),
    "binary": (
        F.binary_cross_entropy, (PROBS, SHARES), (),
        lambda r: T.binary_cross_entropy(t(PROBS), t(SHARES), reduction=r)
    ),
    "binary_logits": (
        lambda x, w, y, **k: F.binary_cross_entropy(x, y, from_logits=True, positive_weight=w, **k),
        (X, WEIGHT), (BINARY,),
        lambda r: T.binary_cross_entropy_with_logits(t(X), t(BINARY), pos_weight=t(WEIGHT),
                                                     reduction=r),
    ),
    "poisson": (
        lambda x, y, **k: F.poisson_nll_loss(x, y, full=True, **k), (X,), (COUNTS,),
        lambda r: T.poisson_nll_loss(t(X), t(COUNTS), full=True, reduction=r),
    ),
    "poisson_rate": (
        lambda x, y, **k: F.poisson_nll_loss(x, y, log_input=False, **k), (PROBS,), (COUNTS,),
        lambda r: T.poisson_nll_loss(t(PROBS), t(COUNTS), log_input=False, reduction=r),
    ),
    "hinge": (F.hinge_loss, (X,), (SIGNS,), None),
    "focal": (F.focal_loss, (X,), (BINARY,), None),
    "cosine": (
        lambda x, y, s, **k: F.cosine_loss(x, y, targets=s, margin=0.1, **k), (X, Y),
        (SIGNS[:, 0],),
        lambda r: T.cosine_embedding_loss(t(X), t(Y), t(SIGNS[:, 0]), margin=0.1, reduction=r),
    ),
    "triplet": (
        F.triplet_loss, (X, Y, PROBS), (),
        lambda r: T.triplet_margin_loss(t(X), t(Y), t(PROBS), reduction=r)
    ),
    "triplet_3": (
        lambda *xs, **k: F.triplet_loss(*xs, p=3.0, margin=2.0, **k), (X, Y, PROBS), (),
        lambda r: T.triplet_margin_loss(t(X), t(Y), t(PROBS), p=3.0, margin=2.0, reduction=r),
    ),
}  # fmt: skip


def hinge(r):
    return reduce(np.maximum(0, 1 - SIGNS * X), r)


def focal(r):
    p = 1 / (1 + np.exp(-X))
    p_t = np.where(BINARY == 1, p, 1 - p)
    alpha = np.where(BINARY == 1, 0.25, 0.75)
    return reduce(-alpha * (1 - p_t) ** 2 * np.log(p_t), r)


def reduce(losses, r):
    return t({"mean": np.mean, "sum": np.sum, "none": np.asarray}[r](losses))


ROWS["hinge"] = (*ROWS["hinge"][:3], hinge)
ROWS["focal"] = (*ROWS["focal"][:3], focal)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("row", ROWS)
def test_values(row, reduction, backend, array, x64):
    fn, floats, constants, oracle = ROWS[row]
    expected = oracle(reduction).numpy()
    with x64():
        args = [array(a) for a in (*floats, *constants)]
        assert_close(fn(*args, reduction=reduction), expected, dtype="float64", backend=backend)
    args = [
        array(a.astype("float32") if a.dtype == "float64" else a.astype("int32"))
        for a in (*floats, *constants)
    ]
    assert_close(
        fn(*args, reduction=reduction),
        expected,
        dtype="float32",
        rtol=1e-5,
        atol=1e-5,
        backend=backend,
    )


@pytest.mark.parametrize("row", ROWS)
def test_gradients(row, array, x64):
    fn, floats, constants, _ = ROWS[row]
    with x64():
        fixed = [array(a) for a in constants]
        check_gradients(lambda *xs: fn(*xs, *fixed), [array(a) for a in floats], order=1)


@pytest.mark.parametrize("row", ROWS)
def test_compiled(row, array, compiled):
    fn, floats, constants, _ = ROWS[row]
    args = [
        array(a.astype("float32") if a.dtype == "float64" else a.astype("int32"))
        for a in (*floats, *constants)
    ]
    assert_close(compiled(lambda *xs: fn(*xs))(*args), fn(*args))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype, array, xp):
    """The mean of 10,000 losses of 1 stays 1; a half-precision sum would stall."""
    x, y = [xp.astype(array(np.full(10000, v, "float32")), dtype) for v in (3.0, 2.0)]
    assert_close(F.mse_loss(x, y), 1.0, dtype=dtype)
    assert_close(F.mae_loss(x, y), 1.0, dtype=dtype)
    logits = xp.reshape(x, (100, 100))
    assert_close(F.cross_entropy(logits, array(np.zeros(100, "int32"))), np.log(100), dtype=dtype)


# Stability
# -------------------------------------------------------------------------------------------


def test_extreme_logits(array):
    big = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], "float32")
    x, classes = array(big), array(np.array([1, 2], "int32"))
    assert_close(
        F.cross_entropy(x, classes, reduction="none"), np.array([2e4, np.log(2)], "float32")
    )
    hot = trellis.one_hot(classes, 3)
    assert_close(F.cross_entropy(x, hot, reduction="none"), np.array([2e4, np.log(2)], "float32"))
    ones = array(np.array([[0.0, 1, 1], [1, 0, 1]], "float32"))
    expected = np.array([[1e4, 1e4, np.log(2)], [1e4, 1e4, 0]], "float32")
    assert_close(F.binary_cross_entropy(x, ones, from_logits=True, reduction="none"), expected)
    for fn in (
        lambda x: F.cross_entropy(x, classes, label_smoothing=0.1),
        lambda x: F.binary_cross_entropy(x, ones, from_logits=True),
        lambda x: F.focal_loss(x, ones),
        lambda x: F.focal_loss(x, ones, gamma=0.5),
        lambda x: F.hinge_loss(x, 2 * ones - 1),
        lambda x: F.huber_loss(x, ones),
        lambda x: F.cosine_loss(x, ones),
        lambda x: F.cosine_loss(0 * x, ones),
    ):
        value, gradient = trellis.value_and_grad(fn)(x)
        assert np.isfinite(float(value))
        assert np.isfinite(trellis.to_numpy(gradient)).all()


def test_certain_probabilities(array):
    p, y = (
        array(np.array([0.0, 1.0, 0.0, 1.0], "float32")),
        array(np.array([0.0, 1.0, 1.0, 0.0], "float32")),
    )
    losses = trellis.to_numpy(F.binary_cross_entropy(p, y, reduction="none"))
    assert (losses[:2] == 0).all()
    assert (losses[2:] > 80).all()
    assert np.isfinite(losses).all()
    gradient = trellis.grad(lambda p: F.binary_cross_entropy(p, y))(p)
    assert np.isfinite(trellis.to_numpy(gradient)).all()


def test_impossible_classes(array):
    """A masked class (-inf) that is never the target neither costs nor spoils the gradient."""
    x = array(np.array([[0.0, -np.inf, 1.0]], "float32"))
    hot = array(np.array([[1.0, 0.0, 0.0]], "float32"))
    expected = np.log(1 + np.e)
    assert_close(F.cross_entropy(x, hot), expected, dtype="float32")
    assert_close(F.cross_entropy(x, array(np.array([0], "int32"))), expected, dtype="float32")
    gradient = trellis.grad(lambda x: F.cross_entropy(x, hot))(x)
    assert np.isfinite(trellis.to_numpy(gradient)).all()


def test_kl_divergence(backend, array, x64):
    log_q = np.log(SHARES)
    p = np.array(SHARES[::-1])
    p[0, 1] = 0.0
    terms = np.where(p == 0, 0, p * (np.log(np.where(p == 0, 1, p)) - log_q))
    with x64():
        assert_close(F.kl_divergence(array(log_q), array(p)), terms.sum(-1).mean(), backend=backend)
        assert_close(F.kl_divergence(array(log_q), array(p), reduction="none"), terms.sum(-1))
        expected = T.kl_div(t(log_q), t(p), reduction="batchmean").numpy()
        assert_close(F.kl_divergence(array(log_q), array(p)), expected)
        with np.errstate(divide="ignore"):
            log_p = np.log(p)
        assert_close(F.kl_divergence(array(log_q), array(log_p), log_targets=True), expected)
        check_gradients(F.kl_divergence, (array(log_q), array(SHARES[::-1].copy())), order=1)
        check_gradients(
            lambda q, p: F.kl_divergence(q, p, log_targets=True),
            (array(log_q), array(log_q[::-1].copy())),
            order=1,
        )
    gradient = trellis.grad(lambda q: F.kl_divergence(q, array(p.astype("float32"))))(
        array(log_q.astype("float32"))
    )
    assert np.isfinite(trellis.to_numpy(gradient)).all()


def test_classes_along_another_axis(array, x64):
    x = rng.normal(size=(2, 5, 3))
    classes = rng.integers(0, 5, size=(2, 3))
    expected = T.cross_entropy(t(x), t(classes), reduction="none").numpy()
    with x64():
        assert_close(F.cross_entropy(array(x), array(classes), axis=1, reduction="none"), expected)


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("shape", [(5,), (5, 4), (2, 5, 3), (2, 3, 5), (2, 3, 4, 5)])
def test_classes_of_any_rank(shape, reduction, array):
    axis = shape.index(5)
    x = np.random.default_rng(3).normal(size=shape).astype("float32")
    targets = np.random.default_rng(4).integers(0, 5, shape[:axis] + shape[axis + 1 :], "int32")
    shares = np.moveaxis(np.eye(5, dtype="float32")[targets], -1, axis)

    def loss(x, targets):
        return trellis.sum(F.cross_entropy(x, targets, axis=axis, reduction=reduction))

    assert_close(loss(array(x), array(targets)), loss(array(x), array(shares)))
    first, second = [
        trellis.grad(lambda x, i=i: loss(x, i))(array(x)) for i in map(array, (targets, shares))
    ]
    assert_close(first, second)


def test_all_ignored(array):
    x = array(X.astype("float32"))
    value, gradient = trellis.value_and_grad(
        lambda x: F.cross_entropy(x, array(np.full(4, -1, "int32")), ignore_index=-1)
    )(x)
    assert_close(value, 0.0)
    assert_close(gradient, np.zeros((4, 5), "float32"))


def test_nests(array):
    x, y = array(X.astype("float32")), array(Y.astype("float32"))
    result = F.mse_loss({"a": x, "b": y}, {"a": y, "b": y})
    assert_close(result["a"], F.mse_loss(x, y))
    assert_close(result["b"], 0.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, i: F.cross_entropy(x, i + 3), ArgumentError, "from 0 to 4, got 7"),
        (lambda x, i: F.cross_entropy(x, i - 1), ArgumentError, "got -1"),
        # What torch itself leaves out unless told otherwise.
        (lambda x, i: F.cross_entropy(x, i * 0 - 100), ArgumentError, "got -100"),
        (lambda x, i: F.cross_entropy(x, i[:3]), ShapeError, r"\(4,\)"),
        (lambda x, i: F.cross_entropy(x, x[:, 0]), DtypeError, "integer targets"),
        (lambda x, i: F.cross_entropy(x, i, label_smoothing=1.5), ArgumentError, "1.5"),
        (lambda x, i: F.cross_entropy(x, i, reduction="median"), ArgumentError, "'median'"),
        (lambda x, i: F.cross_entropy(x, i, weight=x[0, :2]), ShapeError, r"\(5,\)"),
        (lambda x, i: F.mse_loss(x, x[:2]), ShapeError, "one shape"),
        (lambda x, i: F.binary_cross_entropy(x + 2, x * 0), ArgumentError, "from_logits=True"),
        (
            lambda x, i: F.binary_cross_entropy(x * 0, x * 0 + 2),
            ArgumentError,
            "targets from 0.0 to 1.0, got 2.0",
        ),
        (lambda x, i: F.hinge_loss(x, x * 0), ArgumentError, "2 \\* targets - 1"),
        (lambda x, i: F.huber_loss(x, x, delta=-1), ArgumentError, "-1"),
        (lambda x, i: F.kl_divergence(x, x * 0 - 1), ArgumentError, "log_targets=True"),
        (lambda x, i: F.nll_loss(x, i + 9), ArgumentError, "got 13"),
    ],
)
def test_bad_input(call, error, message, array):
    with pytest.raises(error, match=message):
        call(array(np.abs(X).astype("float32")), array(CLASSES.astype("int32")))


def test_mixed_frameworks(backend, array):
    other = trellis.namespace("torch" if backend == "numpy" else "numpy").asarray(Y)
    with pytest.raises(MixedBackendsError):
        F.mse_loss(array(X.astype("float32")), other)


# CTC
# -------------------------------------------------------------------------------------------------

LOG_PROBS = log_softmax(rng.normal(size=(7, 3, 5)), -1)
LABELS = np.array([[1, 2, 2, 3], [4, 1, 0, 0], [3, 3, 3, 3]])
INPUT_LENGTHS, TARGET_LENGTHS = np.array([7, 5, 7]), np.array([4, 2, 4])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("blank", [0, 4])
def test_ctc(reduction, blank, backend, array, x64):
    labels = LABELS if blank == 0 else np.where(LABELS == 4, 0, LABELS)
    expected = T.ctc_loss(
        t(LOG_PROBS),
        t(labels),
        t(INPUT_LENGTHS),
        t(TARGET_LENGTHS),
        blank=blank,
        reduction=reduction,
    )
    with x64():
        lengths = array(INPUT_LENGTHS), array(TARGET_LENGTHS)
        x = array(np.swapaxes(LOG_PROBS, 0, 1))
        y = F.ctc_loss(x, array(labels), *lengths, blank=blank, reduction=reduction)
        assert_close(y, expected.numpy(), backend=backend)
        y = F.ctc_loss(
            array(LOG_PROBS),
            array(labels),
            *lengths,
            blank=blank,
            time_major=True,
            reduction=reduction,
        )
        assert_close(y, expected.numpy())


def test_ctc_gradients(array, x64):
    logits = t(rng.normal(size=(7, 3, 5))).requires_grad_()
    oracle = T.ctc_loss(
        torch.log_softmax(logits, -1), t(LABELS), t(INPUT_LENGTHS), t(TARGET_LENGTHS)
    )
    oracle.backward()
    with x64():
        rest = [array(a) for a in (LABELS, INPUT_LENGTHS, TARGET_LENGTHS)]
        gradient = trellis.grad(lambda x: F.ctc_loss(F.log_softmax(x), *rest, time_major=True))(
            array(logits.detach().numpy())
        )
        assert_close(gradient, logits.grad.numpy())
        short = array(np.swapaxes(LOG_PROBS, 0, 1)[:1, :4])
        small = [array(a) for a in (LABELS[:1, :2], np.array([4]), np.array([2]))]
        check_gradients(lambda x: F.ctc_loss(x, *small), (short,), order=1)


def test_ctc_compiled(array, compiled):
    args = [
        array(a)
        for a in (
            LOG_PROBS.astype("float32"),
            *[a.astype("int32") for a in (LABELS, INPUT_LENGTHS, TARGET_LENGTHS)],
        )
    ]
    assert_close(
        compiled(lambda *xs: F.ctc_loss(*xs, time_major=True))(*args),
        F.ctc_loss(*args, time_major=True),
    )


def test_ctc_that_does_not_fit(array):
    x = array(np.swapaxes(LOG_PROBS, 0, 1)[:2, :3].astype("float32"))
    rest = [array(a.astype("int32")) for a in (LABELS[:2], np.array([3, 3]), np.array([4, 1]))]
    y = trellis.to_numpy(F.ctc_loss(x, *rest, reduction="none"))
    assert np.isinf(y[0])
    assert np.isfinite(y[1])
    value, gradient = trellis.value_and_grad(
        lambda x: F.ctc_loss(x, *rest, zero_infinity=True, reduction="sum")
    )(x)
    assert_close(value, y[1])
    assert np.isfinite(trellis.to_numpy(gradient)).all()
    assert (trellis.to_numpy(gradient)[0] == 0).all()


def test_ctc_of_nothing(array):
    x = array(np.swapaxes(LOG_PROBS, 0, 1)[:1].astype("float32"))
    empty = array(np.zeros((1, 0), "int32"))
    y = F.ctc_loss(
        x, empty, array(np.array([7], "int32")), array(np.array([0], "int32")), reduction="none"
    )
    assert_close(y, [-LOG_PROBS[:, 0, 0].sum()], rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS + 3}, "got 7"),
        ({"inputs": INPUT_LENGTHS + 1}, "got 8"),
        ({"lengths": TARGET_LENGTHS + 1}, "got 5"),
    ],
)
def test_ctc_bad_input(change, message, array):
    values = {"labels": LABELS, "inputs": INPUT_LENGTHS, "lengths": TARGET_LENGTHS} | change
    with pytest.raises(ArgumentError, match=message):
        F.ctc_loss(
            array(LOG_PROBS.astype("float32")),
            *[array(v.astype("int32")) for v in values.values()],
            time_major=True,
        )
    with pytest.raises(ArgumentError, match="blank"):
        F.ctc_loss(
            array(LOG_PROBS.astype("float32")),
            *[array(v.astype("int32")) for v in values.values()],
            blank=9,
            time_major=True,
        )


def test_compiled_with_constants_around_it(array, compiled):
    """Labels, weights or indices that a compiled function closes over cannot be looked at inside
    it."""
    scores = array(rng.normal(size=(4, 8)).astype("float32"))
    labels = array(np.array([1, 2, 3, 0], "int32"))
    signs = array(np.array([1.0, -1.0, -1.0, 1.0], "float32"))
    weights = array(np.array([1.0, 2.0, 3.0], "float32"))
    for fn in (
        lambda x: F.cross_entropy(x, labels),
        lambda x: F.hinge_loss(x[:, 0], signs),
        lambda x: F.embedding(labels, x),
        lambda x: trellis.add(x[0, 0], trellis.multinomial(0, 4, probs=weights, seed=1)),
    ):
        assert_close(compiled(fn)(scores), fn(scores))
