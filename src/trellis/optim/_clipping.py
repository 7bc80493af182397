"""Clipping: by value, by the norm of each leaf, by the norm of all leaves together."""

from typing import Any

from .._core import tree
from .._core.dispatch import xp_of_all
from .._core.dtypes import name_of
from ._pairs import Leaves, Now, Rule, Transformation, from_rules
from ._scalars import like, norms


def clip(limit: float) -> Transformation:
    """Every element into [-limit, limit].

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.clip(1.0)
    >>> clipped.update(np.array([5.0, -0.5]), clipped.init(np.zeros(2)))[0]
    array([ 1. , -0.5])
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        return [now.xp.clip(g_i, -limit, limit) for g_i in g], []

    return from_rules(Rule(apply))


def clip_by_norm(limit: float) -> Transformation:
    """`g * min(1, limit / ||g||)`, leaf by leaf."""

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        factors = [_factor(now.xp, norm, limit) for norm in norms(now.xp, g)]
        return [g_i * like(now.xp, f, g_i) for g_i, f in zip(g, factors, strict=True)], []

    return from_rules(Rule(apply))


def clip_by_global_norm(limit: float) -> Transformation:
    """`g * min(1, limit / N)`, where N is the norm of all leaves taken as one vector.

    >>> import numpy as np
    >>> from trellis import optim
    >>> clipped = optim.clip_by_global_norm(1.0)
    >>> grads = {"a": np.array([3.0]), "b": np.array([4.0])}
    >>> clipped.update(grads, clipped.init(grads))[0]
    {'a': array([0.6]), 'b': array([0.8])}
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        factor = _factor(now.xp, _total(now.xp, g), limit)
        first = g[0].dtype
        if all([g_i.dtype == first for g_i in g]):
            return now.xp.foreach_mul(g, like(now.xp, factor, g[0])), []
        return [g_i * like(now.xp, factor, g_i) for g_i in g], []

    return from_rules(Rule(apply))


def global_norm(grads: Any, /) -> Any:
    """The 2-norm of all leaves taken as one vector.

    >>> import numpy as np
    >>> from trellis import optim
    >>> float(optim.global_norm({"a": np.array([3.0]), "b": np.array([4.0])}))
    5.0
    """
    leaves = tree.leaves(grads) if tree.is_nest(grads) else [grads]
    return _total(xp_of_all(*leaves), leaves)


def _total(xp: Any, leaves: Leaves) -> Any:
    """In the widest dtype of the leaves' norms."""
    parts = norms(xp, leaves)
    is_wide = any([name_of(part.dtype) == "float64" for part in parts])
    widest = "float64" if is_wide else "float32"
    return xp.linalg.vector_norm(xp.stack([xp.astype(part, widest) for part in parts]))


def _factor(xp: Any, norm: Any, limit: float) -> Any:
    """min(1, limit / norm); at norm 0 nothing is divided by 0, so that no gradient is nan."""
    is_long = norm > limit
    return xp.where(
        is_long, limit / xp.where(is_long, norm, xp.ones_like(norm)), xp.ones_like(norm)
    )
