"""Sophia: momentum over an estimate of the curvature, clipped."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of, xp_of_all
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.typing import Array, Nest, T
from .._gradients.transforms import grad, jvp
from .._random.distributions import bernoulli
from .._random.keys import split
from .arguments import count, explained, fraction, positive
from .decay import Mask, add_decayed_weights
from .engine import Leaves, Now, Rule, cast_like
from .optimizer import Optimizer
from .scaling import Rate
from .transformation import Transformation, chain, from_rules


class MomentAndCurvature(NamedTuple):
    m: Leaves
    curvature: Leaves


@dataclass(frozen=True)
class SophiaDirection(Rule[MomentAndCurvature]):
    """clip(m / max(gamma * h, epsilon), 1)."""

    beta1: float
    gamma: float
    epsilon: float

    slots = MomentAndCurvature

    def apply(
        self, now: Now, g: Leaves, state: MomentAndCurvature
    ) -> tuple[Leaves, MomentAndCurvature]:
        xp = now.xp
        m = xp.foreach_lerp(state.m, g, 1 - self.beta1)
        below = xp.foreach_maximum(xp.foreach_mul(state.curvature, self.gamma), self.epsilon)
        ratios = xp.foreach_div(m, below)
        direction = [xp.clip(x, -1.0, 1.0) for x in ratios]
        return direction, MomentAndCurvature(m, state.curvature)


@explained
def scale_by_sophia(
    beta1: float = 0.965, gamma: float = 0.01, epsilon: float = 1e-12
) -> Transformation:
    """Sophia's direction (Liu et al., 2023): momentum over the curvature, at most 1.

        m = beta1 * m + (1 - beta1) * g;    direction = clip(m / max(gamma * h, epsilon), -1, 1)

    h is `curvature` in the state, zeros at first, which are the sign of m; `optim.Sophia.measure`
    changes it.

    Args:
        beta1: Decay of m, the average of gradients, in [0, 1).
        gamma: What multiplies the curvature: the larger, the smaller the steps.
        epsilon: The smallest number that m is divided by.

    >>> import numpy as np
    >>> from trellis import optim
    >>> sophia = optim.scale_by_sophia()
    >>> state = sophia.init(np.zeros(2))
    >>> state.curvature = np.array([0.0, 100.0])
    >>> np.round(sophia.update(np.array([5.0, 5.0]), state)[0], 3)
    array([1.   , 0.175])
    """
    numbers = positive("gamma", gamma), positive("epsilon", epsilon)
    return from_rules(SophiaDirection(fraction("beta1", beta1), *numbers))


class Sophia(Optimizer):
    """Momentum over an estimate of the curvature, clipped (Liu et al., 2023).

        w = w - lr * (sophia_direction + weight_decay * w)

    `optim.scale_by_sophia` has the direction. Every ten steps or so `measure` takes an estimate of
    the diagonal of the Hessian, such as `optim.hutchinson_diagonal`; `measured` is the same as a
    pure function, for compiled steps. `fit` measures before the first step and then after every
    `measure_every`; in a loop by hand, where nothing is measured the steps are signs of m.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta1: Decay of the average of gradients, in [0, 1).
        beta2: Decay of the average of estimates, in [0, 1).
        gamma: What multiplies the curvature: the larger, the smaller the steps.
        epsilon: The smallest number that the average of gradients is divided by.
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.
        measure_every: After how many steps `fit` measures the curvature of the batch.

    >>> import numpy as np, trellis
    >>> opt, v = trellis.optim.Sophia(lr=0.1, beta1=0.0, gamma=1.0), np.array([1.0, 1.0])
    >>> v = opt.step(v, np.array([2.0, 2.0]))
    >>> opt.measure(np.array([100.0, 1000.0]))
    >>> np.round(opt.step(v, np.array([2.0, 2.0])), 6)
    array([0.8 , 0.88])
    """

    def __init__(
        self,
        lr: Rate = 1e-4,
        beta1: float = 0.965,
        beta2: float = 0.99,
        gamma: float = 0.01,
        epsilon: float = 1e-12,
        weight_decay: float = 0,
        *,
        mask: Mask = None,
        measure_every: int = 10,
    ):
        self.measure_every = count("measure_every", measure_every)
        sophia = scale_by_sophia(beta1, gamma, epsilon)
        self._keep = fraction("beta2", beta2)
        super().__init__(chain(sophia, add_decayed_weights(weight_decay, mask)), lr)

    def measured(self, state: Nest, curvature: Nest, /) -> Container:
        """The state with a new estimate of the curvature in its average; a pure function.

        Args:
            state: What `init` or `update` returned.
            curvature: A pytree like the variables; negative numbers count as 0 in the steps.
        """
        if "curvature" not in state:  # type: ignore[operator]
            raise ArgumentError(
                "Sophia.measured() needs the state of a Sophia: write optimizer.init(v) first."
            )
        known: Any = state
        new = tree.map(
            lambda h, new: self._keep * h + (1 - self._keep) * new, known["curvature"], curvature
        )
        return Container({**known, "curvature": new})

    def measure(self, curvature: Nest, /) -> None:
        """Take a new estimate of the curvature into the average of this optimizer.

        Args:
            curvature: A pytree like the variables, such as `optim.hutchinson_diagonal` gives.
        """
        self.state = self.measured(self.state, curvature)


def hutchinson_diagonal(loss: Callable[[T], Array], v: T, key: Array, /) -> T:
    """An unbiased estimate of the diagonal of the Hessian of a loss (Hutchinson, 1989).

    It is `u * (H u)` with random signs u: one derivative of the gradient.

    Args:
        loss: From the variables to one number.
        v: The variables.
        key: A key of `trellis.random`.

    >>> import numpy as np, trellis
    >>> from trellis import optim
    >>> v = np.array([1.0, 2.0])
    >>> optim.hutchinson_diagonal(lambda v: trellis.sum(v**4), v, trellis.random.key(0))
    array([12., 48.])
    """
    return curvature_along(loss, v, random_signs(v, key))


def random_signs(v: T, key: Array) -> T:
    """1 and -1 at random, like the variables."""
    leaves, spec = tree.flatten(v)
    xp_of_all(key, *leaves)
    for w in leaves:
        if not hasattr(w, "shape"):
            raise ArgumentTypeError(f"hutchinson_diagonal() expects arrays in v, got {w!r}.")
    keys = split(key, len(leaves))
    flips = [bernoulli(keys[i], 0.5, tuple(w.shape)) for i, w in enumerate(leaves)]  # type: ignore[index]
    signs: T = tree.unflatten(spec, [_signs(x, w) for x, w in zip(flips, leaves, strict=True)])
    return signs


def curvature_along(loss: Callable[[T], Array], v: T, signs: T) -> T:
    """`u * (H u)` for signs u."""
    _, product = jvp(grad(loss), (v,), (signs,))
    estimate: T = tree.map(lambda a, b: a * b, signs, product)
    return estimate


def _signs(flips: Any, like: Any) -> Any:
    """1 and -1 in the data type of a leaf."""
    xp = xp_of(like)
    one = xp.ones_like(like)
    return xp.where(flips, one, cast_like(xp, -one, like))
