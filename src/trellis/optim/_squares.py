"""Transformations that divide by the size of past gradients: RMSprop, Adagrad, Adadelta."""

from typing import Any

from ._pairs import Leaves, Now, Rule, Transformation, from_rules


def scale_by_rms(
    decay: float = 0.99, epsilon: float = 1e-8, *, centered: bool = False
) -> Transformation:
    """RMSprop's direction (Hinton, 2012), with epsilon outside the root as in torch.optim.

        v = decay * v + (1 - decay) * g**2
        direction = g / (sqrt(v) + epsilon)

    With `centered`, `v - a**2` stands under the root, a being the average of g.
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        v = xp.foreach_addcmul(xp.foreach_mul(slots[0], decay), g, g, 1 - decay, reuse=True)
        kept, under = [v], v
        if centered:
            average = xp.foreach_lerp(slots[1], g, 1 - decay)
            kept, under = [v, average], xp.foreach_addcmul(v, average, average, -1)
        root = xp.foreach_add(xp.foreach_sqrt(under), epsilon, reuse=True)
        return xp.foreach_div(g, root), kept

    return from_rules(Rule(apply, ("v", "average") if centered else ("v",)))


def scale_by_adagrad(initial_accumulator: float = 0.0, epsilon: float = 1e-10) -> Transformation:
    """Adagrad's direction (Duchi et al., 2011), with epsilon outside the root as in torch.optim.

    s = s + g**2;   direction = g / (sqrt(s) + epsilon)
    """

    def start(xp: Any, params: Leaves) -> list[Leaves]:
        return [[xp.full_like(w, initial_accumulator) for w in params]]

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        total = xp.foreach_addcmul(slots[0], g, g)
        root = xp.foreach_add(xp.foreach_sqrt(total), epsilon, reuse=True)
        return xp.foreach_div(g, root), [total]

    return from_rules(Rule(apply, ("sum_of_squares",), start))


def scale_by_adadelta(decay: float = 0.9, epsilon: float = 1e-6) -> Transformation:
    """Adadelta's direction (Zeiler, 2012): steps in the units of the parameters.

    v = decay * v + (1 - decay) * g**2
    direction = sqrt(d + epsilon) / sqrt(v + epsilon) * g
    d = decay * d + (1 - decay) * direction**2
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        v = xp.foreach_addcmul(xp.foreach_mul(slots[0], decay), g, g, 1 - decay, reuse=True)
        below = xp.foreach_sqrt(xp.foreach_add(v, epsilon), reuse=True)
        above = xp.foreach_sqrt(xp.foreach_add(slots[1], epsilon), reuse=True)
        step = xp.foreach_mul(xp.foreach_div(above, below, reuse=True), g, reuse=True)
        d = xp.foreach_mul(slots[1], decay)
        return step, [v, xp.foreach_addcmul(d, step, step, 1 - decay, reuse=True)]

    return from_rules(Rule(apply, ("v", "delta")))
