"""Gradient descent: SGD and, with a trust ratio per leaf, LARS."""

from .._core.errors import ArgumentError
from .arguments import flag, non_negative, rate, zero_to_one
from .decay import Mask, add_decayed_weights
from .moments import trace
from .optimizer import Optimizer
from .scaling import Rate, scale_by_learning_rate, scale_by_trust_ratio
from .transformation import Transformation, chain, identity


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's form of it; as in torch.optim.SGD.

        g = g + weight_decay * w
        m = momentum * m + (1 - dampening) * g        (m = g in the first step)
        w = w - lr * (g + momentum * m  if nesterov else  m)

    Without momentum it is `trellis.gradient_descent_update`.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        momentum: How much of the last m stays, in [0, 1].
        nesterov: Whether the step looks one step of m ahead.
        weight_decay: The factor of an L2 penalty.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.
        dampening: The part of each new gradient that does not enter m, in [0, 1].

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.SGD(0.1, momentum=0.9)
    >>> v = np.array([1.0, 2.0])
    >>> for _ in range(2):
    ...     v = opt.step(v, np.array([1.0, 0.0]))
    >>> v
    array([0.71, 2.  ])
    """

    def __init__(
        self,
        lr: Rate,
        momentum: float = 0,
        nesterov: bool = False,
        *,
        weight_decay: float = 0,
        mask: Mask = None,
        dampening: float = 0,
    ):
        decay = add_decayed_weights(weight_decay, mask)
        super().__init__(chain(decay, with_momentum(momentum, nesterov, dampening)), lr)


class LARS(Optimizer):
    """Layer-wise adaptive rates (You, Gitman and Ginsburg, 2017), as in optax.lars.

        g = g + weight_decay * w
        r = trust_coefficient * ||w|| / (||g|| + epsilon)         (r = 1 if w or g is zero)
        m = momentum * m + lr * r * g
        w = w - (lr * r * g + momentum * m  if nesterov else  m)

    Norms are per leaf; that of g includes the decay, where the paper has ||g|| + weight_decay *
    ||w||. The function `trellis.lars_update` is another formula: it has no momentum, its
    `decay_lambda` adds no decay and cancels ||w||, and a leaf of zeros never moves there.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        momentum: How much of the last m stays, in [0, 1].
        nesterov: Whether the step looks one step of m ahead.
        weight_decay: The factor of an L2 penalty.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.
        trust_coefficient: The length of a step, as a part of the length of its leaf.
        epsilon: Added to the norm of g.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.LARS(1.0, momentum=0, trust_coefficient=0.1)
    >>> opt.step(np.array([3.0, 4.0]), np.array([0.6, 0.8]))
    array([2.7, 3.6])
    """

    def __init__(
        self,
        lr: Rate,
        momentum: float = 0.9,
        nesterov: bool = False,
        *,
        weight_decay: float = 0,
        mask: Mask = None,
        trust_coefficient: float = 1e-3,
        epsilon: float = 0,
    ):
        trust = non_negative("trust_coefficient", trust_coefficient)
        parts = chain(
            add_decayed_weights(weight_decay, mask),
            scale_by_trust_ratio(trust, epsilon),
            # Before the momentum: when the rate changes, past steps keep theirs.
            scale_by_learning_rate(lr, flip_sign=False),
            with_momentum(momentum, nesterov),
        )
        super().__init__(parts, 1.0)
        self.lr = rate("lr", lr)


def with_momentum(momentum: float, nesterov: bool = False, dampening: float = 0) -> Transformation:
    """Momentum, or nothing at all where it is 0."""
    decay, damping = zero_to_one("momentum", momentum), zero_to_one("dampening", dampening)
    if decay == 0 and flag("nesterov", nesterov):
        raise ArgumentError("nesterov=True needs a momentum: write momentum=0.9, for example.")
    if decay == 0 and damping != 0:
        raise ArgumentError("dampening needs a momentum: write momentum=0.9, for example.")
    return trace(decay, nesterov=nesterov, dampening=damping) if decay != 0 else identity()
