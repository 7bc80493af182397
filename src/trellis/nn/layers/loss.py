"""Losses as modules, over the functions of `trellis.functional`; see there for the formulas.

A module takes the arrays that its function takes, and has the function's options as options of its
constructor.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from ... import functional as functions
from .layer import Layer


class _Loss(Layer):
    function: ClassVar[Callable[..., Any]]

    def __init__(self, function_options: dict[str, Any], options: dict[str, Any]):
        self._options = function_options
        super().__init__(**options)

    def _forward(self, *arrays: Any, **more: Any) -> Any:
        return type(self).function(*arrays, **self._options, **more)

    def extra_repr(self) -> str:
        return ", ".join(
            [
                f"{name}={value!r}"
                for name, value in self._options.items()
                if not hasattr(value, "shape")
            ]
        )


class MSELoss(_Loss):
    """The mean of squared differences."""

    function = staticmethod(functions.mse_loss)

    def __init__(self, *, reduction: str = "mean", **options: Any):
        super().__init__({"reduction": reduction}, options)


class MAELoss(_Loss):
    """The mean of absolute differences."""

    function = staticmethod(functions.mae_loss)

    def __init__(self, *, reduction: str = "mean", **options: Any):
        super().__init__({"reduction": reduction}, options)


class HuberLoss(_Loss):
    """Squares for small differences, absolute values for large ones."""

    function = staticmethod(functions.huber_loss)

    def __init__(self, *, delta: float = 1.0, reduction: str = "mean", **options: Any):
        super().__init__({"delta": delta, "reduction": reduction}, options)


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts."""

    function = staticmethod(functions.poisson_nll_loss)

    def __init__(
        self,
        *,
        log_input: bool = True,
        full: bool = False,
        epsilon: float = 1e-8,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "log_input": log_input,
            "full": full,
            "epsilon": epsilon,
            "reduction": reduction,
        }
        super().__init__(given, options)


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits and class indices or probabilities.

    >>> import numpy as np, trellis
    >>> loss = trellis.nn.CrossEntropyLoss()
    >>> round(float(loss(np.array([[0.0, 0.0]]), np.array([1]))), 4)
    0.6931
    """

    function = staticmethod(functions.cross_entropy)

    def __init__(
        self,
        *,
        axis: int = -1,
        label_smoothing: float = 0.0,
        weight: Any = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "axis": axis,
            "label_smoothing": label_smoothing,
            "weight": weight,
            "ignore_index": ignore_index,
            "reduction": reduction,
        }
        super().__init__(given, options)


class NLLLoss(_Loss):
    """Negative log likelihood of logarithms of probabilities."""

    function = staticmethod(functions.nll_loss)

    def __init__(
        self,
        *,
        axis: int = -1,
        weight: Any = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "axis": axis,
            "weight": weight,
            "ignore_index": ignore_index,
            "reduction": reduction,
        }
        super().__init__(given, options)


class KLDivergenceLoss(_Loss):
    """Kullback-Leibler divergence from logarithms of probabilities."""

    function = staticmethod(functions.kl_divergence)

    def __init__(
        self,
        *,
        axis: int = -1,
        log_targets: bool = False,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "axis": axis,
            "log_targets": log_targets,
            "reduction": reduction,
        }
        super().__init__(given, options)


class BinaryCrossEntropyLoss(_Loss):
    """Cross entropy of two classes, from probabilities or logits."""

    function = staticmethod(functions.binary_cross_entropy)

    def __init__(
        self,
        *,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        positive_weight: Any = None,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "from_logits": from_logits,
            "label_smoothing": label_smoothing,
            "positive_weight": positive_weight,
            "reduction": reduction,
        }
        super().__init__(given, options)


class FocalLoss(_Loss):
    """Binary cross entropy of logits in which easy examples count less."""

    function = staticmethod(functions.focal_loss)

    def __init__(
        self,
        *,
        alpha: float | None = 0.25,
        gamma: float = 2.0,
        reduction: str = "mean",
        **options: Any,
    ):
        super().__init__({"alpha": alpha, "gamma": gamma, "reduction": reduction}, options)


class HingeLoss(_Loss):
    """`max(0, margin - target * prediction)` for targets of -1 and 1."""

    function = staticmethod(functions.hinge_loss)

    def __init__(self, *, margin: float = 1.0, reduction: str = "mean", **options: Any):
        super().__init__({"margin": margin, "reduction": reduction}, options)


class CosineLoss(_Loss):
    """One minus the cosine between two vectors."""

    function = staticmethod(functions.cosine_loss)

    def __init__(
        self,
        *,
        margin: float = 0.0,
        axis: int = -1,
        epsilon: float = 1e-8,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "margin": margin,
            "axis": axis,
            "epsilon": epsilon,
            "reduction": reduction,
        }
        super().__init__(given, options)


class TripletLoss(_Loss):
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`."""

    function = staticmethod(functions.triplet_loss)

    def __init__(
        self,
        *,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "margin": margin,
            "p": p,
            "epsilon": epsilon,
            "reduction": reduction,
        }
        super().__init__(given, options)


class CTCLoss(_Loss):
    """Connectionist temporal classification."""

    function = staticmethod(functions.ctc_loss)

    def __init__(
        self,
        *,
        blank: int = 0,
        zero_infinity: bool = False,
        time_major: bool = False,
        reduction: str = "mean",
        **options: Any,
    ):
        given = {
            "blank": blank,
            "zero_infinity": zero_infinity,
            "time_major": time_major,
            "reduction": reduction,
        }
        super().__init__(given, options)
