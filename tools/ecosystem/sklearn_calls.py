"""Estimators and functions of scikit-learn that support the Array API standard, by module and name.

`X` has 24 rows of 4, in two classes that can be told apart; `LABELS` are the classes.
"""

import numpy as np
from sklearn import (
    decomposition,
    discriminant_analysis,
    linear_model,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    preprocessing,
)
from sklearn.metrics import pairwise

_random = np.random.default_rng(11)
LABELS = np.arange(24) % 2
X = _random.uniform(0.1, 0.9, (24, 4)) + LABELS[:, None] * np.array([0.9, 0.0, 0.4, 0.3])
Z = _random.uniform(0.1, 0.9, (5, 4))
TARGETS = X @ np.array([1.0, -2.0, 0.5, 0.25]) + 0.1 * _random.standard_normal(24)
TRUTH, GUESS = _random.uniform(0.1, 2.0, 24), _random.uniform(0.1, 2.0, 24)
GUESSED = np.where(_random.uniform(size=24) < 0.8, LABELS, 1 - LABELS)
CHANCES = np.clip(0.6 * LABELS + _random.uniform(0.05, 0.35, 24), 0, 1)


class _Call:
    def __init__(self, fn, arrays):
        self.arrays, self.fn = arrays, fn

    def __call__(self, *arrays):
        return self.fn(*arrays)


def _name(owner, name):
    return f"{owner.__name__}.{name}"


def _transformer(owner, name, **options):
    make = getattr(owner, name)
    return {_name(owner, name): _Call(lambda x: make(**options).fit(x).transform(x), (X,))}


def _predictor(owner, name, targets, **options):
    make = getattr(owner, name)

    def run(x, y):
        return make(**options).fit(x, y).predict(x)

    return {_name(owner, name): _Call(run, (X, targets))}


def _metrics(names, *arrays):
    return {_name(metrics, name): _Call(getattr(metrics, name), arrays) for name in names}


def _kernels(names):
    return {_name(pairwise, name): _Call(getattr(pairwise, name), (X, Z)) for name in names}


def _split(x, y):
    return model_selection.train_test_split(x, y, random_state=0)[0]


CALLS = {
    **_transformer(decomposition, "PCA", n_components=2, svd_solver="full"),
    **_transformer(preprocessing, "StandardScaler"),
    **_transformer(preprocessing, "MinMaxScaler"),
    **_transformer(preprocessing, "MaxAbsScaler"),
    **_transformer(preprocessing, "Normalizer"),
    **_transformer(preprocessing, "Binarizer", threshold=0.5),
    **_transformer(preprocessing, "PolynomialFeatures", degree=2),
    "sklearn.preprocessing.KernelCenterer": _Call(
        lambda x: preprocessing.KernelCenterer().fit_transform(x), (X @ X.T,)
    ),
    "sklearn.preprocessing.LabelEncoder": _Call(
        lambda y: preprocessing.LabelEncoder().fit_transform(y), (LABELS,)
    ),
    **_predictor(linear_model, "Ridge", TARGETS, solver="svd"),
    **_predictor(linear_model, "RidgeClassifier", LABELS, solver="svd"),
    **_predictor(discriminant_analysis, "LinearDiscriminantAnalysis", LABELS),
    **_predictor(naive_bayes, "GaussianNB", LABELS),
    "sklearn.mixture.GaussianMixture": _Call(
        lambda x: mixture.GaussianMixture(2, init_params="random", random_state=0).fit_predict(x),
        (X,),
    ),
    "sklearn.model_selection.train_test_split": _Call(_split, (X, LABELS)),
    **_metrics(
        ["mean_squared_error", "mean_absolute_error", "root_mean_squared_error", "r2_score"]
        + ["mean_squared_log_error", "mean_absolute_percentage_error", "explained_variance_score"]
        + ["max_error", "mean_poisson_deviance", "mean_gamma_deviance", "mean_tweedie_deviance"]
        + ["mean_pinball_loss", "median_absolute_error", "d2_tweedie_score"],
        TRUTH,
        GUESS,
    ),
    **_metrics(
        ["accuracy_score", "balanced_accuracy_score", "f1_score", "precision_score", "recall_score"]
        + ["confusion_matrix", "hamming_loss", "jaccard_score", "zero_one_loss"],
        LABELS,
        GUESSED,
    ),
    **_metrics(["log_loss", "brier_score_loss", "roc_curve"], LABELS, CHANCES),
    **_kernels(
        ["euclidean_distances", "cosine_similarity", "cosine_distances", "linear_kernel"]
        + ["polynomial_kernel", "rbf_kernel", "sigmoid_kernel", "chi2_kernel"]
        + ["additive_chi2_kernel", "manhattan_distances", "laplacian_kernel"]
    ),
}
