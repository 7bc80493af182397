"""Gradient descent: SGD and, with a trust ratio per leaf, LARS."""

from ._decay import Mask, add_decayed_weights
from ._moments import trace
from ._optimizer import Optimizer
from ._pairs import chain, identity
from ._rates import Rate, scale_by_learning_rate
from ._ratios import scale_by_trust_ratio


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's form of it; as in torch.optim.SGD.

        g = g + weight_decay * w
        m = momentum * m + g
        w = w - lr * (g + momentum * m  if nesterov else  m)

    Without momentum it is `trellis.gradient_descent_update`.

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
    ):
        heavy = trace(momentum, nesterov=nesterov) if momentum != 0 else identity()
        super().__init__(chain(add_decayed_weights(weight_decay, mask), heavy), lr)


class LARS(Optimizer):
    """Layer-wise adaptive rates (You, Gitman and Ginsburg, 2017), as in optax.lars.

        g = g + weight_decay * w
        r = trust_coefficient * ||w|| / (||g|| + epsilon)         (r = 1 if w or g is zero)
        m = momentum * m + lr * r * g
        w = w - (lr * r * g + momentum * m  if nesterov else  m)

    Norms are per leaf; that of g includes the decay, where the paper has ||g|| + weight_decay * ||w||. The
    function `trellis.lars_update` is another formula: it has no momentum, its `decay_lambda` adds no decay
    and cancels ||w||, and a leaf of zeros never moves there.

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
        parts = chain(
            add_decayed_weights(weight_decay, mask),
            scale_by_trust_ratio(trust_coefficient, epsilon),
            # Before the momentum: when the rate changes, past steps keep theirs.
            scale_by_learning_rate(lr, flip_sign=False),
            trace(momentum, nesterov=nesterov) if momentum != 0 else identity(),
        )
        super().__init__(parts, None)
        self.lr = lr
