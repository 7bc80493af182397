"""Clipping: by value, by the norm of each leaf, by the norm of all leaves together."""

from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.dispatch import xp_of_all
from .._core.dtypes import name_of
from .._core.typing import Array, Backend, Nest
from .arguments import explained, non_negative, positive
from .engine import Leaves, NoSlots, Now, Rule, check_floats
from .scaling import norms, root_mean_squares, times
from .transformation import Transformation, from_rules


@dataclass(frozen=True)
class Clipped(Rule[NoSlots]):
    """min(max(g, -limit), limit)."""

    limit: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        return [now.xp.clip(g_i, -self.limit, self.limit) for g_i in g], state


@explained
def clip(limit: float) -> Transformation:
    """Every element into [-limit, limit].

    Args:
        limit: The largest size of an element, at least 0.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.clip(1.0)
    >>> clipped.update(np.array([5.0, -0.5]), clipped.init(np.zeros(2)))[0]
    array([ 1. , -0.5])
    """
    return from_rules(Clipped(non_negative("limit", limit)))


@dataclass(frozen=True)
class ClippedByNorm(Rule[NoSlots]):
    """g * min(1, limit / ||g||)."""

    limit: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        factors = [shortening(now.xp, norm, self.limit) for norm in norms(now.xp, g)]
        return times(now.xp, g, factors), state


@explained
def clip_by_norm(limit: float) -> Transformation:
    """`g * min(1, limit / ||g||)`, leaf by leaf.

    Args:
        limit: The largest norm of a leaf, at least 0.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.clip_by_norm(1.0)
    >>> clipped.update(np.array([3.0, 4.0]), clipped.init(np.zeros(2)))[0]
    array([0.6, 0.8])
    """
    return from_rules(ClippedByNorm(non_negative("limit", limit)))


@dataclass(frozen=True)
class ClippedByGlobalNorm(Rule[NoSlots]):
    """g * min(1, limit / N), where N is the norm of all leaves."""

    limit: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        xp, first = now.xp, g[0].dtype
        factor = shortening(xp, total_norm(xp, g), self.limit)
        if all([g_i.dtype == first for g_i in g]):
            return xp.foreach_mul(g, xp.foreach_cast([factor], first)[0]), state
        return times(xp, g, [factor] * len(g)), state


@explained
def clip_by_global_norm(limit: float) -> Transformation:
    """`g * min(1, limit / N)`, where N is the norm of all leaves taken as one vector.

    Args:
        limit: The largest norm of all leaves together, at least 0.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.clip_by_global_norm(1.0)
    >>> grads = {"a": np.array([3.0]), "b": np.array([4.0])}
    >>> clipped.update(grads, clipped.init(grads))[0]
    {'a': array([0.6]), 'b': array([0.8])}
    """
    return from_rules(ClippedByGlobalNorm(non_negative("limit", limit)))


@dataclass(frozen=True)
class ClippedByRms(Rule[NoSlots]):
    """g / max(1, rms(g) / limit)."""

    limit: float

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        sizes = root_mean_squares(now.xp, g)
        factors = [1 / now.xp.maximum(size / self.limit, 1.0) for size in sizes]
        return times(now.xp, g, factors), state


@explained
def clip_by_rms(limit: float) -> Transformation:
    """`g / max(1, rms(g) / limit)`, leaf by leaf.

    Args:
        limit: The largest root of the mean square of a leaf, above 0.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.clip_by_rms(1.0)
    >>> clipped.update(np.array([4.0, -4.0]), clipped.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """
    return from_rules(ClippedByRms(positive("limit", limit)))


def global_norm(grads: Nest, /) -> Array:
    """The 2-norm of all leaves taken as one vector.

    Args:
        grads: A pytree of floating-point arrays.

    >>> import numpy as np
    >>> from trellis import optim
    >>> float(optim.global_norm({"a": np.array([3.0]), "b": np.array([4.0])}))
    5.0
    """
    leaves = tree.leaves(grads) if tree.is_nest(grads) else [grads]
    xp = xp_of_all(*leaves)
    check_floats(xp, leaves)
    norm: Array = total_norm(xp, leaves)
    return norm


def total_norm(xp: Backend, leaves: Leaves) -> Any:
    """The norm of all leaves, in the widest dtype of their norms."""
    parts = norms(xp, leaves)
    is_wide = any([name_of(part.dtype) == "float64" for part in parts])
    widest = "float64" if is_wide else "float32"
    return xp.linalg.vector_norm(xp.stack([xp.astype(part, widest) for part in parts]))


def shortening(xp: Backend, norm: Array, limit: float) -> Any:
    """min(1, limit / norm); at norm 0 nothing is divided by 0, so that no gradient is nan."""
    is_long, one = norm > limit, xp.ones_like(norm)
    return xp.where(is_long, limit / xp.where(is_long, norm, one), one)
