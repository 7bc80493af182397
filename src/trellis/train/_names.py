"""What `fit` takes as a string: names of losses, optimizers and metrics, typed as literals."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from .. import functional
from .._core.errors import ArgumentError
from . import _metrics as metrics

LossName = Literal[
    "binary_cross_entropy",
    "cross_entropy",
    "focal_loss",
    "hinge_loss",
    "huber_loss",
    "kl_divergence",
    "mae_loss",
    "mean_absolute_error",
    "mean_squared_error",
    "mse_loss",
    "nll_loss",
    "poisson_nll_loss",
]
OptimizerName = Literal[
    "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "adan", "adopt", "lamb", "lbfgs",
    "lion", "muon", "nadam", "prodigy", "radam", "rmsprop", "schedule_free_adamw",
    "schedule_free_sgd", "sgd", "shampoo",
]  # fmt: skip
MetricName = Literal[
    "accuracy",
    "auc",
    "average_precision",
    "bleu",
    "f1_score",
    "iou",
    "log_loss",
    "mean_absolute_error",
    "mean_squared_error",
    "pearson",
    "perplexity",
    "precision",
    "r2",
    "recall",
    "root_mean_squared_error",
    "top_5_accuracy",
]

METRICS: dict[str, Callable[[], metrics.Metric]] = {
    "accuracy": metrics.Accuracy,
    "auc": metrics.AUC,
    "average_precision": metrics.AveragePrecision,
    "bleu": metrics.BLEU,
    "f1_score": metrics.F1Score,
    "iou": metrics.IoU,
    "log_loss": metrics.LogLoss,
    "mean_absolute_error": lambda: metrics.Mean(functional.mae_loss),
    "mean_squared_error": lambda: metrics.Mean(functional.mse_loss),
    "pearson": metrics.PearsonCorrelation,
    "perplexity": metrics.Perplexity,
    "precision": metrics.Precision,
    "r2": metrics.R2Score,
    "recall": metrics.Recall,
    "root_mean_squared_error": lambda: metrics.MeanSquaredError(root=True),
    "top_5_accuracy": metrics.TopKAccuracy,
}
# Names that other libraries use for the same thing.
_SAME_LOSS = {"mean_absolute_error": "mae_loss", "mean_squared_error": "mse_loss"}
# The names of the classes are those without underscores, but for their case. SGD alone has no
# learning rate of its own.
_RATES = {"sgd": 0.01}

T = TypeVar("T")


def as_loss(given: Any) -> Any:
    """The loss of a name; anything else as it is."""
    if not isinstance(given, str):
        return given
    known = _known("loss", given, {name: name for name in LossName.__args__})  # type: ignore[attr-defined]
    return getattr(functional, _SAME_LOSS.get(known, known))


def as_optimizer(given: Any) -> Any:
    """A new optimizer with the default rate of its class; anything else as it is."""
    if not isinstance(given, str):
        return given
    from .. import optim

    names = OptimizerName.__args__  # type: ignore[attr-defined]
    plain = {name.lower(): name for name in dir(optim)}
    kind = getattr(optim, plain[_known("optimizer", given, {n: n.replace("_", "") for n in names})])
    return kind(_RATES[given]) if given in _RATES else kind()


def _known(what: str, given: str, names: Mapping[str, T]) -> T:
    if given not in names:
        raise ArgumentError(f"Unknown {what} {given!r}; known names are {', '.join(names)}.")
    return names[given]
