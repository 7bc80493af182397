"""Directions over the size of past gradients: RMSprop, Adagrad, Adadelta, Adafactor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.dtypes import name_of
from .._core.typing import Array, Backend
from .arguments import count, explained, flag, fraction, non_negative
from .engine import HALF, Kernel, Leaves, Now, Rule, cast_like
from .moments import averaged_squares
from .scaling import step_kernel
from .transformation import Transformation, from_rules

# RMSprop ------------------------------------------------------------------------------------------


class Squares(NamedTuple):
    v: Leaves


class SquaresAndAverage(NamedTuple):
    v: Leaves
    average: Leaves


@dataclass(frozen=True)
class RmsDirection(Rule[Squares]):
    """g / (sqrt(v) + epsilon)."""

    decay: float
    epsilon: float

    slots = Squares

    def apply(self, now: Now, g: Leaves, state: Squares) -> tuple[Leaves, Squares]:
        xp = now.xp
        v = averaged_squares(xp, state.v, g, self.decay)
        return over_root(xp, g, v, self.epsilon), Squares(v)

    def kernel(self, behind: tuple[Rule[Any], ...]) -> Kernel | None:
        numbers = (self.decay, 1 - self.decay, self.epsilon)
        own = step_kernel("rms", numbers, behind)
        return own if behind else RmsStep(self, own)


@dataclass(frozen=True)
class RmsStep:
    """The whole step of RMSprop: the division and the descent are one operation."""

    rule: RmsDirection
    own: Kernel | None  # for backends that have the step as a kernel

    def __call__(
        self, now: Now, g: Leaves, state: Squares, rate: Array | float, reuse: bool
    ) -> tuple[Leaves, tuple[Leaves, ...]]:
        done = None if self.own is None else self.own(now, g, state, rate, reuse)
        if done is not None:
            return done
        xp = now.xp
        v = averaged_squares(xp, state.v, g, self.rule.decay, reuse=reuse)
        below = xp.foreach_add(xp.foreach_sqrt(v), self.rule.epsilon, reuse=True)
        return xp.foreach_addcdiv(now.params, g, below, -rate), Squares(v)


@dataclass(frozen=True)
class CenteredRmsDirection(Rule[SquaresAndAverage]):
    """g / (sqrt(v - average**2) + epsilon)."""

    decay: float
    epsilon: float

    slots = SquaresAndAverage

    def apply(
        self, now: Now, g: Leaves, state: SquaresAndAverage
    ) -> tuple[Leaves, SquaresAndAverage]:
        xp = now.xp
        v = averaged_squares(xp, state.v, g, self.decay)
        average = xp.foreach_lerp(state.average, g, 1 - self.decay)
        variance = xp.foreach_addcmul(v, average, average, -1)
        return over_root(xp, g, variance, self.epsilon), SquaresAndAverage(v, average)


def over_root(xp: Backend, g: Leaves, v: Leaves, epsilon: float) -> Leaves:
    """g / (sqrt(v) + epsilon)."""
    result: Leaves = xp.foreach_div(g, xp.foreach_add(xp.foreach_sqrt(v), epsilon, reuse=True))
    return result


@explained
def scale_by_rms(
    decay: float = 0.99, epsilon: float = 1e-8, *, centered: bool = False
) -> Transformation:
    """RMSprop's direction (Hinton, 2012), with epsilon outside the root as in torch.optim.

        v = decay * v + (1 - decay) * g**2
        direction = g / (sqrt(v) + epsilon)

    Args:
        decay: How much of the last v stays, in [0, 1).
        epsilon: Keeps the division finite.
        centered: Whether the root is of `v - a**2`, where a is the average of g.

    >>> import numpy as np
    >>> from trellis import optim
    >>> rms = optim.scale_by_rms(0.75)
    >>> np.round(rms.update(np.array([0.3, -8.0]), rms.init(np.zeros(2)))[0], 6)
    array([ 2., -2.])
    """
    numbers = fraction("decay", decay), non_negative("epsilon", epsilon)
    is_centered = flag("centered", centered)
    return from_rules(CenteredRmsDirection(*numbers) if is_centered else RmsDirection(*numbers))


# Adagrad and Adadelta -----------------------------------------------------------------------------


class SumOfSquares(NamedTuple):
    sum_of_squares: Leaves


@dataclass(frozen=True)
class AdagradDirection(Rule[SumOfSquares]):
    """g / (sqrt(s) + epsilon)."""

    initial_accumulator: float
    epsilon: float

    slots = SumOfSquares

    def start(self, xp: Backend, params: Leaves) -> SumOfSquares:
        return SumOfSquares([xp.full_like(w, self.initial_accumulator) for w in params])

    def apply(self, now: Now, g: Leaves, state: SumOfSquares) -> tuple[Leaves, SumOfSquares]:
        total = now.xp.foreach_addcmul(state.sum_of_squares, g, g)
        return over_root(now.xp, g, total, self.epsilon), SumOfSquares(total)

    def kernel(self, behind: tuple[Rule[Any], ...]) -> Kernel | None:
        return step_kernel("adagrad", (self.epsilon,), behind)


@explained
def scale_by_adagrad(initial_accumulator: float = 0.0, epsilon: float = 1e-10) -> Transformation:
    """Adagrad's direction (Duchi et al., 2011), with epsilon outside the root as in torch.optim.

        s = s + g**2;   direction = g / (sqrt(s) + epsilon)

    Args:
        initial_accumulator: The first s.
        epsilon: Keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> adagrad = optim.scale_by_adagrad()
    >>> np.round(adagrad.update(np.array([0.3, -8.0]), adagrad.init(np.zeros(2)))[0], 6)
    array([ 1., -1.])
    """
    start = non_negative("initial_accumulator", initial_accumulator)
    return from_rules(AdagradDirection(start, non_negative("epsilon", epsilon)))


class SquaresAndDeltas(NamedTuple):
    v: Leaves
    delta: Leaves


@dataclass(frozen=True)
class AdadeltaDirection(Rule[SquaresAndDeltas]):
    """sqrt(d + epsilon) / sqrt(v + epsilon) * g."""

    decay: float
    epsilon: float

    slots = SquaresAndDeltas

    def apply(
        self, now: Now, g: Leaves, state: SquaresAndDeltas
    ) -> tuple[Leaves, SquaresAndDeltas]:
        xp = now.xp
        v = averaged_squares(xp, state.v, g, self.decay)
        below = xp.foreach_sqrt(xp.foreach_add(v, self.epsilon), reuse=True)
        above = xp.foreach_sqrt(xp.foreach_add(state.delta, self.epsilon), reuse=True)
        step = xp.foreach_mul(xp.foreach_div(above, below, reuse=True), g, reuse=True)
        return step, SquaresAndDeltas(v, averaged_squares(xp, state.delta, step, self.decay))


@explained
def scale_by_adadelta(decay: float = 0.9, epsilon: float = 1e-6) -> Transformation:
    """Adadelta's direction (Zeiler, 2012): steps in the units of the parameters.

        v = decay * v + (1 - decay) * g**2
        direction = sqrt(d + epsilon) / sqrt(v + epsilon) * g
        d = decay * d + (1 - decay) * direction**2

    Args:
        decay: How much of the last v and d stays, in [0, 1).
        epsilon: Makes the first steps possible and keeps the division finite.

    >>> import numpy as np
    >>> from trellis import optim
    >>> adadelta = optim.scale_by_adadelta(0.75, 1e-4)
    >>> np.round(adadelta.update(np.array([0.3, -8.0]), adadelta.init(np.zeros(2)))[0], 4)
    array([ 0.02, -0.02])
    """
    return from_rules(AdadeltaDirection(fraction("decay", decay), non_negative("epsilon", epsilon)))


# Adafactor ----------------------------------------------------------------------------------------


class FactoredSquares(NamedTuple):
    v_row: Leaves
    v_col: Leaves
    v: Leaves


@dataclass(frozen=True)
class FactoredRmsDirection(Rule[FactoredSquares]):
    """g / sqrt(outer(r, c) / mean(r)), or g / sqrt(v) for leaves that are not factored."""

    decay_rate: float
    epsilon: float
    factored: bool
    min_size_to_factor: int

    slots = FactoredSquares

    def axes_of(self, shape: Sequence[int]) -> tuple[int, int] | None:
        """The second largest and the largest axis, if the leaf is factored."""
        if not self.factored or len(shape) < 2:
            return None
        order = sorted(range(len(shape)), key=lambda i: int(shape[i]))
        is_large = int(shape[order[-2]]) >= self.min_size_to_factor
        return (order[-2], order[-1]) if is_large else None

    def start(self, xp: Backend, params: Leaves) -> FactoredSquares:
        rows = []
        for w in params:
            axes, zeros = self.axes_of(w.shape), xp.zeros_like(w)
            none = xp.reshape(xp.sum(zeros), (1,))
            if axes is None:
                rows.append([none, none, zeros])
            else:
                rows.append([xp.max(zeros, axis=axes[1]), xp.max(zeros, axis=axes[0]), none])
        return FactoredSquares(*[[row[i] for row in rows] for i in range(3)])

    def apply(self, now: Now, g: Leaves, state: FactoredSquares) -> tuple[Leaves, FactoredSquares]:
        xp = now.xp
        directions, rows = [], []
        for g_i, v_row, v_col, v in zip(g, state.v_row, state.v_col, state.v, strict=True):
            b, axes = self.remembered(now, g_i), self.axes_of(g_i.shape)
            squares = g_i * g_i + self.epsilon
            if axes is None:
                v = b * v + (1 - b) * squares
                directions.append(g_i / xp.sqrt(v))
            else:
                small, large = axes
                v_row = b * v_row + (1 - b) * xp.mean(squares, axis=large)
                v_col = b * v_col + (1 - b) * xp.mean(squares, axis=small)
                # v_row lacks the larger axis: the axes after it have moved.
                mean = xp.mean(v_row, axis=small - 1 if small > large else small, keepdims=True)
                across = xp.expand_dims(xp.sqrt(v_row / mean), axis=large)
                directions.append(g_i / across / xp.expand_dims(xp.sqrt(v_col), axis=small))
            rows.append([v_row, v_col, v])
        return directions, FactoredSquares(*[[row[i] for row in rows] for i in range(3)])

    def remembered(self, now: Now, g_i: Array) -> Any:
        """b = 1 - t**-decay_rate, in the dtype of the leaf."""
        xp = now.xp
        t = xp.astype(now.step, "float32" if name_of(g_i.dtype) in HALF else g_i.dtype)
        b = 1 - xp.pow(t, -self.decay_rate)
        return cast_like(xp, b, g_i)


@explained
def scale_by_factored_rms(
    decay_rate: float = 0.8,
    epsilon: float = 1e-30,
    *,
    factored: bool = True,
    min_size_to_factor: int = 128,
) -> Transformation:
    """Adafactor's direction (Shazeer and Stern, 2018): a number for each row and each column.

        b = 1 - t**-decay_rate;   s = g**2 + epsilon
        r = b * r + (1 - b) * mean(s, columns);   c = b * c + (1 - b) * mean(s, rows)
        direction = g / sqrt(outer(r, c) / mean(r))

    The two largest axes are factored; other leaves keep `v = b * v + (1 - b) * s` in full, and
    `direction = g / sqrt(v)`. What a leaf does not need is an array of one zero in the state.

    Args:
        decay_rate: How fast old squares are forgotten, at least 0.
        epsilon: Added to the squares.
        factored: Whether any leaf is factored.
        min_size_to_factor: The least size of both axes for a leaf to be factored.

    >>> import numpy as np
    >>> from trellis import optim
    >>> small = optim.scale_by_factored_rms(min_size_to_factor=2)
    >>> state = small.init(np.zeros((3, 4)))
    >>> state.v_row.shape, state.v_col.shape, state.v.shape
    ((3,), (4,), (1,))
    """
    numbers = non_negative("decay_rate", decay_rate), non_negative("epsilon", epsilon)
    sizes = flag("factored", factored), count("min_size_to_factor", min_size_to_factor)
    return from_rules(FactoredRmsDirection(*numbers, *sizes))
