"""Losses as modules, over the functions of `trellis.functional`; see there for the formulas.

A module takes the arrays that its function takes, and has the function's options as options of its
constructor.
"""

from typing import Any, Unpack

from ... import functional as F
from ..._core.typing import Array
from ...functional._reduction import Reduction
from .layer import FunctionLayer, Options


class _Loss(FunctionLayer):
    """What losses share."""

    def __init__(self, reduction: Reduction = "mean", **options: Unpack[Options]):
        """A loss.

        Arguments:
            reduction: "mean", "sum" or "none"
            options: those of `Module`
        """
        self._begin(options, reduction=reduction)

    def _forward(self, *arrays: Any, **more: Any) -> Any:
        return type(self)._function(*arrays, **self._options, **more)


class MSELoss(_Loss):
    """The mean of squared differences."""

    _function = staticmethod(F.mse_loss)


class MAELoss(_Loss):
    """The mean of absolute differences."""

    _function = staticmethod(F.mae_loss)


class HuberLoss(_Loss):
    """Squares for small differences, absolute values for large ones."""

    _function = staticmethod(F.huber_loss)

    def __init__(
        self,
        delta: float = 1.0,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            delta: where squares end and absolute values begin
        """
        self._begin(options, reduction=reduction, delta=delta)


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts."""

    _function = staticmethod(F.poisson_nll_loss)

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        epsilon: float = 1e-8,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            log_input: whether predictions are logarithms of the rate
            full: whether Stirling's approximation of the constant is added
            epsilon: keeps logarithms and lengths away from zero
        """
        self._begin(options, reduction=reduction, log_input=log_input, full=full, epsilon=epsilon)


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits and class indices or probabilities.

    >>> import numpy as np, trellis
    >>> loss = trellis.nn.CrossEntropyLoss()
    >>> round(float(loss(np.array([[0.0, 0.0]]), np.array([1]))), 4)
    0.6931
    """

    _function = staticmethod(F.cross_entropy)

    def __init__(
        self,
        axis: int = -1,
        label_smoothing: float = 0.0,
        weight: Array | None = None,
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            axis: the axis of the classes
            label_smoothing: the share of the targets that is spread over all classes
            weight: one factor per class
            ignore_index: a target that does not count
        """
        self._begin(
            options,
            reduction=reduction,
            axis=axis,
            label_smoothing=label_smoothing,
            weight=weight,
            ignore_index=ignore_index,
        )


class NLLLoss(_Loss):
    """Negative log likelihood of logarithms of probabilities."""

    _function = staticmethod(F.nll_loss)

    def __init__(
        self,
        axis: int = -1,
        weight: Array | None = None,
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; axis, weight, ignore_index, reduction, options are as in `CrossEntropyLoss`."""
        self._begin(
            options, reduction=reduction, axis=axis, weight=weight, ignore_index=ignore_index
        )


class KLDivergenceLoss(_Loss):
    """Kullback-Leibler divergence from logarithms of probabilities."""

    _function = staticmethod(F.kl_divergence)

    def __init__(
        self,
        axis: int = -1,
        log_targets: bool = False,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            axis: the axis of the classes
            log_targets: whether targets are logarithms too
        """
        self._begin(options, reduction=reduction, axis=axis, log_targets=log_targets)


class BinaryCrossEntropyLoss(_Loss):
    """Cross entropy of two classes, from probabilities or logits."""

    _function = staticmethod(F.binary_cross_entropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        positive_weight: Array | float | None = None,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            from_logits: whether predictions are logits, not probabilities
            label_smoothing: the share of the targets that is spread over all classes
            positive_weight: a factor for the positive class
        """
        self._begin(
            options,
            reduction=reduction,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            positive_weight=positive_weight,
        )


class FocalLoss(_Loss):
    """Binary cross entropy of logits in which easy examples count less."""

    _function = staticmethod(F.focal_loss)

    def __init__(
        self,
        alpha: float | None = 0.25,
        gamma: float = 2.0,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            alpha: the weight of positives; negatives have 1 - alpha; None weighs none
            gamma: how much less easy examples count
        """
        self._begin(options, reduction=reduction, alpha=alpha, gamma=gamma)


class HingeLoss(_Loss):
    """`max(0, margin - target * prediction)` for targets of -1 and 1."""

    _function = staticmethod(F.hinge_loss)

    def __init__(
        self,
        margin: float = 1.0,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            margin: the distance beyond which nothing is lost
        """
        self._begin(options, reduction=reduction, margin=margin)


class CosineLoss(_Loss):
    """One minus the cosine between two vectors."""

    _function = staticmethod(F.cosine_loss)

    def __init__(
        self,
        margin: float = 0.0,
        axis: int = -1,
        epsilon: float = 1e-8,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            margin: the similarity below which other directions cost nothing
            axis: the axis of the vectors
            epsilon: keeps logarithms and lengths away from zero
        """
        self._begin(options, reduction=reduction, margin=margin, axis=axis, epsilon=epsilon)


class TripletLoss(_Loss):
    """`max(0, |anchor - positive| - |anchor - negative| + margin)`."""

    _function = staticmethod(F.triplet_loss)

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            margin: the distance beyond which nothing is lost
            p: the norm of distances
            epsilon: keeps logarithms and lengths away from zero
        """
        self._begin(options, reduction=reduction, margin=margin, p=p, epsilon=epsilon)


class CTCLoss(_Loss):
    """Connectionist temporal classification."""

    _function = staticmethod(F.ctc_loss)

    def __init__(
        self,
        blank: int = 0,
        zero_infinity: bool = False,
        time_major: bool = False,
        reduction: Reduction = "mean",
        **options: Unpack[Options],
    ):
        """A loss; `reduction` and the options are as in `MSELoss`.

        Arguments:
            blank: the class that means no label
            zero_infinity: whether a target that does not fit costs 0, not inf
            time_major: whether time is the first axis of log_probs
        """
        self._begin(
            options,
            reduction=reduction,
            blank=blank,
            zero_infinity=zero_infinity,
            time_major=time_major,
        )
