"""`TrellisClassifier`."""

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._core.errors import ArgumentError
from ..functional import cross_entropy
from ._estimator import Estimator, weights_of, with_weight


class TrellisClassifier(ClassifierMixin, Estimator):
    """A scikit-learn classifier over any module, for labels of any type.

    The module gets examples and returns one score (logit) for each class. Where `y` has several
    columns, each is a problem of its own: the module returns the scores of all of them side by
    side, `classes_` is a list, and so is what `predict_proba` returns. After `fit`, `module_` is
    the trained module, `optimizer_` its optimizer and `history_` the history of the run.

    >>> import numpy as np
    >>> x = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> model = TrellisClassifier(epochs=50, random_state=0).fit(x, ["no", "no", "yes", "yes"])
    >>> model.predict([[3.0], [-3.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(
        self,
        module: Any = None,
        *,
        class_weight: Any = None,
        loss: Any = None,
        optimizer: Any = None,
        lr: float | None = None,
        epochs: int = 100,
        batch_size: int = 128,
        backend: str | None = None,
        dtype: Any = None,
        input_dtype: Any = None,
        compile: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        fit_options: Any = None,
    ):
        """A classifier over a module.

        Arguments:
            module: a function of (inputs, outputs) that returns a module, such as `mlp` or a
                `Build`; or a module, of which `fit` trains a copy; None means `mlp`. `outputs` is
                the number of classes
            class_weight: a weight for each class, {label: weight}, or "balanced"; a list of these
                where `y` has columns
            loss: function of (scores, numbers of classes) that returns one loss per example, or
                their mean; cross-entropy unless given
            optimizer: an optimizer, of which `fit` uses a copy, or a class of `trellis.optim`,
                which is called with `lr`; None means `Adam`
            lr: learning rate, 0.01 unless given
            epochs: how often `fit` goes over the data
            batch_size: examples of one step
            backend: the framework that computes; the default backend unless given
            dtype: of the variables; unless given float32 for data in float32, else float64
            input_dtype: of what the module gets, that of the variables unless given; "int64" for a
                module that takes numbers of tokens
            compile: whether a step is one compiled function, which takes time for every `fit`
            random_state: an int or a `numpy.random.RandomState` for initial values, the order of
                the data and all draws; the same numbers on every framework
            verbose: whether to show a progress bar
            fit_options: more arguments of `trellis.train.fit`
        """
        super().__init__(
            module,
            loss=loss,
            optimizer=optimizer,
            lr=lr,
            epochs=epochs,
            batch_size=batch_size,
            backend=backend,
            dtype=dtype,
            input_dtype=input_dtype,
            compile=compile,
            random_state=random_state,
            verbose=verbose,
            fit_options=fit_options,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train a new module."""
        return self._fit(X, y, sample_weight, None, True, self.epochs)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one more epoch, with these data.

        The first call is told all `classes` if not all of them are in its `y`; a list of them where
        `y` has columns.
        """
        return self._fit(X, y, sample_weight, classes, not hasattr(self, "module_"), 1)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, is_new: bool, epochs: int
    ) -> Self:
        X, y = self._examples(X, y=y, reset=is_new, multi_output=True)
        check_classification_targets(y)
        y = np.asarray(y)
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        weights, (X, y) = with_weight(self._weights(X, y, sample_weight), self._kind(X), X, y)
        columns = [y] if y.ndim == 1 else list(y.T)
        if is_new:
            self._set_classes(columns, classes, y.ndim > 1)
            self._begin(X, sum([len(each) for each in self._classes()]))
        numbers = self._numbers(columns)
        return self._train(X, numbers[:, 0] if y.ndim == 1 else numbers, weights, epochs)

    def _weights(self, X: np.ndarray, y: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        """The product of the weights of the examples and of their classes."""
        weights = weights_of(sample_weight, X)
        if self.class_weight is not None:
            of_classes = compute_sample_weight(self.class_weight, y)
            weights = of_classes if weights is None else weights * of_classes
        return weights

    # Classes
    # --------------------------------------------------------------------------------------

    def _set_classes(self, columns: list[np.ndarray], classes: Any, has_columns: bool) -> None:
        if classes is None:
            found = [np.unique(column) for column in columns]
        else:
            found = [np.unique(each) for each in (classes if has_columns else [classes])]
        self.classes_ = found if has_columns else found[0]

    def _classes(self) -> list[np.ndarray]:
        return self.classes_ if isinstance(self.classes_, list) else [self.classes_]

    def _numbers(self, columns: list[np.ndarray]) -> np.ndarray:
        """The number of each label among its classes, a column for each problem."""
        numbers = []
        for column, classes in zip(columns, self._classes(), strict=True):
            unknown = ~np.isin(column, classes)
            if unknown.any():
                raise ArgumentError(
                    f"y has the class {column[unknown][0]!r}, which is not one of {classes}: pass "
                    "all classes to the first partial_fit(X, y, classes=...)."
                )
            numbers.append(np.searchsorted(classes, column))
        return np.stack(numbers, axis=1).astype("int64")

    def _loss(self, output: Any, target: Any) -> Any:  # type: ignore[override]
        if not isinstance(self.classes_, list):
            return cross_entropy(output, target, reduction="none")
        total: Any = 0.0
        for i, scores in enumerate(self._split(output)):
            total = total + cross_entropy(scores, target[:, i], reduction="none")
        return total

    def _split(self, output: Any) -> list[Any]:
        """The scores of each column of `y`."""
        ends = np.cumsum([len(each) for each in self._classes()]).tolist()
        return [output[:, a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    # Predictions
    # ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The class of each example, a column for each problem."""
        scores = self._split(self._output(X))
        found = [
            classes[each.argmax(axis=1)]
            for classes, each in zip(self._classes(), scores, strict=True)
        ]
        return np.stack(found, axis=1) if isinstance(self.classes_, list) else found[0]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class: (examples, classes), or a list of these where `y` had
        columns."""
        scores = self._split(self._output(X))
        found = [softmax(each, axis=1) for each in scores]
        return found if isinstance(self.classes_, list) else found[0]
