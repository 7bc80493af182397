"""Optimizers with the directions of `adaptive`: RAdam, Adan, ADOPT."""

from .adaptive import scale_by_adan, scale_by_adopt, scale_by_radam
from .decay import Mask, add_decayed_weights
from .optimizer import Optimizer
from .scaling import Rate
from .transformation import chain


class RAdam(Optimizer):
    """Adam whose first steps are rectified (Liu et al., 2020), as in torch.optim.RAdam.

    The direction is that of `optim.scale_by_radam`: no warm-up of the learning rate is needed.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of their squares, above 2/3 and below 1.
        epsilon: Keeps the division finite.
        weight_decay: The part of each weight that is subtracted, before the learning rate; as in
            torch with `decoupled_weight_decay=True`.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.RAdam(lr=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.95, 2.3 ])
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0,
        *,
        mask: Mask = None,
    ):
        radam = scale_by_radam(beta1, beta2, epsilon)
        super().__init__(chain(radam, add_decayed_weights(weight_decay, mask)), lr)


class Adan(Optimizer):
    """Adaptive Nesterov momentum (Xie et al., 2022), with the direction of `optim.scale_by_adan`.

        w = w - lr * (adan_direction + weight_decay * w)

    The authors' program divides by `1 + lr * weight_decay` instead, which is the same to first
    order.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of differences of gradients, in [0, 1).
        beta3: Decay of the average of squares, in [0, 1).
        epsilon: Keeps the division finite.
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Adan(lr=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.9, 2.1])
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        beta1: float = 0.98,
        beta2: float = 0.92,
        beta3: float = 0.99,
        epsilon: float = 1e-8,
        weight_decay: float = 0,
        *,
        mask: Mask = None,
    ):
        adan = scale_by_adan(beta1, beta2, beta3, epsilon)
        super().__init__(chain(adan, add_decayed_weights(weight_decay, mask)), lr)


class ADOPT(Optimizer):
    """Adam that converges for every beta2 (Taniguchi et al., 2024), as in optax.contrib.adopt.

    The direction is that of `optim.scale_by_adopt`. The first step moves nothing but the decay.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of the average of normed gradients, in [0, 1).
        beta2: Decay of the average of squares, in [0, 1).
        epsilon: The smallest number that a gradient is divided by.
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.ADOPT(lr=0.1)
    >>> v = np.array([1.0, 2.0])
    >>> for _ in range(2):
    ...     v = opt.step(v, np.array([0.5, -3.0]))
    >>> np.round(v, 6)
    array([0.99, 2.01])
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.9999,
        epsilon: float = 1e-6,
        weight_decay: float = 0,
        *,
        mask: Mask = None,
    ):
        adopt = scale_by_adopt(beta1, beta2, epsilon)
        super().__init__(chain(adopt, add_decayed_weights(weight_decay, mask)), lr)
