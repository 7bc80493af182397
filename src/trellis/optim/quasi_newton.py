"""L-BFGS: steps by the curvature that the last steps have shown."""

from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.dispatch import xp_of
from .._core.dtypes import name_of
from .._core.typing import Array, Nest
from .arguments import count, explained
from .engine import cast_like, counter, flat, without_params
from .optimizer import Optimizer
from .scaling import Rate
from .transformation import Transformation


@dataclass(frozen=True)
class LbfgsPair:
    """The pair of functions of `scale_by_lbfgs`: all leaves are one vector, of float64 if one of
    them is, and else of float32."""

    history: int

    def _memory(self, like: Array) -> Any:
        # Here: an optimizer loads the solvers when the first one of these is used.
        from ..optimize._quasi_newton import limited_memory

        return limited_memory(xp_of(like), self.history)

    def init(self, params: Nest) -> Container:
        step = counter(params)
        w = _vector(params)
        steps, changes, inverse = self._memory(w).first(w)
        zero = xp_of(w).zeros_like(w)
        return Container(
            step=step, steps=steps, changes=changes, inverse=inverse, last=w * 1, last_gradient=zero
        )

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        if params is None:
            raise without_params("scale_by_lbfgs")
        w, g = _vector(params), _vector(grads)
        xp, memory = xp_of(w), self._memory(w)
        known = state["steps"], state["changes"], state["inverse"]
        known = memory.updated(known, w - state["last"], g - state["last_gradient"])
        # As long as no curvature is known, a step of length 1 at most.
        size = xp.sum(xp.abs(g))
        short = xp.minimum(xp.ones_like(size), 1.0 / xp.where(size > 0, size, 1.0))
        is_known = known[2][-1, ...] > 0
        direction = -memory.direction(known, g) * xp.where(is_known, 1.0, short)
        steps, changes, inverse = known
        kept = Container(
            step=state["step"] + 1,
            steps=steps,
            changes=changes,
            inverse=inverse,
            last=w * 1,
            last_gradient=g * 1,
        )
        return _parts(direction, grads), kept


def _vector(nest: Any) -> Any:
    """All leaves in one row."""
    leaves = flat(nest)
    xp = xp_of(leaves[0])
    is_wide = "float64" in [name_of(x.dtype) for x in leaves]
    kind = "float64" if is_wide else "float32"
    return xp.concat([xp.reshape(xp.astype(x, kind), (-1,)) for x in leaves], axis=0)


def _parts(vector: Any, like: Any) -> Any:
    """The numbers of a vector in the leaves of a pytree."""
    xp, begin, parts = xp_of(vector), 0, []
    for leaf in flat(like):
        size = 1
        for n in leaf.shape:
            size *= int(n)
        part = xp.reshape(vector[begin : begin + size], tuple(leaf.shape))
        parts.append(cast_like(xp, part, leaf))
        begin += size
    return tree.unflatten(tree.structure(like), parts)


@explained
def scale_by_lbfgs(history: int = 10) -> Transformation:
    """The direction of L-BFGS (Liu and Nocedal, 1989): the gradient times what the last steps say
    of the inverse of the second derivatives.

        s = w - w';    y = g - g';    remembered if s y > 0
        q = g;    newest first:  a_i = s_i q / (s_i y_i);    q = q - a_i * y_i
        q = q * (s y) / (y y) of the newest
        oldest first:  q = q + (a_i - y_i q / (s_i y_i)) * s_i;    step = q

    w' and g' are the variables and the gradient of the step before. Until a step has shown
    curvature, it is g * min(1, 1 / sum(abs(g))). There is no line search.

    Args:
        history: How many steps are remembered, at least 1.

    >>> import numpy as np
    >>> from trellis import optim
    >>> own = optim.Optimizer(optim.scale_by_lbfgs(), lr=1.0)
    >>> own.step(np.array([1.0, 2.0]), np.array([3.0, -1.0]))
    array([0.25, 2.25])
    """
    pair = LbfgsPair(count("history", history))
    return Transformation(pair.init, pair.update)


class LBFGS(Optimizer):
    """L-BFGS without a line search (Liu and Nocedal, 1989), one gradient to a step, as
    torch.optim.LBFGS with `max_iter=1`.

    `optim.scale_by_lbfgs` has the formula. It is for smooth losses of all data at once: the noise
    of batches looks like curvature. `trellis.optimize.minimize`, which searches along each
    direction, takes variables of modules, too.

    Args:
        lr: The part of each step that is taken: 1 near a minimum, less far away.
        history: How many steps are remembered, at least 1.

    >>> import numpy as np, trellis
    >>> opt, w = trellis.optim.LBFGS(), np.array([3.0, 1.0])
    >>> for _ in range(12):
    ...     w = opt.step(w, trellis.grad(lambda w: trellis.sum(w**2 * np.array([1.0, 5.0])))(w))
    >>> bool(np.abs(w).max() < 1e-6)
    True
    """

    def __init__(self, lr: Rate = 1.0, history: int = 10):
        super().__init__(scale_by_lbfgs(history), lr)
