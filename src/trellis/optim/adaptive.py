"""Later relatives of Adam's direction: AMSGrad, RAdam, Adan, ADOPT."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.errors import ArgumentError
from .._core.typing import Array
from .arguments import explained, fraction, non_negative, positive
from .engine import Leaves, Now, Rule
from .moments import Moments, averaged_squares, one_minus_power
from .transformation import Transformation, from_rules

# AMSGrad ------------------------------------------------------------------------------------------


class MomentsAndLargest(NamedTuple):
    m: Leaves
    v: Leaves
    v_max: Leaves


@dataclass(frozen=True)
class AmsgradDirection(Rule[MomentsAndLargest]):
    """m_hat / (sqrt(v_max / (1 - beta2**t)) + epsilon)."""

    beta1: float
    beta2: float
    epsilon: float

    slots = MomentsAndLargest

    def apply(
        self, now: Now, g: Leaves, state: MomentsAndLargest
    ) -> tuple[Leaves, MomentsAndLargest]:
        xp = now.xp
        m = xp.foreach_lerp(state.m, g, 1 - self.beta1)
        v = averaged_squares(xp, state.v, g, self.beta2)
        largest = xp.foreach_maximum(state.v_max, v)
        correction = now.number(g, lambda t: xp.sqrt(one_minus_power(xp, self.beta2, t)))
        root = xp.foreach_div(xp.foreach_sqrt(largest), correction, reuse=True)
        below = xp.foreach_add(root, self.epsilon, reuse=True)
        first = now.number(g, lambda t: one_minus_power(xp, self.beta1, t))
        direction = xp.foreach_div(xp.foreach_div(m, first), below, reuse=True)
        return direction, MomentsAndLargest(m, v, largest)


@explained
def scale_by_amsgrad(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Transformation:
    """Adam's direction over the largest v so far (Reddi, Kale and Kumar, 2018), as in torch.optim.

        direction = (m / (1 - beta1**t)) / (sqrt(max(v_1, ..., v_t) / (1 - beta2**t)) + epsilon)

    Args:
        beta1: Decay of m, the average of gradients, in [0, 1).
        beta2: Decay of v, the average of their squares, in [0, 1).
        epsilon: Keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> largest = optim.scale_by_amsgrad()
    >>> np.round(largest.update(np.array([0.5, -3.0]), largest.init(np.zeros(2)))[0], 6)
    array([ 1., -1.])
    """
    betas = fraction("beta1", beta1), fraction("beta2", beta2)
    return from_rules(AmsgradDirection(*betas, non_negative("epsilon", epsilon)))


# RAdam --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RectifiedDirection(Rule[Moments]):
    """m_hat * r * sqrt(1 - beta2**t) / (sqrt(v) + epsilon), or m_hat in the first steps."""

    beta1: float
    beta2: float
    epsilon: float

    slots = Moments

    def apply(self, now: Now, g: Leaves, state: Moments) -> tuple[Leaves, Moments]:
        xp = now.xp
        m = xp.foreach_lerp(state.m, g, 1 - self.beta1)
        v = averaged_squares(xp, state.v, g, self.beta2)
        # One of the two factors is 0: the sum is either direction.
        rectified = now.number(g, lambda t: self.factors(xp, t)[0])
        plain = now.number(g, lambda t: self.factors(xp, t)[1])
        below = xp.foreach_add(xp.foreach_sqrt(v), self.epsilon, reuse=True)
        scaled = xp.foreach_div(xp.foreach_mul(m, rectified), below, reuse=True)
        return xp.foreach_add(scaled, xp.foreach_mul(m, plain), reuse=True), Moments(m, v)

    def factors(self, xp: Any, t: Array) -> tuple[Any, Any]:
        """What multiplies m / (sqrt(v) + epsilon), and m alone."""
        longest = 2 / (1 - self.beta2) - 1
        kept = one_minus_power(xp, self.beta2, t)
        length = self.length(xp, t)
        is_long = length > 5
        safe = xp.where(is_long, length, xp.zeros_like(length) + 6)
        variance = (safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe)
        debias = 1 / one_minus_power(xp, self.beta1, t)
        zero = xp.zeros_like(debias)
        return (
            xp.where(is_long, xp.sqrt(variance) * xp.sqrt(kept) * debias, zero),
            xp.where(is_long, zero, debias),
        )

    def length(self, xp: Any, t: Array) -> Any:
        """rho - 2 * t * beta2**t / (1 - beta2**t), of which float32 would lose four digits: with
        y = -t * log(beta2) it is a constant and a multiple of 1 - y / (exp(y) - 1)."""
        rate = -math.log(self.beta2)
        y = t * rate
        s = y * y
        even = 1 / 12 - s * (1 / 720 - s * (1 / 30240 - s * (1 / 1209600 - s / 47900160)))
        small = y * (0.5 - y * even)
        large = 1 - y / xp.expm1(xp.where(y < 0.5, xp.ones_like(y), y))
        # The first term that the series leaves out is 1e-13 at 0.5.
        grown = xp.where(y < 0.5, small, large)
        return 2 / (1 - self.beta2) - 1 - 2 / rate + 2 / rate * grown


@explained
def scale_by_radam(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Transformation:
    """Adam's direction, rectified while the average of squares is short (Liu et al., 2020).

    With `rho = 2 / (1 - beta2) - 1` and `rho_t = rho - 2 * t * beta2**t / (1 - beta2**t)` it is
    m_hat as long as `rho_t <= 5`, and then

        m_hat * sqrt((rho_t-4) * (rho_t-2) * rho / ((rho-4) * (rho-2) * rho_t))
              * sqrt(1 - beta2**t) / (sqrt(v) + epsilon)

    Args:
        beta1: Decay of m, the average of gradients, in [0, 1).
        beta2: Decay of v, the average of their squares, above 2/3 and below 1.
        epsilon: Keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> rectified = optim.scale_by_radam()
    >>> np.round(rectified.update(np.array([0.5, -3.0]), rectified.init(np.zeros(2)))[0], 6)
    array([ 0.5, -3. ])
    """
    betas = fraction("beta1", beta1), fraction("beta2", beta2)
    if beta2 <= 2 / 3:
        raise ArgumentError(
            f"beta2 must be above 2/3, got {beta2!r}: an average so short is never rectified."
        )
    return from_rules(RectifiedDirection(*betas, non_negative("epsilon", epsilon)))


# Adan ---------------------------------------------------------------------------------------------


class AdanSlots(NamedTuple):
    m: Leaves
    difference: Leaves
    v: Leaves
    last: Leaves  # the gradient of the last step


@dataclass(frozen=True)
class AdanDirection(Rule[AdanSlots]):
    """(m_hat + beta2 * difference_hat) / (sqrt(v_hat) + epsilon)."""

    beta1: float
    beta2: float
    beta3: float
    epsilon: float

    slots = AdanSlots

    def apply(self, now: Now, g: Leaves, state: AdanSlots) -> tuple[Leaves, AdanSlots]:
        xp = now.xp
        has_last = now.number(g, lambda t: xp.where(t == 1, xp.zeros_like(t), xp.ones_like(t)))
        change = xp.foreach_mul(xp.foreach_add(g, state.last, alpha=-1), has_last, reuse=True)
        m = xp.foreach_lerp(state.m, g, 1 - self.beta1)
        difference = xp.foreach_lerp(state.difference, change, 1 - self.beta2)
        ahead = xp.foreach_add(g, change, alpha=self.beta2)
        v = averaged_squares(xp, state.v, ahead, self.beta3)
        corrections = [
            now.number(g, lambda t, beta=beta: one_minus_power(xp, beta, t))  # type: ignore[misc]
            for beta in (self.beta1, self.beta2)
        ]
        debiased = xp.foreach_div(m, corrections[0])
        above = xp.foreach_add(
            debiased, xp.foreach_div(difference, corrections[1]), alpha=self.beta2, reuse=True
        )
        root = now.number(g, lambda t: xp.sqrt(one_minus_power(xp, self.beta3, t)))
        below = xp.foreach_add(xp.foreach_div(xp.foreach_sqrt(v), root, reuse=True), self.epsilon)
        # The gradient's memory is the caller's.
        return xp.foreach_div(above, below, reuse=True), AdanSlots(
            m, difference, v, xp.foreach_mul(g, 1.0)
        )


@explained
def scale_by_adan(
    beta1: float = 0.98, beta2: float = 0.92, beta3: float = 0.99, epsilon: float = 1e-8
) -> Transformation:
    """Adan's direction (Xie et al., 2022), in the form of the authors' program.

        m = beta1 * m + (1 - beta1) * g;    d = beta2 * d + (1 - beta2) * (g - g_last)
        v = beta3 * v + (1 - beta3) * (g + beta2 * (g - g_last))**2
        direction = (m / (1 - beta1**t) + beta2 * d / (1 - beta2**t))
                    / (sqrt(v / (1 - beta3**t)) + epsilon)

    In the first step the difference of gradients is 0. optax.adan has `1 - beta2` where this has
    beta2.

    Args:
        beta1: Decay of m, the average of gradients, in [0, 1).
        beta2: Decay of d, the average of differences of gradients, in [0, 1).
        beta3: Decay of v, in [0, 1).
        epsilon: Keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> adan = optim.scale_by_adan()
    >>> np.round(adan.update(np.array([0.5, -3.0]), adan.init(np.zeros(2)))[0], 6)
    array([ 1., -1.])
    """
    betas = fraction("beta1", beta1), fraction("beta2", beta2), fraction("beta3", beta3)
    return from_rules(AdanDirection(*betas, non_negative("epsilon", epsilon)))


# ADOPT --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdoptDirection(Rule[Moments]):
    """The average of g / sqrt(v), where v is that of the steps before."""

    beta1: float
    beta2: float
    epsilon: float

    slots = Moments

    def apply(self, now: Now, g: Leaves, state: Moments) -> tuple[Leaves, Moments]:
        xp = now.xp
        # The first step only starts v: its bound is 0, and g over epsilon would overflow there.
        least = now.numbers(g, lambda t: xp.where(t == 1, xp.ones_like(t), self.epsilon + 0 * t))
        most = now.numbers(g, lambda t: xp.pow(t - 1, xp.zeros_like(t) + 0.25))
        rows = zip(g, xp.foreach_sqrt(state.v), least, most, strict=True)
        normed = [
            xp.minimum(xp.maximum(x / xp.maximum(root, low), -high), high)
            for x, root, low, high in rows
        ]
        m = xp.foreach_lerp(state.m, normed, 1 - self.beta1)
        new = now.number(g, lambda t: xp.where(t == 1, xp.ones_like(t), 1 - self.beta2 + 0 * t))
        squares = xp.foreach_mul(xp.foreach_mul(g, g), new, reuse=True)
        v = xp.foreach_add(squares, state.v, alpha=self.beta2, reuse=True)
        return m, Moments(m, v)


@explained
def scale_by_adopt(
    beta1: float = 0.9, beta2: float = 0.9999, epsilon: float = 1e-6
) -> Transformation:
    """ADOPT's direction (Taniguchi et al., 2024), which converges for every beta2; as in
    optax.contrib.

        m = beta1 * m + (1 - beta1) * clip(g / max(sqrt(v), epsilon), (t - 1)**0.25)
        direction = m;    v = beta2 * v + (1 - beta2) * g**2

    The first step moves nothing: it sets v to `g**2`.

    Args:
        beta1: Decay of m, in [0, 1).
        beta2: Decay of v, the average of squares, in [0, 1).
        epsilon: The smallest number that a gradient is divided by.

    >>> import numpy as np
    >>> from trellis import optim
    >>> adopt = optim.scale_by_adopt()
    >>> state = adopt.init(np.zeros(2))
    >>> for _ in range(2):
    ...     updates, state = adopt.update(np.array([0.5, -3.0]), state)
    >>> np.round(updates, 6)
    array([ 0.1, -0.1])
    """
    betas = fraction("beta1", beta1), fraction("beta2", beta2)
    return from_rules(AdoptDirection(*betas, positive("epsilon", epsilon)))
