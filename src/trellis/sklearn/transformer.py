"""`TrellisTransformer`."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._core.errors import ArgumentError
from ..nn import Module
from ._estimator import Estimator, weights_of, with_weight
from .regressor import squared_error


class TrellisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A scikit-learn transformer over any module: what the module returns are the new features.

    The module is trained to keep what another one, `decoder`, needs to restore the examples: an
    autoencoder. With `epochs=0` it is taken as it is, for one that was trained elsewhere. After
    `fit`, `encoder_` is the module, `decoder_` the other one, and `module_` both, one after the
    other.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = TrellisTransformer(n_components=2, epochs=5, random_state=0).fit(x)
    >>> model.transform(x).shape, model.inverse_transform(model.transform(x)).shape
    ((50, 2), (50, 4))
    """

    _loss = staticmethod(squared_error)

    def __init__(
        self,
        module: Any = None,
        *,
        decoder: Any = None,
        n_components: int = 2,
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
        """A transformer over a module.

        Arguments:
            module: a function of (inputs, n_components) that returns a module, such as `mlp` or a
                `Build`; or a module, of which `fit` trains a copy; None means `mlp`
            decoder: the same for the way back, called with (n_components, inputs)
            n_components: number of new features
            loss: function of (restored examples, examples), the squared difference unless given
            optimizer: an optimizer, of which `fit` uses a copy, or a class of `trellis.optim`,
                which is called with `lr`; None means `Adam`
            lr: learning rate, 0.01 unless given
            epochs: how often `fit` goes over the data; 0 takes the module as it is
            batch_size: examples of one step
            backend: the framework that computes; the default backend unless given
            dtype: of the variables; unless given float32 for data in float32, else float64
            input_dtype: of what the module gets, that of the variables unless given
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
        self.decoder = decoder
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train a new module; `y` is ignored."""
        return self._fit(X, sample_weight, True, self.epochs)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train for one more epoch, with these data; `y` is ignored."""
        return self._fit(X, sample_weight, not hasattr(self, "module_"), 1)

    def _fit(self, X: Any, sample_weight: Any, is_new: bool, epochs: int) -> Self:
        X = self._examples(X, reset=is_new)
        weights, (X,) = with_weight(weights_of(sample_weight, X), self._kind(X), X)
        if is_new:
            self._begin(X, self.n_components)
        return self._train(X, X, weights, epochs)

    def _new_module(self, inputs: Any, outputs: int, dtype: str) -> Module:
        if not isinstance(inputs, int) and self.decoder is None:
            raise ArgumentError(
                f"The examples have shape {inputs}: pass a decoder too, a function of "
                "(n_components, shape) that returns a module."
            )
        self.encoder_ = self._made("module", inputs, outputs, dtype)
        self.decoder_ = self._made("decoder", outputs, inputs, dtype, draw=1)
        return _Autoencoder(self.encoder_, self.decoder_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def transform(self, X: Any) -> np.ndarray:
        """The new features of each example."""
        return self._output(X, "encoder_")

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Examples restored from their new features."""
        check_is_fitted(self)
        X = check_array(X, dtype=self._input_kind(X), allow_nd=True)
        return self._computed(self.decoder_, X)


class _Autoencoder(Module):
    def __init__(self, encoder: Module, decoder: Module):
        self._encoder, self._decoder = encoder, decoder
        super().__init__()

    def _forward(self, x: Any) -> Any:
        return self._decoder(self._encoder(x))
