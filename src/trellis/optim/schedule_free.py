"""Schedule-free optimizers: an average of the variables in place of a falling learning rate."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core import tree
from .._core.errors import ArgumentError
from .._core.typing import Array, Backend, T
from .accumulation import TRAINED, KeepsAverage
from .arguments import count, explained, fraction, non_negative, rate
from .decay import Mask, add_decayed_weights
from .engine import Leaves, Now, Rule, cast_like
from .moments import scale_by_adam
from .optimizer import Optimizer
from .scaling import Rate
from .transformation import Transformation, chain, from_rules


class Averaging(NamedTuple):
    z: Leaves
    weight_sum: Leaves  # one number for each leaf
    largest_lr: Leaves


@dataclass(frozen=True)
class ScheduleFreeStep(Rule[Averaging]):
    """From a direction to what brings the variables y to the next ones."""

    lr: Any
    beta: float
    warmup_steps: int
    power: float

    slots = Averaging

    def start(self, xp: Backend, params: Leaves) -> Averaging:
        zeros = [[xp.sum(xp.zeros_like(w)) for w in params] for _ in range(2)]
        return Averaging([w * 1 for w in params], *zeros)

    def apply(self, now: Now, g: Leaves, state: Averaging) -> tuple[Leaves, Averaging]:
        xp = now.xp
        ys = now.needed_params("schedule_free")
        rates = now.numbers(g, lambda t: self.rate(now, t))
        updates, zs, sums, largest = [], [], [], []
        rows = zip(g, ys, rates, state.z, state.weight_sum, state.largest_lr, strict=True)
        for g_i, y, lr, z, weight_sum, most in rows:
            most = xp.maximum(most, lr)
            weight = xp.pow(most, xp.zeros_like(most) + self.power)
            weight_sum = weight_sum + weight
            is_zero = weight_sum == 0  # as long as the learning rate is
            c = xp.where(is_zero, weight_sum, weight / xp.where(is_zero, weight + 1, weight_sum))
            # y - y_next, where y_next = (1 - c) * y + c * z - lr * (1 - beta * (1 - c)) * g
            updates.append(c * (y - z) + (lr * (1 - self.beta * (1 - c))) * g_i)
            zs.append(z - lr * g_i)
            sums.append(weight_sum)
            largest.append(most)
        return updates, Averaging(zs, sums, largest)

    def rate(self, now: Now, t: Array) -> Any:
        """The learning rate of a step, the first of which is 1."""
        lr = self.lr(t - 1) if callable(self.lr) else self.lr
        # Not hasattr(lr, "dtype"), which Dynamo does not know of numbers that it keeps open.
        is_number = isinstance(lr, (int, float))
        lr = lr + 0 * t if is_number else now.xp.zeros_like(t) + cast_like(now.xp, lr, t)
        if self.warmup_steps == 0:
            return lr
        return lr * now.xp.minimum(t / self.warmup_steps, now.xp.ones_like(t))


@explained
def schedule_free(
    lr: Rate, beta: float = 0.9, *, warmup_steps: int = 0, power: float = 2.0
) -> Transformation:
    """The last part of a chain: schedule-free averaging (Defazio et al., 2024).

        z' = z - lr * g;    x' = (1 - c) * x + c * z';    y' = beta * x' + (1 - beta) * z'

    The variables that are trained are y, at which the gradients are taken; x, the average, is what
    is evaluated (`ScheduleFreeAdamW.average`). c is the weight of this step over the sum of all,
    and the weight is the largest learning rate so far to the given power. What comes before it is
    a direction without momentum, such as `optim.scale_by_adam(0.0, 0.999)`.

    Args:
        lr: A number, an array of one number, or a schedule.
        beta: How near y is to x, in [0, 1).
        warmup_steps: Over how many steps the rate grows from 0 in a straight line.
        power: The power of the learning rate in the weights.

    >>> import numpy as np
    >>> from trellis import optim
    >>> opt = optim.Optimizer(optim.schedule_free(0.1), lr=None)
    >>> v = np.array([1.0])
    >>> for _ in range(2):
    ...     v = opt.step(v, np.array([1.0]))
    >>> np.round(v, 6), opt.state.z
    (array([0.845]), array([0.8]))
    """
    numbers = fraction("beta", beta), count("warmup_steps", warmup_steps, 0)
    return from_rules(ScheduleFreeStep(rate("lr", lr), *numbers, non_negative("power", power)))


class ScheduleFree(KeepsAverage, Optimizer):
    """What both optimizers have: variables to train with, and their average."""

    def __init__(
        self, direction: Transformation, lr: Rate, beta: float, warmup_steps: int, power: float
    ):
        last = schedule_free(lr, beta, warmup_steps=warmup_steps, power=power)
        super().__init__(chain(direction, last), 1.0)
        self.lr, self._beta = rate("lr", lr), fraction("beta", beta)

    def average(self, v: T, /) -> T:
        """The variables to evaluate and to keep; `v` itself goes on being trained.

        Args:
            v: What the last `step` returned.
        """
        if not len(self.state) or TRAINED in self.state:  # no steps; or what `fit` left
            return v
        averaged: T = self.averaged(v, self.state)
        return averaged

    def averaged(self, v: Any, state: Any, /) -> Any:
        """The variables to evaluate, as a pure function; see `average`.

        Args:
            v: What the last `update` returned.
            state: The state that came with it.
        """
        beta = self._beta
        if beta == 0:
            raise ArgumentError("With beta=0 the average is not kept: choose one above 0.")
        return tree.map(lambda y, z: (y - (1 - beta) * z) / beta, v, _z_of(state))

    def trained(self, average: Any, state: Any, /) -> Any:
        """The variables to train on with, from the average; a pure function.

        Args:
            average: What `averaged` returned.
            state: The state that went into it.
        """
        beta = self._beta
        return tree.map(lambda x, z: beta * x + (1 - beta) * z, average, _z_of(state))

    def _updated(self, v: Any, grads: Any, state: Any, private: bool) -> tuple[Any, Any]:
        self.check_trains(state)
        return super()._updated(v, grads, state, private)


def _z_of(state: Any) -> Any:
    if "z" in state:
        return state["z"]
    if "gradients" in state:  # of `accumulated`
        return _z_of(state["inner"])
    raise ArgumentError(
        "The average of a schedule-free optimizer cannot be had from this state, which has "
        f"{', '.join(state)}: leave out what was put around it, such as with_lookahead()."
    )


class ScheduleFreeSGD(ScheduleFree):
    """SGD without a schedule (Defazio et al., 2024), as in the authors' `schedulefree`.

    `optim.schedule_free` has the formula. `fit` evaluates and leaves the average; by
    hand, evaluate `optimizer.average(v)`, not `v`.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta: How near the trained variables are to the average, in [0, 1); it acts as momentum.
        weight_decay: The factor of an L2 penalty.
        warmup_steps: Over how many steps the rate grows from 0 in a straight line.
        power: The power of the learning rate in the weights of the average.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.ScheduleFreeSGD(0.1)
    >>> v = np.array([1.0, 2.0])
    >>> for _ in range(2):
    ...     v = opt.step(v, np.array([1.0, 0.0]))
    >>> np.round(v, 6), np.round(opt.average(v), 6)
    (array([0.845, 2.   ]), array([0.85, 2.  ]))
    """

    def __init__(
        self,
        lr: Rate = 1.0,
        beta: float = 0.9,
        weight_decay: float = 0,
        *,
        warmup_steps: int = 0,
        power: float = 2.0,
        mask: Mask = None,
    ):
        super().__init__(add_decayed_weights(weight_decay, mask), lr, beta, warmup_steps, power)


class ScheduleFreeAdamW(ScheduleFree):
    """AdamW without a schedule (Defazio et al., 2024), as in the authors' `schedulefree`.

    `optim.schedule_free` has the formula. `fit` evaluates and leaves the average; by
    hand, evaluate `optimizer.average(v)`, not `v`.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: How near the trained variables are to the average, in [0, 1); it acts as momentum.
        beta2: Decay of the average of squares, in [0, 1).
        epsilon: Keeps the division finite.
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        warmup_steps: Over how many steps the rate grows from 0 in a straight line.
        power: The power of the learning rate in the weights of the average.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.ScheduleFreeAdamW(0.1)
    >>> v = np.array([1.0, 2.0])
    >>> for _ in range(2):
    ...     v = opt.step(v, np.array([1.0, -3.0]))
    >>> np.round(v, 6), np.round(opt.average(v), 6)
    (array([0.845, 2.155]), array([0.85, 2.15]))
    """

    def __init__(
        self,
        lr: Rate = 2.5e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0,
        *,
        warmup_steps: int = 0,
        power: float = 2.0,
        mask: Mask = None,
    ):
        direction = chain(
            scale_by_adam(0.0, beta2, epsilon), add_decayed_weights(weight_decay, mask)
        )
        super().__init__(direction, lr, fraction("beta1", beta1), warmup_steps, power)
