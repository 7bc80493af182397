"""Optimizers that divide by the size of past gradients: RMSprop, Adagrad, Adadelta, Adafactor."""

from typing import Any

from .._core.dispatch import xp_of
from ._decay import Mask, add_decayed_weights
from ._factored import scale_by_factored_rms
from ._moments import ema, trace
from ._optimizer import Optimizer
from ._pairs import chain, identity
from ._rates import Rate, scale_by_learning_rate, scale_by_schedule
from ._ratios import clip_by_rms, scale_by_param_rms
from ._squares import scale_by_adadelta, scale_by_adagrad, scale_by_rms


class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012), as in torch.optim.RMSprop.

        v = decay * v + (1 - decay) * g**2
        m = momentum * m + g / (sqrt(v) + epsilon)
        w = w - lr * m

    With `centered`, `v - a**2` stands under the root, a being the average of g.
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
        heavy = trace(momentum) if momentum != 0 else identity()
        super().__init__(chain(scale_by_rms(decay, epsilon, centered=centered), heavy), lr)


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011), as in torch.optim.Adagrad.

    s = s + g**2
    w = w - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + epsilon)
    """

    def __init__(
        self,
        lr: Rate = 1e-2,
        epsilon: float = 1e-10,
        *,
        lr_decay: float = 0,
        initial_accumulator: float = 0,
    ):
        slower = (
            scale_by_schedule(lambda t: 1 / (1 + t * lr_decay)) if lr_decay != 0 else identity()
        )
        super().__init__(chain(scale_by_adagrad(initial_accumulator, epsilon), slower), lr)


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012), as in torch.optim.Adadelta.

    v = decay * v + (1 - decay) * g**2
    u = sqrt(d + epsilon) / sqrt(v + epsilon) * g
    d = decay * d + (1 - decay) * u**2
    w = w - lr * u
    """

    def __init__(self, lr: Rate = 1.0, decay: float = 0.9, epsilon: float = 1e-6):
        super().__init__(scale_by_adadelta(decay, epsilon), lr)


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern, 2018), as in optax.adafactor: second moments in little memory.

        b = 1 - t**-decay_rate;   v = b * v + (1 - b) * (g**2 + epsilon)
        u = g / sqrt(v);          u = u / max(1, rms(u) / clipping)
        u = lr * max(rms(w), 1e-3) * u                            (the factor if scale_by_parameters)
        m = momentum * m + (1 - momentum) * u                     (if momentum)
        w = w - m - weight_decay * w

    For leaves whose two largest axes have at least `min_size_to_factor` elements, v is the outer product of two
    vectors over its mean. Without `lr` it is the paper's relative step, `min(1e-2, 1 / sqrt(t))`.
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
            identity() if clipping is None else clip_by_rms(clipping),
            scale_by_learning_rate(rate, flip_sign=False),
            scale_by_param_rms() if scale_by_parameters else identity(),
            identity() if momentum is None else ema(momentum, debias=False),
            add_decayed_weights(weight_decay, mask),
        )
        super().__init__(parts, None)
        self.lr = rate


def _relative_step(step: Any) -> Any:
    xp = xp_of(step)
    return xp.minimum(1 / xp.sqrt(step + 1), 1e-2)
