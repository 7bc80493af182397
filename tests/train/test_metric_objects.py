"""Metrics against scikit-learn and torchmetrics: in one batch, in uneven batches, of two ranks, and
through `evaluate`, compiled."""

import functools

import numpy as np
import pytest

import trellis
from trellis import nn, train
from trellis.errors import ArgumentError, ArgumentTypeError, ShapeError

ROWS, CLASSES = 61, 4
CUTS = ((0, 1), (1, 20), (20, 41), (41, ROWS))  # a batch of one example too


def classification():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(ROWS, CLASSES)).astype("float32")
    labels = rng.choice(CLASSES, size=ROWS, p=[0.5, 0.3, 0.15, 0.05])
    scores[np.arange(ROWS), labels] += 0.7
    return scores, labels


def probabilities():
    scores, labels = classification()
    weights = np.exp(scores.astype("float64"))
    return weights / weights.sum(1, keepdims=True), labels


def binary():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, ROWS)
    # Rounded, so that some are equal.
    return np.round(rng.random(ROWS) * 0.7 + 0.3 * labels, 1), labels


def pairs():
    """Two logits for each example: only their difference means something."""
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, ROWS)
    scores = rng.normal(size=(ROWS, 2)) + 3.0 * rng.normal(size=(ROWS, 1))
    scores[np.arange(ROWS), labels] += 1.0
    return scores, labels


def of_pairs():
    scores, labels = pairs()
    return 1 / (1 + np.exp(scores[:, 0] - scores[:, 1])), labels


def regression():
    rng = np.random.default_rng(8)
    y = 1000 + rng.normal(size=(ROWS, 2))
    return y + 0.5 * rng.normal(size=y.shape), y


def labels():
    return classification()[1]


def turned(data):
    """Targets first, as scikit-learn has them."""
    return data()[::-1]


def of_sklearn(name, *data, **options):
    metrics = pytest.importorskip("sklearn.metrics")
    return getattr(metrics, name)(*data, **options)


def predicted(average):
    scores, labels = classification()
    return {
        "y_true": labels,
        "y_pred": scores.argmax(1),
        "average": average,
        "labels": range(CLASSES),
        "zero_division": 0,
    }


def binary_counts(name):
    scores, labels = binary()
    return of_sklearn(name, labels, (scores > 0.5).astype(int))


def by_class(name):
    x, y = probabilities()
    return of_sklearn(name, np.eye(CLASSES)[y], x, average=None)


# name, metric, data, the value of scikit-learn, relative tolerance: counts are exact; what is
# summed in the model's float32 is as exact as that.
EXACT, SINGLE = 1e-12, 1e-6
AVERAGES = ("macro", "weighted", "micro")
OBJECTS = [
    *[
        (f"{kind.__name__}-{average}", kind(average=average), classification,
         functools.partial(lambda n, a: of_sklearn(n, **predicted(a)), name, average), EXACT)
        for kind, name in (
            (train.Precision, "precision_score"),
            (train.Recall, "recall_score"),
            (train.F1Score, "f1_score"),
            (train.IoU, "jaccard_score"),
        )
        for average in AVERAGES
    ],
    *[
        (f"{kind.__name__}-binary", kind(threshold=0.5, average="binary"), binary,
         functools.partial(binary_counts, name), EXACT)
        for kind, name in (
            (train.Precision, "precision_score"),
            (train.Recall, "recall_score"),
            (train.F1Score, "f1_score"),
            (train.IoU, "jaccard_score"),
        )
    ],
    ("Accuracy", train.Accuracy(), classification,
     lambda: of_sklearn("accuracy_score", labels(), classification()[0].argmax(1)), EXACT),
    ("TopK", train.TopKAccuracy(2), classification,
     lambda: of_sklearn("top_k_accuracy_score", labels(), classification()[0], k=2), EXACT),
    ("AUC-binary", train.AUC(), binary,
     lambda: of_sklearn("roc_auc_score", *turned(binary)), EXACT),
    ("AUC-pairs", train.AUC(), pairs,
     lambda: of_sklearn("roc_auc_score", *turned(of_pairs)), EXACT),
    ("AUC-macro", train.AUC(from_logits=False), probabilities,
     lambda: of_sklearn("roc_auc_score", *turned(probabilities), multi_class="ovr"), EXACT),
    ("AUC-weighted", train.AUC(average="weighted"), classification,
     lambda: of_sklearn("roc_auc_score", *turned(probabilities), multi_class="ovr",
                        average="weighted"), EXACT),
    ("AP-binary", train.AveragePrecision(), binary,
     lambda: of_sklearn("average_precision_score", *turned(binary)), EXACT),
    ("AP-pairs", train.AveragePrecision(), pairs,
     lambda: of_sklearn("average_precision_score", *turned(of_pairs)), EXACT),
    ("AP-logits", train.AveragePrecision(), classification,
     lambda: of_sklearn("average_precision_score", np.eye(CLASSES)[labels()], probabilities()[0]),
     EXACT),
    ("AP-macro", train.AveragePrecision(from_logits=False), probabilities,
     lambda: of_sklearn("average_precision_score", np.eye(CLASSES)[labels()], probabilities()[0]),
     EXACT),
    ("LogLoss", train.LogLoss(), classification,
     lambda: of_sklearn("log_loss", *turned(probabilities)), SINGLE),
    ("LogLoss-binary", train.LogLoss(from_logits=False), binary,
     lambda: of_sklearn("log_loss", binary()[1], np.clip(binary()[0], 1e-7, 1 - 1e-7)), SINGLE),
    ("Perplexity", train.Perplexity(), classification,
     lambda: np.exp(of_sklearn("log_loss", *turned(probabilities))), SINGLE),
    ("MAE", train.MeanAbsoluteError(), regression,
     lambda: of_sklearn("mean_absolute_error", *turned(regression)), EXACT),
    ("MSE", train.MeanSquaredError(), regression,
     lambda: of_sklearn("mean_squared_error", *turned(regression)), EXACT),
    ("RMSE", train.MeanSquaredError(root=True), regression,
     lambda: of_sklearn("mean_squared_error", *turned(regression)) ** 0.5, EXACT),
    ("R2", train.R2Score(), regression,
     lambda: of_sklearn("r2_score", *turned(regression)), EXACT),
    ("Pearson", train.PearsonCorrelation(), regression,
     lambda: np.mean([np.corrcoef(*np.stack(regression())[:, :, i])[0, 1] for i in (0, 1)]), EXACT),
]  # fmt: skip


@pytest.fixture
def wide(x64):
    """float64 and int64 on JAX, for the data that have them."""
    with x64():
        yield


@pytest.mark.parametrize(
    ("metric", "data", "expected", "rtol"),
    [row[1:] for row in OBJECTS],
    ids=[r[0] for r in OBJECTS],
)
def test_objects_are_those_of_scikit_learn(metric, data, expected, rtol, wide, backend, array):
    x, y = data()
    whole = metric.update(None, array(x), array(y))
    found = None
    for first, last in CUTS:
        found = metric.update(found, array(x[first:last]), array(y[first:last]))
    # Two ranks, each with half of the batches, joined as `fit` does.
    halves = [None, None]
    for i, (first, last) in enumerate(CUTS):
        halves[i % 2] = metric.update(halves[i % 2], array(x[first:last]), array(y[first:last]))
    value = expected()
    for statistics in (whole, found, metric.merge(*halves)):
        assert metric.compute(statistics) == pytest.approx(value, rel=rtol)


def test_all_of_them_in_a_compiled_step(wide, backend, monkeypatch):
    if backend == "torch":
        import torch

        fast = functools.partial(torch.compile, backend="eager")
        monkeypatch.setattr(torch, "compile", fast)
    for data in (classification, regression):
        rows = [row for row in OBJECTS if row[2] is data]
        found = train.evaluate(
            nn.Identity(),
            lambda output, target: trellis.mean(output),
            tuple(trellis.to_backend(x, backend) for x in data()),
            metrics={row[0]: row[1] for row in rows},
            batch_size=23,
        )
        for name, _, _, expected, rtol in rows:
            assert found[name] == pytest.approx(expected(), rel=rtol), name


def test_one_value_for_each_class():
    x, y = probabilities()
    for metric, expected in (
        (train.AUC(average="none", from_logits=False), by_class("roc_auc_score")),
        (
            train.AveragePrecision(average="none", from_logits=False),
            by_class("average_precision_score"),
        ),
        (train.Recall(average="none"), of_sklearn("recall_score", **predicted(None))),
    ):
        np.testing.assert_allclose(metric.compute(metric.update(None, x, y)), expected, rtol=1e-12)
    matrix = train.ConfusionMatrix()
    np.testing.assert_array_equal(
        matrix.compute(matrix.update(None, x, y)),
        of_sklearn("confusion_matrix", y, x.argmax(1), labels=range(CLASSES)),
    )


@pytest.mark.long  # torchmetrics takes ten seconds to import
def test_against_torchmetrics():
    """IoU without ignored pixels and absent classes, perplexity without padding, BLEU."""
    pytest.importorskip("torchmetrics")
    import torch
    from torchmetrics.classification import MulticlassJaccardIndex
    from torchmetrics.text import BLEUScore, Perplexity

    rng = np.random.default_rng(2)
    chosen, targets = rng.integers(0, 3, (2, 8, 8)), rng.integers(0, 3, (2, 8, 8))
    targets[0, :3] = 255
    theirs = MulticlassJaccardIndex(5, ignore_index=255)(
        torch.asarray(chosen), torch.asarray(targets)
    )
    ours = train.IoU(5, ignore_index=255)
    assert ours.compute(ours.update(None, chosen, targets)) == pytest.approx(
        float(theirs), rel=1e-6
    )

    logits, tokens = rng.normal(size=(3, 7, 11)), rng.integers(0, 11, (3, 7))
    tokens[1, 4:] = -100
    theirs = Perplexity(ignore_index=-100)(torch.asarray(logits), torch.asarray(tokens))
    ours = train.Perplexity(ignore_index=-100)
    assert ours.compute(ours.update(None, logits, tokens)) == pytest.approx(float(theirs), rel=1e-6)

    texts = [rng.integers(1, 6, 12 + 3 * i) for i in range(4)]
    said = [np.where(rng.random(len(x)) < 0.2, 9, x)[: len(x) - i] for i, x in enumerate(texts)]

    def padded(rows):
        return np.stack([np.pad(row, (0, 24 - len(row))) for row in rows])

    words = [" ".join(map(str, row)) for row in said], [[" ".join(map(str, row))] for row in texts]
    for smooth in (False, True):
        ours, found = train.BLEU(padding=0, smooth=smooth), None
        for rows in (slice(0, 1), slice(1, 4)):
            found = ours.update(found, padded(said)[rows], padded(texts)[rows])
        theirs = BLEUScore(smooth=smooth)(*words)
        # torchmetrics computes in float32.
        assert ours.compute(found) == pytest.approx(float(theirs), rel=1e-6)


def test_bleu_by_hand():
    """Two of three pairs of tokens are right, three of four tokens; nothing is too short."""
    found = train.BLEU(max_n=2).update(None, np.array([[1, 2, 3, 9]]), np.array([[1, 2, 3, 4]]))
    for smooth, expected in ((False, (3 / 4 * 2 / 3) ** 0.5), (True, (3 / 4 * 3 / 4) ** 0.5)):
        value = train.BLEU(max_n=2, smooth=smooth).compute(found)
        assert value == pytest.approx(expected, rel=1e-12)
    cut = train.BLEU(max_n=1, end=7)
    found = cut.update(None, np.array([[1, 2, 7, 3]]), np.array([[1, 2, 4, 7]]))
    assert cut.compute(found) == pytest.approx(np.exp(1 - 3 / 2), rel=1e-12)


def test_values_that_are_not_defined():
    """No examples of a class, constant targets: nan, and no number that looks like one."""
    for metric, x, y in (
        (train.AUC(), np.array([0.2, 0.4]), np.array([1, 1])),
        (train.AveragePrecision(), np.array([0.2, 0.4]), np.array([0, 0])),
        (train.R2Score(), np.array([1.0, 2.0]), np.array([3.0, 3.0])),
        (train.PearsonCorrelation(), np.array([1.0, 2.0]), np.array([3.0, 3.0])),
    ):
        assert np.isnan(metric.compute(metric.update(None, x, y))), metric.name


def of_probabilities(metric):
    x, y = probabilities()
    return metric.compute(metric.update(None, x.astype("float32"), y))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: train.Precision(3, average="median"), ArgumentError, "macro"),
        (lambda: train.Precision(3, threshold=0.5), ArgumentError, "two classes"),
        (lambda: train.TopKAccuracy(0), ArgumentError, "at least 1"),
        (lambda: train.BLEU(max_n=0), ArgumentError, "at least 1"),
        (lambda: train.R2Score().measure(np.ones((4, 1)), np.ones(4)), ShapeError,
         "shape of the targets"),
        (lambda: train.AUC().measure(np.ones((4, 3)), np.ones((5, 3))), ShapeError,
         "expects scores"),
        (lambda: train.AUC().measure(np.ones((4, 3)), np.ones((4, 3), int)), ShapeError, "argmax"),
        (lambda: of_probabilities(train.AUC()), ArgumentError, "from_logits=False"),
        (lambda: of_probabilities(train.AveragePrecision()), ArgumentError, "from_logits=False"),
        (lambda: train.Recall().measure(np.array([0, 1]), np.array([0, 1])), ArgumentTypeError,
         r"Recall\(num_classes\)"),
        (lambda: train.TopKAccuracy(5).measure(np.ones((2, 3)), np.array([0, 1])), ArgumentError,
         "5 classes"),
        (lambda: train.BLEU().measure(np.array([1]), np.array([1])), ShapeError, "tokens"),
    ],
)  # fmt: skip
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make()
