"""Scaling: by a number, by a learning rate that may be a schedule, by norms of the parameters."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._core.errors import ArgumentTypeError
from .._core.typing import Array, Backend
from .arguments import explained, flag, non_negative, number, rate
from .engine import Kernel, Leaves, NoSlots, Now, Rule, widened
from .transformation import Transformation, from_rules

# From the step (the first is 0) to a number; see `trellis.optim.schedules`.
Schedule: TypeAlias = Callable[[Any], Any]
# A number, an array of one number, or a schedule.
Rate: TypeAlias = float | Array | Schedule

# By a number --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaled(Rule[NoSlots]):
    """factor * g."""

    factor: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        return now.xp.foreach_mul(g, self.factor), state


@explained
def scale(factor: float) -> Transformation:
    """`factor * g`.

    Args:
        factor: Any finite number.

    >>> import numpy as np
    >>> from trellis import optim
    >>> half = optim.scale(0.5)
    >>> half.update(np.array([2.0, 4.0]), half.init(np.zeros(2)))[0]
    array([1., 2.])
    """
    return from_rules(Scaled(number("factor", factor)))


@dataclass(frozen=True)
class ScaledByRate(Rule[NoSlots]):
    """sign * lr(step) * g, where the first step is 0."""

    lr: Any  # a schedule, or an array
    sign: int = 1

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        return now.xp.foreach_mul(g, self.factor(now, g)), state

    def factor(self, now: Now, leaves: Leaves) -> Any:
        """sign * lr(step) in the precision of the leaves."""
        lr = self.lr
        if not callable(lr):
            return now.number(leaves, lambda t: lr if self.sign == 1 else -lr)
        return now.number(leaves, lambda t: lr(t - 1) if self.sign == 1 else -lr(t - 1))


@dataclass(frozen=True)
class StepKernel:
    """A whole step in a kernel of the backend, if it has one of this name."""

    name: str
    numbers: tuple[float, ...]
    behind: tuple[ScaledByRate, ...]
    debias: Callable[[Now, Any], Any] | None  # what the rate is divided by, from the step

    def __call__(
        self, now: Now, g: Leaves, state: Any, rate: Any, reuse: bool
    ) -> tuple[Leaves, tuple[Leaves, ...]] | None:
        kernel = now.xp.STEP_KERNELS.get(self.name)
        if kernel is None:
            return None
        factors = [schedule.factor(now, now.params) for schedule in self.behind]
        debias = self.debias
        if debias is not None:
            factors.append(now.number(now.params, lambda t: 1 / debias(now, t)))
        for factor in factors:
            if isinstance(factor, list):
                return None
            is_one = isinstance(rate, (int, float)) and rate == 1
            rate = factor if is_one else rate * factor
        done: tuple[Leaves, tuple[Leaves, ...]] | None = kernel(
            now.params, g, tuple(state), now.step, rate, self.numbers, reuse
        )
        return done


def step_kernel(
    name: str,
    numbers: tuple[float, ...],
    behind: tuple[Rule[Any], ...],
    debias: Callable[[Now, Any], Any] | None = None,
) -> Kernel | None:
    """The kernel, if nothing or only a learning rate follows the rule."""
    rates = tuple([rule for rule in behind if isinstance(rule, ScaledByRate)])
    fits = len(behind) == len(rates) and len(rates) < 2
    return StepKernel(name, numbers, rates, debias) if fits else None


@explained
def scale_by_schedule(schedule: Schedule) -> Transformation:
    """`schedule(step) * g`, where the first step is 0.

    Args:
        schedule: A function of the step. It gets a float array in the precision of the leaves, also
            a traced one, and returns the factor.

    >>> import numpy as np
    >>> from trellis import optim
    >>> slower = optim.scale_by_schedule(lambda step: 1 / (1 + step))
    >>> state = slower.init(np.zeros(1))
    >>> for _ in range(2):
    ...     updates, state = slower.update(np.array([4.0]), state)
    >>> updates
    array([2.])
    """
    if not callable(schedule):
        raise ArgumentTypeError(
            f"schedule must be a function of the step, got {schedule!r}. For a number write "
            "optim.scale(factor)."
        )
    return from_rules(ScaledByRate(schedule))


@explained
def scale_by_learning_rate(lr: Rate, *, flip_sign: bool = True) -> Transformation:
    """`-lr * g`: the last part of most chains.

    Args:
        lr: A number, an array of one number, or a schedule.
        flip_sign: Whether there is a minus; without, it is `lr * g`.

    >>> import numpy as np
    >>> from trellis import optim
    >>> downhill = optim.scale_by_learning_rate(0.5)
    >>> downhill.update(np.array([2.0, 4.0]), downhill.init(np.zeros(2)))[0]
    array([-1., -2.])
    """
    sign, lr = -1 if flag("flip_sign", flip_sign) else 1, rate("lr", lr)
    if callable(lr) or hasattr(lr, "dtype"):
        return from_rules(ScaledByRate(lr, sign))
    return from_rules(Scaled(sign * lr))


# By norms -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScaledByTrustRatio(Rule[NoSlots]):
    """coefficient * ||w|| / (||g|| + epsilon) * g."""

    coefficient: float
    epsilon: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        xp = now.xp
        lengths = norms(xp, now.needed_params("scale_by_trust_ratio"))
        ratios = [self.ratio(xp, *pair) for pair in zip(lengths, norms(xp, g), strict=True)]
        return times(xp, g, ratios), state

    def ratio(self, xp: Backend, of_w: Array, of_g: Array) -> Any:
        is_zero = xp.logical_or(of_w == 0, of_g == 0)
        one = xp.ones_like(of_w)
        below = xp.where(is_zero, one, of_g) + self.epsilon
        return xp.where(is_zero, one, self.coefficient * of_w / below)


@explained
def scale_by_trust_ratio(coefficient: float = 1.0, epsilon: float = 0.0) -> Transformation:
    """`r * g` with `r = coefficient * ||w|| / (||g|| + epsilon)`, leaf by leaf.

    A leaf of zeros, or one whose update is zero, has ratio 1: zero biases move.

    Args:
        coefficient: The length of an update, as a part of the length of its leaf.
        epsilon: Added to the norm of the update.

    >>> import numpy as np
    >>> from trellis import optim
    >>> trust = optim.scale_by_trust_ratio()
    >>> w, g = np.array([3.0, 4.0]), np.array([0.6, 0.8])
    >>> trust.update(g, trust.init(w), w)[0]
    array([3., 4.])
    """
    numbers = non_negative("coefficient", coefficient), non_negative("epsilon", epsilon)
    return from_rules(ScaledByTrustRatio(*numbers))


@dataclass(frozen=True)
class ScaledByParamRms(Rule[NoSlots]):
    """max(rms(w), minimum) * g."""

    minimum: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        sizes = root_mean_squares(now.xp, now.needed_params("scale_by_param_rms"))
        factors = [now.xp.maximum(size, self.minimum) for size in sizes]
        return times(now.xp, g, factors), state


@explained
def scale_by_param_rms(minimum: float = 1e-3) -> Transformation:
    """`g * max(rms(w), minimum)`, leaf by leaf: steps relative to the size of the parameters.

    Args:
        minimum: The size used for smaller leaves and for those of zeros.

    >>> import numpy as np
    >>> from trellis import optim
    >>> relative = optim.scale_by_param_rms()
    >>> w, g = np.array([3.0, 3.0]), np.array([0.5, -1.0])
    >>> relative.update(g, relative.init(w), w)[0]
    array([ 1.5, -3. ])
    """
    return from_rules(ScaledByParamRms(non_negative("minimum", minimum)))


# Norms --------------------------------------------------------------------------------------------


def norms(xp: Backend, xs: Leaves) -> Leaves:
    """The 2-norm of every leaf; of half precision in float32, where squares do not overflow."""
    result: Leaves = xp.foreach_norm([widened(xp, x) for x in xs])
    return result


def root_mean_squares(xp: Backend, xs: Leaves) -> Leaves:
    """The root of the mean square of every leaf, in the precision of `norms`."""
    counts = [_count(x) for x in xs]
    return [norm / count**0.5 for norm, count in zip(norms(xp, xs), counts, strict=True)]


def _count(x: Array) -> int:
    return max(math.prod([int(n) for n in x.shape]), 1)


def times(xp: Backend, g: Leaves, factors: Leaves) -> Leaves:
    """Every leaf times its own factor, in the dtype of the leaf."""
    rows = zip(g, factors, strict=True)
    return [g_i * (f if f.dtype == g_i.dtype else xp.astype(f, g_i.dtype)) for g_i, f in rows]
