"""What the three estimators share: their parameters, the module, and training."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._array.casting import astype
from .._array.interchange import to_numpy
from .._array.reduction import mean
from .._core.dispatch import current_backend, using_backend
from .._core.dtypes import name_of, using_default_dtype
from .._core.errors import ArgumentError
from .._core.typing import Array, DTypeLike
from .._random.keys import fold_in
from .._random.keys import key as make_key
from .._random.stream import stream
from ..nn import Module
from ..optim import Adam, Optimizer
from ..train import History, predict
from ..train import fit as train
from ._modules import mlp

Make = Callable[[Any, int], Module]
Loss = Callable[[Any, Any], Any]

_AT_ONCE = 1024  # examples of a prediction
_GIVEN = ("optimizer", "epochs", "batch_size", "seed", "compile", "progress")


class Estimator(BaseEstimator):
    """An estimator whose model is a module; `module_` after `fit`."""

    _loss: Loss

    def __init__(
        self,
        module: Make | Module | None = None,
        *,
        loss: Loss | None = None,
        optimizer: Optimizer | Callable[[float], Optimizer] | None = None,
        lr: float | None = None,
        epochs: int = 100,
        batch_size: int = 128,
        backend: str | None = None,
        dtype: DTypeLike | None = None,
        input_dtype: DTypeLike | None = None,
        compile: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        fit_options: Mapping[str, Any] | None = None,
    ):
        """An estimator over a module.

        Arguments:
            module: a function of (inputs, outputs) that returns a module, such as `mlp` or a
                `Build`; or a module, of which `fit` trains a copy; None means `mlp`. `inputs` is
                the number of features, or the shape of one example that is no vector
            loss: function of (output, target) that returns one loss per example, or their mean
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
            fit_options: more arguments of `trellis.train.fit`, such as
                {"mixed_precision": "bfloat16"}
        """
        self.module = module
        self.loss = loss
        self.optimizer = optimizer
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size
        self.backend = backend
        self.dtype = dtype
        self.input_dtype = input_dtype
        self.compile = compile
        self.random_state = random_state
        self.verbose = verbose
        self.fit_options = fit_options

    # Data
    # -----------------------------------------------------------------------------------------

    def _examples(self, X: Any, *, reset: bool, **options: Any) -> Any:
        """Checked data, as scikit-learn checks them; `reset` at the first fit."""
        return validate_data(
            self, X, reset=reset, allow_nd=True, dtype=self._input_kind(X), **options
        )

    def _input_kind(self, X: Any) -> Any:
        if self.input_dtype is not None:
            return name_of(self.input_dtype)
        return ["float64", "float32"] if self.dtype is None else name_of(self.dtype)

    def _kind(self, X: np.ndarray) -> str:
        """The dtype of the variables."""
        if self.dtype is not None:
            return name_of(self.dtype)
        return "float32" if X.dtype == "float32" else "float64"

    # Training
    # -------------------------------------------------------------------------------------

    def _begin(self, X: np.ndarray, outputs: int) -> None:
        """A new module and a new optimizer."""
        self._key = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._fits = 0
        self.history_: History | None = None
        inputs = X.shape[1] if X.ndim == 2 else X.shape[1:]
        self.module_ = self._new_module(inputs, outputs, self._kind(X))
        self.optimizer_ = self._new_optimizer()

    def _new_module(self, inputs: Any, outputs: int, dtype: str) -> Module:
        return self._made("module", inputs, outputs, dtype)

    def _made(self, name: str, inputs: Any, outputs: int, dtype: str, draw: int = 0) -> Module:
        """The module that the parameter of that name asks for, with its initial values."""
        module = getattr(self, name)
        backend = current_backend() if self.backend is None else self.backend
        if isinstance(module, Module):
            if self.dtype is not None or self.backend is not None:
                raise ArgumentError(
                    f"{name} is a module, which has a backend and a dtype: leave both out, or pass "
                    "a function that makes the module."
                )
            return copy.deepcopy(module)
        make = mlp if module is None else module
        if not callable(make):
            raise ArgumentError(
                f"{name} is a module, or a function of (inputs, outputs) that returns one; got "
                f"{module!r}."
            )
        key = fold_in(make_key(self._key, backend=backend), draw)
        with using_backend(backend), using_default_dtype(dtype), stream(key):
            made = make(inputs, outputs)
        if not isinstance(made, Module):
            raise ArgumentError(f"{name} returned {type(made).__name__}; expected a module.")
        return made

    def _new_optimizer(self) -> Any:
        if isinstance(self.optimizer, Optimizer):
            if self.lr is not None:
                raise ArgumentError(
                    "lr is for a class of optimizers: write optimizer=optim.SGD, lr=0.1, or "
                    "optimizer=optim.SGD(0.1)."
                )
            return copy.deepcopy(self.optimizer)
        return (self.optimizer or Adam)(0.01 if self.lr is None else self.lr)

    def _train(self, X: np.ndarray, target: Any, weights: Any, epochs: int) -> Self:
        """Train `module_` for some epochs; `weights` have mean 1, or are None."""
        options = dict(self.fit_options or {})
        known = [name for name in _GIVEN if name in options]
        if known:
            raise ArgumentError(
                f"fit_options has {known[0]!r}, which is an argument of the estimator itself."
            )
        loss = self._loss if self.loss is None else self.loss
        with using_default_dtype(self._kind(X)):
            if epochs:
                self.history_ = train(
                    self.module_,
                    Weighted(loss, weights is not None),
                    (X, target if weights is None else (target, weights)),
                    optimizer=self.optimizer_,
                    epochs=epochs,
                    batch_size=min(self.batch_size, len(X)),
                    seed=self._key + self._fits,
                    compile=self.compile,
                    progress=bool(self.verbose),
                    **options,
                )
            elif not self.module_.built:
                predict(self.module_, X[:1], compile=False)
        self._fits += 1
        return self

    def _output(self, X: Any, name: str = "module_") -> np.ndarray:
        """What the trained module of that name gives for examples, as a NumPy array."""
        check_is_fitted(self)
        return self._computed(getattr(self, name), self._examples(X, reset=False))

    def _computed(self, module: Module, X: np.ndarray) -> np.ndarray:
        return to_numpy(predict(module, X, batch_size=_AT_ONCE, compile=self.compile))


class Weighted:
    """The loss of a batch: the mean over examples, weighted where `fit` was given weights."""

    def __init__(self, loss: Loss, is_weighted: bool):
        self._loss, self._is_weighted = loss, is_weighted

    def __call__(self, output: Any, target: Any) -> Array:
        if not self._is_weighted:
            return mean(self._loss(output, target))
        target, weights = target
        losses = self._loss(output, target)
        if len(losses.shape) == 0:
            raise ArgumentError(
                "With sample_weight or class_weight the loss has to be one number per example; "
                'this one returned one for all. Losses of trellis take reduction="none".'
            )
        losses = mean(losses, axis=tuple(range(1, len(losses.shape))))
        return mean(losses * astype(weights, losses.dtype))


def weights_of(sample_weight: Any, X: np.ndarray) -> np.ndarray | None:
    """Checked weights of the examples."""
    if sample_weight is None:
        return None
    weights = np.asarray(
        check_array(sample_weight, ensure_2d=False, dtype="float64", input_name="sample_weight")
    )
    if weights.ndim == 0:
        weights = np.full(len(X), weights)
    if weights.ndim != 1:
        raise ArgumentError(f"sample_weight has shape {weights.shape}; expected one axis.")
    check_consistent_length(weights, X)
    if (weights < 0).any() or not weights.any():
        raise ArgumentError("sample_weight has negative weights, or none above zero.")
    return weights


def with_weight(
    weights: np.ndarray | None, dtype: str, *arrays: np.ndarray
) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Weights whose mean is 1, so that a batch has the loss that it would have in repeated data,
    and the examples whose weight is not zero. None stands for equal weights."""
    if weights is None:
        return None, list(arrays)
    rows = weights > 0
    weights, left = weights[rows], [x[rows] for x in arrays]
    if (weights == weights[0]).all():
        return None, left
    return (weights / weights.mean()).astype(dtype), left
