"""Optimizers that divide by the size of past gradients: RMSprop, Adagrad, Adadelta, Adafactor."""

from functools import partial
from typing import Any

from .._core.dispatch import xp_of
from .._core.typing import Array
from .arguments import flag, fraction, non_negative, positive
from .clipping import clip_by_rms
from .decay import Mask, add_decayed_weights
from .descent import with_momentum
from .moments import ema
from .optimizer import Optimizer
from .rms import scale_by_adadelta, scale_by_adagrad, scale_by_factored_rms, scale_by_rms
from .scaling import Rate, scale_by_learning_rate, scale_by_param_rms, scale_by_schedule
from .transformation import chain, identity


class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012), as in torch.optim.RMSprop.

        v = decay * v + (1 - decay) * g**2
        m = momentum * m + g / (sqrt(v) + epsilon)
        w = w - lr * m

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        decay: How much of the last v stays, in [0, 1).
        epsilon: Keeps the division finite.
        momentum: How much of the last m stays, in [0, 1].
        centered: Whether the root is of `v - a**2`, where a is the average of g.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.RMSprop(lr=0.1, decay=0.75)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.8, 2.2])
    """

    def __init__(
        self,
        lr: Rate = 1e-2,
        decay: float = 0.99,
        epsilon: float = 1e-8,
        momentum: float = 0,
        *,
        centered: bool = False,
    ):
        rms = scale_by_rms(decay, epsilon, centered=centered)
        super().__init__(chain(rms, with_momentum(momentum)), lr)


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011), as in torch.optim.Adagrad.

        s = s + g**2
        w = w - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + epsilon)

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        epsilon: Keeps the division finite.
        lr_decay: How fast the learning rate falls.
        initial_accumulator: The first s.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Adagrad(lr=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.9, 2.1])
    """

    def __init__(
        self,
        lr: Rate = 1e-2,
        epsilon: float = 1e-10,
        *,
        lr_decay: float = 0,
        initial_accumulator: float = 0,
    ):
        falling = partial(_inverse_time, non_negative("lr_decay", lr_decay))
        slower = scale_by_schedule(falling) if lr_decay != 0 else identity()
        super().__init__(chain(scale_by_adagrad(initial_accumulator, epsilon), slower), lr)


def _inverse_time(lr_decay: float, step: Array | int) -> Any:
    return 1 / (1 + step * lr_decay)


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012), as in torch.optim.Adadelta.

        v = decay * v + (1 - decay) * g**2
        u = sqrt(d + epsilon) / sqrt(v + epsilon) * g
        d = decay * d + (1 - decay) * u**2
        w = w - lr * u

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        decay: How much of the last v and d stays, in [0, 1).
        epsilon: Makes the first steps possible and keeps the division finite.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Adadelta(decay=0.75, epsilon=1e-4)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 4)
    array([0.98, 2.02])
    """

    def __init__(self, lr: Rate = 1.0, decay: float = 0.9, epsilon: float = 1e-6):
        super().__init__(scale_by_adadelta(decay, epsilon), lr)


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern, 2018), as in optax.adafactor: second moments in little memory.

        b = 1 - t**-decay_rate;   v = b * v + (1 - b) * (g**2 + epsilon)
        u = g / sqrt(v);          u = u / max(1, rms(u) / clipping)
        u = lr * max(rms(w), 1e-3) * u                     (the factor if scale_by_parameters)
        m = momentum * m + (1 - momentum) * u              (if momentum)
        w = w - m - weight_decay * w

    For large leaves, v is the outer product of two vectors over its mean.

    Args:
        lr: A number, an array of one number, or a schedule; None for the paper's relative step,
            `min(1e-2, 1 / sqrt(t))`.
        decay_rate: How fast old squares are forgotten, at least 0.
        clipping: The largest root of the mean square of u; None for no limit.
        momentum: How much of the last m stays, in [0, 1); None for none.
        weight_decay: The part of each weight that is taken away, whatever the learning rate.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.
        epsilon: Added to the squares.
        scale_by_parameters: Whether steps are relative to the size of the parameters.
        factored: Whether any leaf is factored.
        min_size_to_factor: The least size of the two largest axes for a leaf to be factored.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Adafactor(lr=0.1, scale_by_parameters=False)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 6)
    array([0.9, 2.1])
    """

    def __init__(
        self,
        lr: Rate | None = None,
        decay_rate: float = 0.8,
        *,
        clipping: float | None = 1.0,
        momentum: float | None = None,
        weight_decay: float = 0,
        mask: Mask = None,
        epsilon: float = 1e-30,
        scale_by_parameters: bool = True,
        factored: bool = True,
        min_size_to_factor: int = 128,
    ):
        rate = _relative_step if lr is None else lr
        parts = chain(
            scale_by_factored_rms(
                decay_rate, epsilon, factored=factored, min_size_to_factor=min_size_to_factor
            ),
            identity() if clipping is None else clip_by_rms(positive("clipping", clipping)),
            scale_by_learning_rate(rate, flip_sign=False),
            scale_by_param_rms()
            if flag("scale_by_parameters", scale_by_parameters)
            else identity(),
            identity() if momentum is None else ema(fraction("momentum", momentum), debias=False),
            add_decayed_weights(weight_decay, mask),
        )
        super().__init__(parts, 1.0)
        self.lr = rate


def _relative_step(step: Array | int) -> Any:
    xp = xp_of(step)
    return xp.minimum(1 / xp.sqrt(step + 1), 1e-2)
