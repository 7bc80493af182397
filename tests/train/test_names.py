"""Names of losses, optimizers and metrics: what they mean, and what errors suggest."""

import numpy as np
import pytest

import trellis
from trellis import errors, nn
from trellis.train import evaluate, fit

X = np.array([[0.2], [0.9], [0.6], [0.4]])
Y = np.array([[0.0], [1.0], [1.0], [2.0]])
LABELS = np.array([[0.0], [1.0], [0.0], [1.0]])


def formula(name):
    difference = X - Y
    return {
        "mse": np.mean(difference**2),
        "mae": np.mean(np.abs(difference)),
        "rmse": np.sqrt(np.mean(difference**2)),
        "bce": np.mean(-LABELS * np.log(X) - (1 - LABELS) * np.log(1 - X)),
        "huber": np.mean(
            np.where(np.abs(difference) < 1, difference**2 / 2, np.abs(difference) - 0.5)
        ),
        "f1": 2 / 4,  # of 0.2, 0.9, 0.6, 0.4 against 0, 1, 0, 1 at 0.5: one hit, two errors
    }[name]


@pytest.mark.parametrize("name", ["mse", "mae", "huber", "bce"])
def test_short_names_of_losses(name):
    found = evaluate(nn.Identity(), name, (X, LABELS if name == "bce" else Y))
    assert found["loss"] == pytest.approx(formula(name), rel=1e-12)  # float64


def test_nll_takes_logarithms():
    logs = np.log(np.array([[0.2, 0.8], [0.5, 0.5]]))
    found = evaluate(nn.Identity(), "nll", (logs, np.array([1, 0])))
    assert found["loss"] == pytest.approx(-(np.log(0.8) + np.log(0.5)) / 2, rel=1e-12)  # float64


@pytest.mark.parametrize("name", ["mse", "mae", "rmse"])
def test_short_names_of_metrics(name):
    found = evaluate(nn.Identity(), "mse", (X, Y), metrics=[name])
    assert found[name] == pytest.approx(formula(name), rel=1e-12)  # float64


def test_f1():
    labels, outputs = LABELS[:, 0].astype("int32"), np.stack([1 - X[:, 0], X[:, 0]], 1)
    found = evaluate(nn.Identity(), "cross_entropy", (outputs, labels), metrics="f1")
    long = evaluate(nn.Identity(), "cross_entropy", (outputs, labels), metrics="f1_score")
    assert found["f1"] == long["f1_score"] == pytest.approx(formula("f1"))


def call(loss="mse", optimizer="adam", metrics=None):
    fit(nn.Linear(1, 1, backend="numpy"), loss, (X.astype("f4"), Y.astype("f4")),
        optimizer=optimizer, metrics=metrics, progress=False)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"loss": "cros_entropy"}, "cross_entropy"),
        ({"loss": "CrossEntropyLoss"}, "cross_entropy"),
        ({"loss": "sparse_categorical_crossentropy"}, "cross_entropy"),
        ({"loss": "mean_square_error"}, "mean_squared_error"),
        ({"loss": "MSELoss"}, "mse_loss"),
        ({"loss": "l1"}, "mae"),
        ({"loss": "BCE"}, "bce"),
        ({"optimizer": "Adam"}, "adam"),
        ({"optimizer": "AdamW"}, "adamw"),
        ({"optimizer": "adm"}, "adam"),
        ({"optimizer": "schedule-free-sgd"}, "schedule_free_sgd"),
        ({"metrics": "acc"}, "accuracy"),
        ({"metrics": "acuracy"}, "accuracy"),
        ({"metrics": "roc_auc"}, "auc"),
        ({"metrics": "F1"}, "f1"),
        ({"metrics": "top_0_accuracy"}, "top_10_accuracy"),
    ],
)
def test_the_nearest_name_is_suggested(given, meant):
    with pytest.raises(errors.ArgumentError, match=f"did you mean '{meant}'"):
        call(**given)


def test_a_name_unlike_all_others_gets_the_list():
    with pytest.raises(errors.ArgumentError, match=r"Unknown loss 'zzz'\. Known names are bce, "):
        call(loss="zzz")


def test_a_matrix_is_no_metric_of_fit():
    with pytest.raises(errors.ArgumentError, match=r"train\.ConfusionMatrix\(\.\.\.\)"):
        call(metrics="confusion_matrix")


def test_every_name_is_taken():
    from trellis.train import _names

    for name in _names.LossName.__args__:
        assert callable(_names.as_loss(name))
    for name in _names.OptimizerName.__args__:
        assert isinstance(_names.as_optimizer(name), trellis.optim.Optimizer)
    for name in _names.MetricName.__args__:
        assert isinstance(_names.as_metric(name), trellis.train.Metric)
    assert _names.as_metric("top_7_accuracy").compute is not None
