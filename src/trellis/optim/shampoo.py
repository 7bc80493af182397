"""Shampoo: a matrix for each axis of a leaf in place of one number for each element."""

from dataclasses import dataclass
from typing import Any

from .._array.control import cond
from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.dtypes import name_of
from .._core.typing import Array, Backend, Nest
from .arguments import count, explained, positive, zero_to_one
from .decay import Mask, add_decayed_weights
from .descent import with_momentum
from .engine import HALF, cast_like, counter, flat, widened
from .optimizer import Optimizer
from .scaling import Rate
from .transformation import Transformation, chain, counted


@dataclass(frozen=True)
class ShampooPair:
    """The pair of functions of `scale_by_shampoo`. Matrices are float32 for half precision."""

    decay: float
    epsilon: float
    every: int
    largest: int

    def init(self, params: Nest) -> Container:
        step = counter(params)
        xp = xp_of(step)
        leaves = flat(params)
        sums = [[_identity(xp, w, n, 0.0) for n in self.sizes(w)] for w in leaves]
        roots = [[_identity(xp, w, n, 1.0) for n in self.sizes(w)] for w in leaves]
        return Container(step=step, sums=sums, roots=roots)

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        step = state["step"] + 1
        xp = xp_of(step)
        gs = flat(grads)
        sums = [self.summed(xp, g, own) for g, own in zip(gs, state["sums"], strict=True)]

        def computed(sums: Any) -> Any:
            return [[self.root(xp, x, len(own)) for x in own] for own in sums]

        if self.every == 1:
            roots = computed(sums)
        else:
            is_due = (step - 1) % self.every == 0
            roots = cond(is_due, lambda a, b: computed(a), lambda a, b: b, sums, state["roots"])
        updates = [self.conditioned(xp, g, own) for g, own in zip(gs, roots, strict=True)]
        if tree.is_nest(grads):
            updates = tree.unflatten(tree.flatten(grads)[1], updates)
        else:
            [updates] = updates
        return updates, Container(step=step, sums=sums, roots=roots)

    def axes(self, x: Array) -> list[int]:
        """The axes that have a matrix: those that are not longer than `largest`."""
        return [i for i, n in enumerate(x.shape) if int(n) <= self.largest]

    def sizes(self, x: Array) -> list[int]:
        return [int(x.shape[i]) for i in self.axes(x)] or [1]

    def unfolded(self, xp: Backend, g: Any, axis: int) -> Any:
        """The leaf as a matrix with a row for each index of an axis."""
        return xp.reshape(xp.moveaxis(widened(xp, g), axis, 0), (int(g.shape[axis]), -1))

    def summed(self, xp: Backend, g: Any, sums: list[Any]) -> list[Any]:
        axes = self.axes(g)
        if not axes:  # a number, or a leaf with long axes only: its square, or the mean of them
            squares = [xp.reshape(xp.mean(widened(xp, g) * widened(xp, g)), (1, 1))]
        else:
            rows = [self.unfolded(xp, g, i) for i in axes]
            squares = [xp.matmul(x, xp.matrix_transpose(x)) for x in rows]
        share = 1.0 if self.decay == 1 else 1 - self.decay
        return [self.decay * old + share * new for old, new in zip(sums, squares, strict=True)]

    def root(self, xp: Backend, x: Any, order: int) -> Any:
        """(x + epsilon)**(-1 / (2 * order))."""
        values, vectors = xp.linalg.eigh(x)
        # Rounding can make the smallest ones negative.
        values = xp.maximum(values, xp.zeros_like(values)) + self.epsilon
        powers = xp.pow(values, xp.zeros_like(values) - 1 / (2 * order))
        return xp.matmul(vectors * powers[None, :], xp.matrix_transpose(vectors))

    def conditioned(self, xp: Backend, g: Any, roots: list[Any]) -> Any:
        """The leaf times the matrix of each axis."""
        result, axes = widened(xp, g), self.axes(g)
        if not axes:
            return cast_like(xp, result * xp.reshape(roots[0], ()), g)
        for i, root in zip(axes, roots, strict=True):
            moved = xp.moveaxis(result, i, 0)
            flat = xp.matmul(root, xp.reshape(moved, (int(g.shape[i]), -1)))
            result = xp.moveaxis(xp.reshape(flat, moved.shape), 0, i)
        return cast_like(xp, result, g)


def _identity(xp: Backend, like: Any, n: int, value: float) -> Any:
    """`value` times the identity, in the data type that matrices of a leaf have."""
    dtype = "float32" if name_of(like.dtype) in HALF else like.dtype
    return value * xp.eye(n, dtype=dtype)


@explained
def scale_by_shampoo(
    decay: float = 1.0, epsilon: float = 1e-6, *, every: int = 1, largest: int = 1024
) -> Transformation:
    """Shampoo's direction (Gupta, Koren and Singer, 2018): the gradient between roots of matrices.

        for each axis i:    H_i = decay * H_i + g_i g_i'        (g_i has a row for each index of i)
        direction = g, multiplied along each axis by (H_i + epsilon)**(-1 / (2 * axes))

    Args:
        decay: How much of the last matrices stays, in [0, 1]; below 1 the new share is `1 - decay`.
        epsilon: Added to the eigenvalues.
        every: After how many steps the roots are computed again; they take an eigendecomposition.
        largest: Longer axes have no matrix.

    >>> import numpy as np
    >>> from trellis import optim
    >>> shampoo = optim.scale_by_shampoo()
    >>> g = np.diag([4.0, -9.0])
    >>> np.round(shampoo.update(g, shampoo.init(g))[0], 4)
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    pair = ShampooPair(
        zero_to_one("decay", decay),
        positive("epsilon", epsilon),
        count("every", every),
        count("largest", largest),
    )
    return Transformation(pair.init, pair.update)


class Shampoo(Optimizer):
    """Gradients between roots of matrices (Gupta, Koren and Singer, 2018), with momentum.

    `optim.scale_by_shampoo` has the direction.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        momentum: How much of the last direction stays, in [0, 1].
        weight_decay: The factor of an L2 penalty.
        decay: How much of the last matrices stays, in [0, 1].
        epsilon: Added to the eigenvalues.
        every: After how many steps the roots are computed again.
        largest: Longer axes have no matrix.
        mask: Which leaves decay: a pytree of bools or a function from the variables to one, such as
            `optim.matrices_only`; None for all.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Shampoo(0.5)
    >>> np.round(opt.step(np.zeros((2, 2)), np.diag([4.0, -9.0])), 4)
    array([[-0.5,  0. ],
           [ 0. ,  0.5]])
    """

    def __init__(
        self,
        lr: Rate = 0.1,
        momentum: float = 0.9,
        weight_decay: float = 0,
        *,
        decay: float = 1.0,
        epsilon: float = 1e-6,
        every: int = 1,
        largest: int = 1024,
        mask: Mask = None,
    ):
        parts = chain(
            add_decayed_weights(weight_decay, mask),
            scale_by_shampoo(decay, epsilon, every=every, largest=largest),
            with_momentum(momentum),
        )
        super().__init__(counted(parts), lr)
