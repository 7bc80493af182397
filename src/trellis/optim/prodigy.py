"""Prodigy: Adam that finds its own step size."""

from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.typing import Array, Nest
from .arguments import explained, flag, fraction, non_negative, positive, rate
from .engine import cast_like, counter, flat, widened, without_params
from .moments import one_minus_power
from .optimizer import Optimizer
from .scaling import Rate
from .transformation import Transformation


@dataclass(frozen=True)
class ProdigyPair:
    """The pair of functions of `scale_by_prodigy`. In half precision all but the result is
    float32, where the squares of the first steps are not 0."""

    lr: Any
    beta1: float
    beta2: float
    beta3: float
    epsilon: float
    weight_decay: float
    first: float
    growth: float
    safeguard_warmup: bool

    def init(self, params: Nest) -> Container:
        step = counter(params)
        wide = tree.map(_widened, params)
        zeros = tree.map(lambda w: xp_of(w).zeros_like(w), wide)
        zero = _total(wide) * 0
        return Container(
            step=step,
            m=zeros,
            v=zeros,
            s=zeros,
            start=tree.map(lambda w: w * 1, wide),  # the memory of the variables is the caller's
            d=zero + self.first,
            numerator=zero,
        )

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        if params is None:
            raise without_params("scale_by_prodigy")
        step, d = state["step"] + 1, state["d"]
        xp = xp_of(step)
        t = xp.astype(step, d.dtype)
        lr = self.lr(t - 1) if callable(self.lr) else self.lr
        rise = xp.sqrt(one_minus_power(xp, self.beta2, t)) / one_minus_power(xp, self.beta1, t)
        # Not hasattr(lr, "dtype"), which Dynamo does not know of numbers that it keeps open.
        size = d * (lr if isinstance(lr, (int, float)) else cast_like(xp, lr, d)) * rise
        weight = d / self.first * (d if self.safeguard_warmup else size)
        g, w = tree.map(_widened, grads), tree.map(_widened, params)

        def fitting(x: Any, like: Any) -> Any:
            return cast_like(xp, x, like)

        m = tree.map(
            lambda m, g: self.beta1 * m + (1 - self.beta1) * fitting(d, g) * g, state["m"], g
        )
        v = tree.map(
            lambda v, g: self.beta2 * v + (1 - self.beta2) * (fitting(d, g) * g) ** 2,
            state["v"],
            g,
        )
        s = tree.map(lambda s, g: self.beta3 * s + fitting(weight, g) * g, state["s"], g)
        covered = _total(tree.map(lambda g, w0, w: g * (w0 - w), g, state["start"], w))
        numerator = self.beta3 * state["numerator"] + d / self.first * size * fitting(covered, d)
        below = fitting(_total(tree.map(xp.abs, s)), d)
        is_zero = below == 0
        estimate = self.growth * numerator / xp.where(is_zero, xp.ones_like(below), below)
        new_d = xp.where(is_zero, d, xp.maximum(d, estimate))

        def direction(m: Any, v: Any, w: Any, like: Any) -> Any:
            root = xp.sqrt(v) + fitting(new_d, v) * self.epsilon
            return fitting(fitting(size, v) * (m / root + self.weight_decay * w), like)

        updates = tree.map(direction, m, v, w, grads)
        kept = {"m": m, "v": v, "s": s, "start": state["start"], "d": new_d}
        return updates, Container(step=step, **kept, numerator=numerator)


def _widened(x: Any) -> Any:
    return widened(xp_of(x), x)


def _total(nest: Any) -> Array:
    """The sum of all elements of all leaves, in the data type of the first."""
    leaves = flat(nest)
    xp = xp_of(leaves[0])
    total = xp.sum(leaves[0])
    for leaf in leaves[1:]:
        total = total + cast_like(xp, xp.sum(leaf), total)
    return total


@explained
def scale_by_prodigy(
    lr: Rate = 1.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0,
    *,
    beta3: float | None = None,
    first: float = 1e-6,
    growth: float = 1.0,
    safeguard_warmup: bool = False,
) -> Transformation:
    """Prodigy's step (Mishchenko and Defazio, 2023), with the learning rate; as in optax.contrib.

        l = d * lr * sqrt(1 - beta2**t) / (1 - beta1**t)
        m = beta1 * m + (1 - beta1) * d * g;    v = beta2 * v + (1 - beta2) * (d * g)**2
        n = beta3 * n + d / first * l * sum(g * (w_0 - w));    s = beta3 * s + d / first * l * g
        d' = max(d, growth * n / sum(abs(s)))
        step = l * (m / (sqrt(v) + d' * epsilon) + weight_decay * w)

    Args:
        lr: What multiplies the found step size: 1, or a schedule that falls from 1.
        beta1: Decay of m, in [0, 1).
        beta2: Decay of v, in [0, 1).
        epsilon: Keeps the division finite.
        weight_decay: The part of each weight that is subtracted, before the step size.
        beta3: Decay of n and s, in [0, 1); None for the root of beta2.
        first: The first step size, too small rather than too large.
        growth: What multiplies every estimate.
        safeguard_warmup: Whether s is without the learning rate, for schedules with a warm-up.

    >>> import numpy as np
    >>> from trellis import optim
    >>> own = optim.Optimizer(optim.scale_by_prodigy(first=0.1), lr=None)
    >>> np.round(own.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 4)
    array([0.9, 2.1])
    """
    pair = ProdigyPair(
        rate("lr", lr),
        fraction("beta1", beta1),
        fraction("beta2", beta2),
        fraction("beta2", beta2) ** 0.5 if beta3 is None else fraction("beta3", beta3),
        non_negative("epsilon", epsilon),
        non_negative("weight_decay", weight_decay),
        positive("first", first),
        positive("growth", growth),
        flag("safeguard_warmup", safeguard_warmup),
    )
    return Transformation(pair.init, pair.update)


class Prodigy(Optimizer):
    """Adam that finds its own step size (Mishchenko and Defazio, 2023), as in optax.contrib.

    `optim.scale_by_prodigy` has the formula; `state.d` is the step size that was found.

    Args:
        lr: What multiplies the found step size: 1, or a schedule that falls from 1.
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.
        weight_decay: The part of each weight that is subtracted, before the step size.
        beta3: Decay of what the step size is estimated from, in [0, 1); None for the root of beta2.
        first: The first step size, too small rather than too large.
        growth: What multiplies every estimate.
        safeguard_warmup: Whether estimates do without the learning rate, for schedules with a
            warm-up.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Prodigy(first=0.1)
    >>> np.round(opt.step(np.array([1.0, 2.0]), np.array([0.5, -3.0])), 4)
    array([0.9, 2.1])
    """

    def __init__(
        self,
        lr: Rate = 1.0,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0,
        *,
        beta3: float | None = None,
        first: float = 1e-6,
        growth: float = 1.0,
        safeguard_warmup: bool = False,
    ):
        parts = scale_by_prodigy(
            lr,
            beta1,
            beta2,
            epsilon,
            weight_decay,
            beta3=beta3,
            first=first,
            growth=growth,
            safeguard_warmup=safeguard_warmup,
        )
        super().__init__(parts, 1.0)
        self.lr = rate("lr", lr)
