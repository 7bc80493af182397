"""Transformations that average gradients: momentum, Adam and its relatives, Lion."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.dtypes import name_of
from .._core.typing import Array, Backend
from .arguments import explained, flag, fraction, non_negative, zero_to_one
from .decay import DecayedWeights
from .engine import HALF, Kernel, Leaves, Now, Rule, cast_like
from .scaling import step_kernel
from .transformation import Transformation, from_rules


def one_minus_power(xp: Backend, beta: float, t: Array) -> Any:
    """1 - beta**t. In float32, 1 - 0.999**1 loses five digits; expm1 loses none."""
    if beta == 0:
        return xp.where(t == 0, xp.zeros_like(t), xp.ones_like(t))
    return -xp.expm1(t * math.log(beta))


def averaged_squares(
    xp: Backend, v: Leaves, g: Leaves, decay: float, *, reuse: bool = False
) -> Leaves:
    """decay * v + (1 - decay) * g**2; with `reuse` in the memory of v."""
    kept = xp.foreach_mul(v, decay, reuse=reuse)
    result: Leaves = xp.foreach_addcmul(kept, g, g, 1 - decay, reuse=True)
    return result


# Momentum -----------------------------------------------------------------------------------------


class Momentum(NamedTuple):
    momentum: Leaves


@dataclass(frozen=True)
class Trace(Rule[Momentum]):
    """m = decay * m + g; the direction is m, or g + decay * m."""

    decay: float
    nesterov: bool

    slots = Momentum

    def apply(self, now: Now, g: Leaves, state: Momentum) -> tuple[Leaves, Momentum]:
        m = now.xp.foreach_add(g, state.momentum, alpha=self.decay)
        direction = now.xp.foreach_add(g, m, alpha=self.decay) if self.nesterov else m
        return direction, Momentum(m)

    def kernel(self, behind: tuple[Rule[Any], ...]) -> Kernel | None:
        return step_kernel("nesterov" if self.nesterov else "momentum", (self.decay,), behind)


@dataclass(frozen=True)
class DampedTrace(Rule[Momentum]):
    """m = decay * m + (1 - dampening) * g, from m = g on; the direction is m, or g + decay * m."""

    decay: float
    nesterov: bool
    dampening: float

    slots = Momentum

    def apply(self, now: Now, g: Leaves, state: Momentum) -> tuple[Leaves, Momentum]:
        xp = now.xp

        def share(t: Array) -> Any:
            return xp.where(t == 1, xp.ones_like(t), xp.zeros_like(t) + (1 - self.dampening))

        m = xp.foreach_mul(g, now.number(g, share))
        m = xp.foreach_add(m, state.momentum, alpha=self.decay, reuse=True)
        direction = xp.foreach_add(g, m, alpha=self.decay) if self.nesterov else m
        return direction, Momentum(m)


@explained
def trace(decay: float = 0.9, *, nesterov: bool = False, dampening: float = 0) -> Transformation:
    """Momentum: the direction is m, or with Nesterov's form `g + decay * m`.

        m = decay * m + (1 - dampening) * g        (m = g in the first step)

    Args:
        decay: How much of the last m stays, in [0, 1].
        nesterov: Whether the direction looks one step ahead.
        dampening: The part of each new gradient that does not enter m, in [0, 1].

    >>> import numpy as np
    >>> from trellis import optim
    >>> heavy = optim.trace(0.9)
    >>> state = heavy.init(np.zeros(1))
    >>> for _ in range(2):
    ...     updates, state = heavy.update(np.array([1.0]), state)
    >>> updates
    array([1.9])
    """
    numbers = zero_to_one("decay", decay), flag("nesterov", nesterov)
    damping = zero_to_one("dampening", dampening)
    return from_rules(DampedTrace(*numbers, damping) if damping else Trace(*numbers))


class Average(NamedTuple):
    average: Leaves


@dataclass(frozen=True)
class MovingAverage(Rule[Average]):
    """m = decay * m + (1 - decay) * g; the direction is m, or m / (1 - decay**t)."""

    decay: float
    debias: bool

    slots = Average

    def apply(self, now: Now, g: Leaves, state: Average) -> tuple[Leaves, Average]:
        xp = now.xp
        m = xp.foreach_lerp(state.average, g, 1 - self.decay)
        if not self.debias:
            return m, Average(m)
        correction = now.number(g, lambda t: one_minus_power(xp, self.decay, t))
        return xp.foreach_div(m, correction), Average(m)


@explained
def ema(decay: float, *, debias: bool = True) -> Transformation:
    """The exponential moving average of the gradients.

        m = decay * m + (1 - decay) * g

    Args:
        decay: How much of the last average stays, in [0, 1).
        debias: Whether the result is `m / (1 - decay**t)`, which corrects for the zeros at the
            start.

    >>> import numpy as np
    >>> from trellis import optim
    >>> average = optim.ema(0.5)
    >>> average.update(np.array([3.0]), average.init(np.zeros(1)))[0]
    array([3.])
    """
    return from_rules(MovingAverage(fraction("decay", decay), flag("debias", debias)))


# Adam ---------------------------------------------------------------------------------------------


class Moments(NamedTuple):
    m: Leaves
    v: Leaves


@dataclass(frozen=True)
class AdamDirection(Rule[Moments]):
    """m_hat / (sqrt(v_hat) + epsilon)."""

    beta1: float
    beta2: float
    epsilon: float

    slots = Moments

    def apply(self, now: Now, g: Leaves, state: Moments) -> tuple[Leaves, Moments]:
        xp, beta1, beta2 = now.xp, self.beta1, self.beta2
        m = xp.foreach_lerp(state.m, g, 1 - beta1)
        v = averaged_squares(xp, state.v, g, beta2)

        # Both corrections are in the denominator: (sqrt(v / c2) + epsilon) * c1.
        def ratio(t: Array) -> Any:
            return one_minus_power(xp, beta1, t) / xp.sqrt(one_minus_power(xp, beta2, t))

        root = xp.foreach_mul(xp.foreach_sqrt(v), now.number(g, ratio), reuse=True)
        shift = now.number(g, lambda t: self.epsilon * one_minus_power(xp, beta1, t))
        return xp.foreach_div(m, xp.foreach_add(root, shift, reuse=True)), Moments(m, v)

    def kernel(self, behind: tuple[Rule[Any], ...]) -> Kernel | None:
        weight_decay = 0.0
        while behind and isinstance(behind[0], DecayedWeights) and behind[0].mask is None:
            weight_decay += behind[0].weight_decay
            behind = behind[1:]
        numbers = (self.beta1, self.beta2, self.epsilon, weight_decay)
        return step_kernel("adam", numbers, behind)


@dataclass(frozen=True)
class AdamStep(Rule[Moments]):
    """a * m / (sqrt(max(v, 0)) + epsilon), a = sqrt(1 - beta2**t) / (1 - beta1**t + epsilon).

    The formula of `trellis.adam_step`, whose step may be any number; it can be differentiated.
    """

    beta1: float
    beta2: float
    epsilon: float

    slots = Moments

    def apply(self, now: Now, g: Leaves, state: Moments) -> tuple[Leaves, Moments]:
        scale = self.correction(now, g)
        scales = scale if isinstance(scale, list) else [scale] * len(g)
        rows = [self.leaf(now.xp, *row) for row in zip(scales, g, *state, strict=True)]
        direction, m, v = [[row[i] for row in rows] for i in range(3)]
        return direction, Moments(m, v)

    def leaf(
        self, xp: Backend, scale: Array | float, g: Array, m: Array, v: Array
    ) -> tuple[Any, Any, Any]:
        """The direction and the moments of one leaf, whose parts may broadcast."""
        m = self.beta1 * m + (1 - self.beta1) * g
        v = self.beta2 * v + (1 - self.beta2) * (g * g)
        is_positive = v > 0
        # With gradient 0, not inf, where v is clamped or zero.
        root = xp.sqrt(xp.where(is_positive, v, xp.ones_like(v)))
        root = xp.where(is_positive, root, xp.zeros_like(v))
        return scale * m / (root + self.epsilon), m, v

    def descended(
        self, now: Now, ws: Leaves, g: Leaves, state: Moments, lr: float
    ) -> tuple[Leaves, Moments]:
        """`ws - lr * direction` as constants, if all leaves have one dtype: fewer operations."""
        xp = now.xp
        m = xp.foreach_mul(state.m, self.beta1)
        m = xp.foreach_add(m, g, alpha=1 - self.beta1, reuse=True)
        v = averaged_squares(xp, state.v, g, self.beta2)
        still_m, still_v = xp.foreach_detach(m), xp.foreach_detach(v)
        root = xp.foreach_sqrt(xp.foreach_maximum(still_v, 0.0), reuse=True)
        below = xp.foreach_add(root, self.epsilon, reuse=True)
        scale = self.correction(now, g)
        if not hasattr(scale, "dtype"):
            return xp.foreach_addcdiv(ws, still_m, below, -lr * scale), Moments(m, v)
        direction = xp.foreach_div(xp.foreach_mul(still_m, scale * lr), below, reuse=True)
        return xp.foreach_add(ws, direction, alpha=-1), Moments(m, v)

    def correction(self, now: Now, leaves: Leaves) -> Any:
        """a, as an operand for the leaves."""
        beta1, beta2, epsilon, t = self.beta1, self.beta2, self.epsilon, now.step
        if not hasattr(t, "dtype"):
            return math.sqrt(1 - beta2**t) / (1 - beta1**t + epsilon)

        def factor(t: Array) -> Any:
            root = now.xp.sqrt(one_minus_power(now.xp, beta2, t))
            return root / (one_minus_power(now.xp, beta1, t) + epsilon)

        return now.number(leaves, factor)


@explained
def scale_by_adam(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Transformation:
    """Adam's direction (Kingma and Ba, 2015); the moments start at zero.

        m = beta1 * m + (1 - beta1) * g;   v = beta2 * v + (1 - beta2) * g**2
        m_hat = m / (1 - beta1**t);        v_hat = v / (1 - beta2**t)
        direction = m_hat / (sqrt(v_hat) + epsilon)

    Args:
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> adam = optim.scale_by_adam()
    >>> np.round(adam.update(np.array([0.3, -8.0]), adam.init(np.zeros(2)))[0], 6)
    array([ 1., -1.])
    """
    return from_rules(AdamDirection(*_checked(beta1, beta2, epsilon)))


def _checked(beta1: float, beta2: float, epsilon: float) -> tuple[float, float, float]:
    return fraction("beta1", beta1), fraction("beta2", beta2), non_negative("epsilon", epsilon)


# NAdam --------------------------------------------------------------------------------------------


class NesterovMoments(NamedTuple):
    m: Leaves
    v: Leaves
    mu_product: Leaves


@dataclass(frozen=True)
class NAdamDirection(Rule[NesterovMoments]):
    """(mu(t+1) * m / (1 - p * mu(t+1)) + (1 - mu(t)) * g / (1 - p)) / (sqrt(v_hat) + epsilon)."""

    beta1: float
    beta2: float
    epsilon: float
    momentum_decay: float

    slots = NesterovMoments

    def start(self, xp: Backend, params: Leaves) -> NesterovMoments:
        m, v = [[xp.zeros_like(w) for w in params] for _ in range(2)]
        return NesterovMoments(m, v, [_one(xp, w) for w in params])

    def apply(self, now: Now, g: Leaves, state: NesterovMoments) -> tuple[Leaves, NesterovMoments]:
        xp, beta2 = now.xp, self.beta2
        m = xp.foreach_lerp(state.m, g, 1 - self.beta1)
        v = averaged_squares(xp, state.v, g, beta2)
        directions, products = [], []
        for g_i, m_i, v_i, product in zip(g, m, v, state.mu_product, strict=True):
            t = xp.astype(now.step, product.dtype)
            here, ahead = self.mu(xp, t), self.mu(xp, t + 1)
            product = product * here
            root = xp.sqrt(v_i / cast_like(xp, one_minus_power(xp, beta2, t), g_i)) + self.epsilon
            of_m = cast_like(xp, ahead / (1 - product * ahead), g_i)
            of_g = cast_like(xp, (1 - here) / (1 - product), g_i)
            directions.append((of_m * m_i + of_g * g_i) / root)
            products.append(product)
        return directions, NesterovMoments(m, v, products)

    def mu(self, xp: Backend, t: Array) -> Any:
        """beta1 * (1 - 0.96**(t * momentum_decay) / 2)."""
        return self.beta1 * (1 - 0.5 * xp.exp(t * (self.momentum_decay * math.log(0.96))))


@explained
def scale_by_nadam(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, momentum_decay: float = 4e-3
) -> Transformation:
    """NAdam's direction (Dozat, 2016), with the momentum schedule of torch.optim.NAdam.

        mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2);    p = mu(1) * ... * mu(t)
        n = mu(t+1) * m / (1 - p * mu(t+1)) + (1 - mu(t)) * g / (1 - p)
        direction = n / (sqrt(v_hat) + epsilon)

    Args:
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.
        momentum_decay: How fast mu grows to beta1.

    >>> import numpy as np
    >>> from trellis import optim
    >>> nadam = optim.scale_by_nadam()
    >>> np.round(nadam.update(np.array([0.3, -8.0]), nadam.init(np.zeros(2)))[0], 4)
    array([ 1.0565, -1.0565])
    """
    numbers = _checked(beta1, beta2, epsilon)
    return from_rules(NAdamDirection(*numbers, non_negative("momentum_decay", momentum_decay)))


def _one(xp: Backend, x: Array) -> Any:
    """A 1 for use with `x`: on its device, in its dtype (float32 for half precision), without
    axes."""
    dtype = "float32" if name_of(x.dtype) in HALF else x.dtype
    return xp.sum(xp.zeros_like(x, dtype=dtype)) + 1


# Adamax and Lion ----------------------------------------------------------------------------------


class MomentAndMaximum(NamedTuple):
    m: Leaves
    u: Leaves


@dataclass(frozen=True)
class AdamaxDirection(Rule[MomentAndMaximum]):
    """m / (1 - beta1**t) / u."""

    beta1: float
    beta2: float
    epsilon: float

    slots = MomentAndMaximum

    def apply(
        self, now: Now, g: Leaves, state: MomentAndMaximum
    ) -> tuple[Leaves, MomentAndMaximum]:
        xp, beta1 = now.xp, self.beta1
        m = xp.foreach_lerp(state.m, g, 1 - beta1)
        sizes = xp.foreach_add([xp.abs(g_i) for g_i in g], self.epsilon, reuse=True)
        u = xp.foreach_maximum(xp.foreach_mul(state.u, self.beta2), sizes, reuse=True)
        correction = now.number(g, lambda t: self.correction(now, t))
        return xp.foreach_div(m, xp.foreach_mul(u, correction)), MomentAndMaximum(m, u)

    def kernel(self, behind: tuple[Rule[Any], ...]) -> Kernel | None:
        numbers = (1 - self.beta1, self.beta2, self.epsilon)
        return step_kernel("adamax", numbers, behind, self.correction)

    def correction(self, now: Now, t: Array) -> Any:
        """1 - beta1**t."""
        return one_minus_power(now.xp, self.beta1, t)


@explained
def scale_by_adamax(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Transformation:
    """Adamax's direction (Kingma and Ba, 2015): Adam with the infinity norm.

        m = beta1 * m + (1 - beta1) * g;   u = max(beta2 * u, abs(g) + epsilon)
        direction = m / (1 - beta1**t) / u

    Args:
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the largest size seen, in [0, 1).
        epsilon: Keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> adamax = optim.scale_by_adamax()
    >>> np.round(adamax.update(np.array([0.3, -8.0]), adamax.init(np.zeros(2)))[0], 6)
    array([ 1., -1.])
    """
    return from_rules(AdamaxDirection(*_checked(beta1, beta2, epsilon)))


class Moment(NamedTuple):
    m: Leaves


@dataclass(frozen=True)
class LionDirection(Rule[Moment]):
    """sign(beta1 * m + (1 - beta1) * g)."""

    beta1: float
    beta2: float

    slots = Moment

    def apply(self, now: Now, g: Leaves, state: Moment) -> tuple[Leaves, Moment]:
        xp = now.xp
        mixed = xp.foreach_lerp(state.m, g, 1 - self.beta1)
        return [xp.sign(x) for x in mixed], Moment(xp.foreach_lerp(state.m, g, 1 - self.beta2))


@explained
def scale_by_lion(beta1: float = 0.9, beta2: float = 0.99) -> Transformation:
    """Lion's direction (Chen et al., 2023): a sign only, from two averages of one moment.

        direction = sign(beta1 * m + (1 - beta1) * g);   m = beta2 * m + (1 - beta2) * g

    Args:
        beta1: Weight of the moment in the direction, in [0, 1).
        beta2: Decay of the moment, in [0, 1).

    >>> import numpy as np
    >>> from trellis import optim
    >>> lion = optim.scale_by_lion()
    >>> lion.update(np.array([0.3, -8.0]), lion.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """
    return from_rules(LionDirection(fraction("beta1", beta1), fraction("beta2", beta2)))
