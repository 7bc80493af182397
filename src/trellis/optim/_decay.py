"""Weight decay, and masks that say which leaves a transformation is for."""

from collections.abc import Callable
from typing import Any

from .._core import tree
from .._core.container import Container
from ._pairs import Leaves, Now, Rule, Transformation, from_rules, needed_params

# A nest of bools (a bool in place of a sub-nest serves all of it), or a function from the parameters to one.
Mask = Any | Callable[[Any], Any] | None


def add_decayed_weights(weight_decay: float, mask: Mask = None) -> Transformation:
    """`g + weight_decay * w`, for the leaves that the mask chooses.

    First in a chain it is the gradient of an L2 penalty; after `scale_by_adam` it is the decoupled decay of
    AdamW.

    >>> import numpy as np
    >>> from trellis import optim
    >>> decay = optim.add_decayed_weights(0.1, mask={"w": True, "b": False})
    >>> params = {"w": np.ones((1, 2)), "b": np.ones(2)}
    >>> grads = {"w": np.zeros((1, 2)), "b": np.zeros(2)}
    >>> decay.update(grads, decay.init(params), params)[0]
    {'w': array([[0.1, 0.1]]), 'b': array([0., 0.])}
    """

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        params = needed_params(now, "add_decayed_weights()")
        if mask is None:
            return now.xp.foreach_add(g, params, alpha=weight_decay), []
        chosen = chosen_leaves(mask, now.nest)
        rows = zip(g, params, chosen, strict=True)
        return [g_i + weight_decay * w if is_chosen else g_i for g_i, w, is_chosen in rows], []

    return from_rules(Rule(apply)) if weight_decay != 0 else from_rules()


def matrices_only(params: Any, /) -> Any:
    """The mask that leaves out vectors and scalars: no decay on biases and on the scales of norms.

    >>> import numpy as np
    >>> from trellis import optim
    >>> optim.matrices_only({"w": np.ones((2, 2)), "b": np.ones(2)})
    {'w': True, 'b': False}
    """
    return tree.map(lambda w: len(w.shape) > 1, params)


def masked(inner: Transformation, mask: Mask) -> Transformation:
    """`inner` for the leaves that the mask chooses; the others pass unchanged.

    The state is that of a list of the chosen leaves.

    >>> import numpy as np
    >>> from trellis import optim
    >>> half = optim.masked(optim.scale(0.5), {"w": True, "b": False})
    >>> grads = {"w": np.ones(2), "b": np.ones(2)}
    >>> half.update(grads, half.init(grads), grads)[0]
    {'w': array([0.5, 0.5]), 'b': array([1., 1.])}
    """

    def init(params: Any) -> Any:
        return Container(inner=inner.init(_only(_flat(params)[0], chosen_leaves(mask, params))))

    def update(grads: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        lead = grads if params is None else params
        chosen = chosen_leaves(mask, lead)
        columns, spec = tree.align((lead, grads))
        g = columns[1] if columns else [grads]
        own_params = None if params is None else _only(_flat(params)[0], chosen)
        changed, new_state = inner.update(_only(g, chosen), state["inner"], own_params)
        remaining = list(changed)
        mixed = [
            remaining.pop(0) if is_chosen else g_i for g_i, is_chosen in zip(g, chosen, strict=True)
        ]
        return mixed[0] if spec is None else tree.unflatten(spec, mixed), Container(inner=new_state)

    return Transformation(init, update)


def chosen_leaves(mask: Mask, nest: Any) -> list[bool]:
    """The mask as a list beside the leaves of the nest."""
    chosen = mask(nest) if callable(mask) else mask
    columns, spec = tree.align((nest, chosen))
    return [bool(chosen)] if spec is None else [bool(is_chosen) for is_chosen in columns[1]]


def _flat(nest: Any) -> tuple[Leaves, Any]:
    return tree.flatten(nest) if tree.is_nest(nest) else ([nest], None)


def _only(leaves: Leaves, chosen: list[bool]) -> Leaves:
    return [x for x, is_chosen in zip(leaves, chosen, strict=True) if is_chosen]
