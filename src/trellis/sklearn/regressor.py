"""`TrellisRegressor`."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from .._core.errors import ShapeError
from ._estimator import Estimator, weights_of, with_weight


def squared_error(output: Any, target: Any) -> Any:
    """The squares of the differences, element by element."""
    return (output - target) ** 2


class TrellisRegressor(RegressorMixin, Estimator):
    """A scikit-learn regressor over any module; several targets at once are the columns of `y`.

    The module gets examples and returns one number for each target. After `fit`, `module_` is the
    trained module, `optimizer_` its optimizer and `history_` the history of the run.

    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> x = np.linspace(-1, 1, 90).reshape(-1, 1)
    >>> model = TrellisRegressor(epochs=60, random_state=0)
    >>> bool(model.fit(x, 3 * x[:, 0] + 1).score(x, 3 * x[:, 0] + 1) > 0.9)
    True
    """

    _loss = staticmethod(squared_error)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train a new module."""
        return self._fit(X, y, sample_weight, True, self.epochs)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one more epoch, with these data."""
        return self._fit(X, y, sample_weight, not hasattr(self, "module_"), 1)

    def _fit(self, X: Any, y: Any, sample_weight: Any, is_new: bool, epochs: int) -> Self:
        X, y = self._examples(X, y=y, reset=is_new, multi_output=True, y_numeric=True)
        y = np.asarray(y)
        weights, (X, target) = with_weight(
            weights_of(sample_weight, X),
            self._kind(X),
            X,
            y.reshape(len(y), -1).astype(self._kind(X)),
        )
        if is_new:
            self._begin(X, target.shape[1])
            self._columns = y.shape[1:]
        elif y.shape[1:] != self._columns:
            raise ShapeError(
                f"partial_fit() got y of shape {y.shape}; before, it was (n, *{self._columns})."
            )
        return self._train(X, target, weights, epochs)

    def predict(self, X: Any) -> np.ndarray:
        """One number for each example, or one row where `y` had columns."""
        output = self._output(X)
        return output.reshape(len(output), *self._columns)
