"""What `fit` takes as a string: names of losses, optimizers and metrics, typed as literals."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NoReturn, Protocol

from .. import functional
from .._core.errors import ArgumentError
from . import _metrics as metrics

LossName = Literal[
    "bce",
    "binary_cross_entropy",
    "cross_entropy",
    "focal_loss",
    "hinge_loss",
    "huber",
    "huber_loss",
    "kl_divergence",
    "mae",
    "mae_loss",
    "mean_absolute_error",
    "mean_squared_error",
    "mse",
    "mse_loss",
    "nll",
    "nll_loss",
    "poisson_nll_loss",
]
OptimizerName = Literal[
    "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "adan", "adopt", "lamb", "lbfgs",
    "lion", "muon", "nadam", "prodigy", "radam", "rmsprop", "schedule_free_adamw",
    "schedule_free_sgd", "sgd", "shampoo", "sophia",
]  # fmt: skip
MetricName = Literal[
    "accuracy",
    "auc",
    "average_precision",
    "bleu",
    "f1",
    "f1_score",
    "iou",
    "log_loss",
    "mae",
    "mean_absolute_error",
    "mean_squared_error",
    "mse",
    "pearson",
    "perplexity",
    "precision",
    "r2",
    "recall",
    "rmse",
    "root_mean_squared_error",
    "top_2_accuracy",
    "top_3_accuracy",
    "top_5_accuracy",
    "top_10_accuracy",  # and any other number, which no type can say
]


class OptimizerLike(Protocol):
    """What `fit` needs of an optimizer; those of `trellis.optim` have it."""

    def init(self, v: Any, /) -> Any: ...

    def update(self, v: Any, grads: Any, state: Any, /) -> Any: ...


MetricLike = metrics.Metric | MetricName | Callable[..., Any]
Metrics = MetricLike | Sequence[MetricLike] | Mapping[str, MetricLike] | None

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
}
# The short forms that everybody writes, in the one place where they mean something.
_SHORT = {
    "bce": "binary_cross_entropy",
    "f1": "f1_score",
    "huber": "huber_loss",
    "mae": "mean_absolute_error",
    "mse": "mean_squared_error",
    "nll": "nll_loss",
    "rmse": "root_mean_squared_error",
}
# Names that other libraries use for the same thing.
_SAME_LOSS = {"mean_absolute_error": "mae_loss", "mean_squared_error": "mse_loss"}
# Other libraries' names for what is called quite otherwise here.
_MEANT = {
    "acc": "accuracy",
    "ap": "average_precision",
    "auroc": "auc",
    "categoricalcrossentropy": "cross_entropy",
    "ce": "cross_entropy",
    "kldiv": "kl_divergence",
    "l1": "mae",
    "l2": "mse",
    "rocauc": "auc",
    "smoothl1": "huber",
    "sparsecategoricalcrossentropy": "cross_entropy",
}
# Metrics that are no single number.
_NOT_ONE_NUMBER = {"confusionmatrix": "ConfusionMatrix"}
# The names of the classes are those without underscores, but for their case. SGD alone has no
# learning rate of its own.
_RATES = {"sgd": 0.01}


def as_loss(given: Any) -> Any:
    """The loss of a name; anything else as it is."""
    if not isinstance(given, str):
        return given
    names = LossName.__args__  # type: ignore[attr-defined]
    if given not in names:
        _raise_unknown("loss", given, names)
    known = _SHORT.get(given, given)
    return getattr(functional, _SAME_LOSS.get(known, known))


def as_optimizer(given: Any) -> Any:
    """A new optimizer with the default rate of its class; anything else as it is."""
    if not isinstance(given, str):
        return given
    from .. import optim

    names = OptimizerName.__args__  # type: ignore[attr-defined]
    if given not in names:
        _raise_unknown("optimizer", given, names)
    plain = {name.lower(): name for name in dir(optim)}
    kind = getattr(optim, plain[given.replace("_", "")])
    return kind(_RATES[given]) if given in _RATES else kind()


def as_metric(given: str) -> metrics.Metric:
    """The metric of a name."""
    words = given.split("_")
    if len(words) == 3 and words[::2] == ["top", "accuracy"]:
        if words[1].isdecimal() and int(words[1]) > 0:
            return metrics.TopKAccuracy(int(words[1]))
    known = _SHORT.get(given, given)
    if known in METRICS:
        return METRICS[known]()
    if _plain(given) in _NOT_ONE_NUMBER:
        name = _NOT_ONE_NUMBER[_plain(given)]
        raise ArgumentError(
            f"{given!r} is not one number, as fit() and evaluate() record it. After the training: "
            f"metric = train.{name}(...); metric.update(model(x), y); metric.compute()."
        )
    names = MetricName.__args__  # type: ignore[attr-defined]
    _raise_unknown("metric", given, names)


def _raise_unknown(what: str, given: str, names: Sequence[str]) -> NoReturn:
    plain = {_plain(name): name for name in names}
    meant = _MEANT.get(_plain(given), plain.get(_plain(given)))
    close = get_close_matches(_plain(given), list(plain), n=1, cutoff=0.6)
    if meant not in names:
        meant = plain[close[0]] if close else None
    hint = "." if meant is None else f": did you mean {meant!r}?"
    raise ArgumentError(f"Unknown {what} {given!r}{hint} Known names are {', '.join(names)}.")


def _plain(name: str) -> str:
    """Small letters alone, without a last word that says what it is."""
    letters = "".join([c for c in name.lower() if c.isalnum()])
    return letters.removesuffix("loss") or letters
