"""Adam and its relatives, and Lion."""

from .adaptive import scale_by_amsgrad
from .arguments import flag
from .decay import Mask, add_decayed_weights
from .moments import scale_by_adam, scale_by_adamax, scale_by_lion, scale_by_nadam
from .optimizer import Optimizer
from .scaling import Rate, scale_by_trust_ratio
from .transformation import Transformation, chain


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), as in torch.optim.Adam and optax.adam.

        m = beta1 * m + (1 - beta1) * g;   v = beta2 * v + (1 - beta2) * g**2
        w = w - lr * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + epsilon)

    The function `trellis.adam_update` is another formula: there epsilon (1e-7) is in the bias
    correction too and is not itself corrected: `sqrt(1 - beta2**t) / (1 - beta1**t + epsilon) * m /
    (sqrt(v) + epsilon)`.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of m, the average of gradients, in [0, 1).
        beta2: Decay of v, the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.
        amsgrad: Whether v is the largest one so far: `optim.scale_by_amsgrad`.
        weight_decay: The factor of an L2 penalty, whose gradient passes through the moments; for
            decay that does not, use AdamW.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Adam(lr=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.9, 2.1])
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        *,
        amsgrad: bool = False,
        weight_decay: float = 0,
        mask: Mask = None,
    ):
        adam = _adam(beta1, beta2, epsilon, amsgrad)
        super().__init__(chain(add_decayed_weights(weight_decay, mask), adam), lr)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as in torch.optim.AdamW.

        w = w - lr * (adam_direction + weight_decay * w)

    The decay does not pass through the moments, and the learning rate scales it.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.
        amsgrad: Whether v is the largest one so far: `optim.scale_by_amsgrad`.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.AdamW(lr=0.1, weight_decay=0.5)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.zeros(2)), 6)
    array([0.95, 1.9 ])
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
        *,
        mask: Mask = None,
        amsgrad: bool = False,
    ):
        adam = _adam(beta1, beta2, epsilon, amsgrad)
        super().__init__(chain(adam, add_decayed_weights(weight_decay, mask)), lr)


def _adam(beta1: float, beta2: float, epsilon: float, amsgrad: bool) -> Transformation:
    direction = scale_by_amsgrad if flag("amsgrad", amsgrad) else scale_by_adam
    return direction(beta1, beta2, epsilon)


class Adamax(Optimizer):
    """Adam with the infinity norm (Kingma and Ba, 2015), as in torch.optim.Adamax.

        m = beta1 * m + (1 - beta1) * g;   u = max(beta2 * u, abs(g) + epsilon)
        w = w - lr / (1 - beta1**t) * m / u

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of m, the average of gradients, in [0, 1).
        beta2: Decay of u, the largest size seen, in [0, 1).
        epsilon: Keeps the division finite.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Adamax(lr=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.9, 2.1])
    """

    def __init__(
        self, lr: Rate = 2e-3, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
    ):
        super().__init__(scale_by_adamax(beta1, beta2, epsilon), lr)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016), as in torch.optim.NAdam.

        mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2);    p = mu(1) * ... * mu(t)
        n = mu(t+1) * m / (1 - p * mu(t+1)) + (1 - mu(t)) * g / (1 - p)
        w = w - lr * n / (sqrt(v / (1 - beta2**t)) + epsilon)

    m and v are Adam's moments. optax.nadam has a constant mu, which is another formula.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of m, the average of gradients, in [0, 1).
        beta2: Decay of v, the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.
        momentum_decay: How fast mu grows to beta1.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.NAdam(lr=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 4)
    array([0.8944, 2.1056])
    """

    def __init__(
        self,
        lr: Rate = 2e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        *,
        momentum_decay: float = 4e-3,
    ):
        super().__init__(scale_by_nadam(beta1, beta2, epsilon, momentum_decay), lr)


class LAMB(Optimizer):
    """Layer-wise adaptive moments for large batches (You et al., 2020), as in optax.lamb.

        u = adam_direction + weight_decay * w
        r = ||w|| / ||u||                                         (r = 1 if w or u is zero)
        w = w - lr * r * u

    Norms are per leaf. The function `trellis.lamb_update` is another formula: there the decay
    changes only the norm, the ratio has an upper limit, epsilon is in two denominators and a leaf
    of zeros never moves.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of their squares, in [0, 1).
        epsilon: Keeps the division in Adam's direction finite.
        weight_decay: The part of each weight that is added to the direction.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.LAMB(lr=0.1)
    >>> np.round(opt.step(np.array([3.0, 4.0]), np.array([1.0, 1.0])), 4)
    array([2.6464, 3.6464])
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        weight_decay: float = 0,
        *,
        mask: Mask = None,
    ):
        adam = scale_by_adam(beta1, beta2, epsilon)
        decay = add_decayed_weights(weight_decay, mask)
        super().__init__(chain(adam, decay, scale_by_trust_ratio()), lr)


class Lion(Optimizer):
    """Evolved sign momentum (Chen et al., 2023), as in optax.lion.

        w = w - lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * w)
        m = beta2 * m + (1 - beta2) * g

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Weight of the moment in the direction, in [0, 1).
        beta2: Decay of the moment, in [0, 1).
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Lion(lr=0.1)
    >>> opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0]))
    array([0.9, 2.1])
    """

    def __init__(
        self,
        lr: Rate = 1e-4,
        beta1: float = 0.9,
        beta2: float = 0.99,
        weight_decay: float = 0,
        *,
        mask: Mask = None,
    ):
        lion = scale_by_lion(beta1, beta2)
        super().__init__(chain(lion, add_decayed_weights(weight_decay, mask)), lr)
