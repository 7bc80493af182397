"""Transformations that average gradients: momentum, Adam and its relatives, Lion."""

import math
from typing import Any

from ._pairs import Leaves, Now, Rule, Transformation, from_rules
from ._scalars import like, one_minus_power, per_dtype, scalar


def trace(decay: float = 0.9, *, nesterov: bool = False) -> Transformation:
    """Momentum: the direction is m, or with Nesterov's form `g + decay * m`.

        m = decay * m + g

    >>> import numpy as np
    >>> from trellis import optim
    >>> heavy = optim.trace(0.9)
    >>> state = heavy.init(np.zeros(1))
    >>> for _ in range(2):
    ...     updates, state = heavy.update(np.array([1.0]), state)
    >>> updates
    array([1.9])
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        m = now.xp.foreach_add(g, slots[0], alpha=decay)
        return now.xp.foreach_add(g, m, alpha=decay) if nesterov else m, [m]

    return from_rules(Rule(apply, ("momentum",)))


def ema(decay: float, *, debias: bool = True) -> Transformation:
    """The exponential moving average of the gradients, `m / (1 - decay**t)` with `debias`.

    m = decay * m + (1 - decay) * g
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        m = now.xp.foreach_lerp(slots[0], g, 1 - decay)
        if not debias:
            return m, [m]
        correction = per_dtype(now, g, lambda t: one_minus_power(now.xp, decay, t))
        return now.xp.foreach_div(m, correction), [m]

    return from_rules(Rule(apply, ("average",)))


def scale_by_adam(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Transformation:
    """Adam's direction (Kingma and Ba, 2015); the moments start at zero.

    m = beta1 * m + (1 - beta1) * g;   v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**t);        v_hat = v / (1 - beta2**t)
    direction = m_hat / (sqrt(v_hat) + epsilon)
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        m = xp.foreach_lerp(slots[0], g, 1 - beta1)
        v = xp.foreach_addcmul(xp.foreach_mul(slots[1], beta2), g, g, 1 - beta2, reuse=True)

        # Both corrections go into the denominator: (sqrt(v / c2) + epsilon) * c1.
        def ratio(t: Any) -> Any:
            return one_minus_power(xp, beta1, t) / xp.sqrt(one_minus_power(xp, beta2, t))

        root = xp.foreach_mul(xp.foreach_sqrt(v), per_dtype(now, g, ratio), reuse=True)
        shift = per_dtype(now, g, lambda t: epsilon * one_minus_power(xp, beta1, t))
        return xp.foreach_div(m, xp.foreach_add(root, shift, reuse=True)), [m, v]

    return from_rules(Rule(apply, ("m", "v")))


def scale_by_nadam(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, momentum_decay: float = 4e-3
) -> Transformation:
    """NAdam's direction (Dozat, 2016), with the momentum schedule of torch.optim.NAdam.

    mu(t) = beta1 * (1 - 0.96**(t * momentum_decay) / 2);    p = mu(1) * ... * mu(t)
    direction = (mu(t+1) * m / (1 - p * mu(t+1)) + (1 - mu(t)) * g / (1 - p)) / (sqrt(v_hat) + epsilon)
    """

    power = momentum_decay * math.log(0.96)

    def start(xp: Any, params: Leaves) -> list[Leaves]:
        zeros = [[xp.zeros_like(w) for w in params] for _ in range(2)]
        return [*zeros, [scalar(xp, w, 1) for w in params]]

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp

        def mu(t: Any) -> Any:
            return beta1 * (1 - 0.5 * xp.exp(t * power))

        m = xp.foreach_lerp(slots[0], g, 1 - beta1)
        v = xp.foreach_addcmul(xp.foreach_mul(slots[1], beta2), g, g, 1 - beta2, reuse=True)
        directions, products = [], []
        for g_i, m_i, v_i, product in zip(g, m, v, slots[2], strict=True):
            t = xp.astype(now.step, product.dtype)
            here, ahead = mu(t), mu(t + 1)
            product = product * here
            root = xp.sqrt(v_i / like(xp, one_minus_power(xp, beta2, t), g_i)) + epsilon
            of_m = like(xp, ahead / (1 - product * ahead), g_i)
            of_g = like(xp, (1 - here) / (1 - product), g_i)
            directions.append((of_m * m_i + of_g * g_i) / root)
            products.append(product)
        return directions, [m, v, products]

    return from_rules(Rule(apply, ("m", "v", "mu_product"), start))


def scale_by_adamax(
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
) -> Transformation:
    """Adamax's direction (Kingma and Ba, 2015): Adam with the infinity norm.

    m = beta1 * m + (1 - beta1) * g;   u = max(beta2 * u, abs(g) + epsilon)
    direction = m / (1 - beta1**t) / u
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        m = xp.foreach_lerp(slots[0], g, 1 - beta1)
        sizes = xp.foreach_add([xp.abs(g_i) for g_i in g], epsilon, reuse=True)
        u = xp.foreach_maximum(xp.foreach_mul(slots[1], beta2), sizes, reuse=True)
        correction = per_dtype(now, g, lambda t: one_minus_power(xp, beta1, t))
        return xp.foreach_div(m, xp.foreach_mul(u, correction)), [m, u]

    return from_rules(Rule(apply, ("m", "u")))


def scale_by_lion(beta1: float = 0.9, beta2: float = 0.99) -> Transformation:
    """Lion's direction (Chen et al., 2023): a sign only, from two averages of one moment.

    direction = sign(beta1 * m + (1 - beta1) * g);   m = beta2 * m + (1 - beta2) * g
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        mixed = xp.foreach_lerp(slots[0], g, 1 - beta1)
        return [xp.sign(x) for x in mixed], [xp.foreach_lerp(slots[0], g, 1 - beta2)]

    return from_rules(Rule(apply, ("m",)))
