"""Weight decay, and masks that say which leaves a transformation is for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentTypeError
from .._core.explain import explain
from .._core.typing import Nest
from .arguments import explained, non_negative
from .engine import Leaves, NoSlots, Now, Rule, flat
from .transformation import Transformation, checked_transformation, from_rules

# A pytree of bools; a bool in place of a subtree applies to all of it.
Choice: TypeAlias = bool | Mapping[str, "Choice"] | Sequence["Choice"]
# Such a pytree, or a function from the parameters to one; None chooses every leaf.
Mask: TypeAlias = Choice | Callable[[Any], Choice] | None


@dataclass(frozen=True)
class DecayedWeights(Rule[NoSlots]):
    """g + weight_decay * w, for the leaves that the mask chooses."""

    weight_decay: float
    mask: Mask

    slots = NoSlots

    def apply(self, now: Now, g: Leaves, state: NoSlots) -> tuple[Leaves, NoSlots]:
        params = now.needed_params("add_decayed_weights")
        if self.mask is None:
            return now.xp.foreach_add(g, params, alpha=self.weight_decay), state
        rows = zip(g, params, chosen_leaves(self.mask, now.nest), strict=True)
        return [g_i + self.weight_decay * w if chosen else g_i for g_i, w, chosen in rows], state


@explained
def add_decayed_weights(weight_decay: float, mask: Mask = None) -> Transformation:
    """`g + weight_decay * w`, for the leaves that the mask chooses.

    First in a chain it is the gradient of an L2 penalty; after `scale_by_adam` it is the decoupled
    decay of AdamW.

    Args:
        weight_decay: The factor, at least 0.
        mask: A pytree of bools, or a function from the parameters to one, such as
            `optim.matrices_only`.

    >>> import numpy as np
    >>> from trellis import optim
    >>> decay = optim.add_decayed_weights(0.1, mask={"w": True, "b": False})
    >>> params = {"w": np.ones((1, 2)), "b": np.ones(2)}
    >>> grads = {"w": np.zeros((1, 2)), "b": np.zeros(2)}
    >>> decay.update(grads, decay.init(params), params)[0]
    {'w': array([[0.1, 0.1]]), 'b': array([0., 0.])}
    """
    rule = DecayedWeights(non_negative("weight_decay", weight_decay), checked_mask(mask))
    return from_rules(rule) if rule.weight_decay != 0 else from_rules()


def matrices_only(params: Nest, /) -> Choice:
    """The mask that leaves out vectors and scalars: no decay on biases and on the scales of norms.

    Args:
        params: A pytree of arrays.

    >>> import numpy as np
    >>> from trellis import optim
    >>> optim.matrices_only({"w": np.ones((2, 2)), "b": np.ones(2)})
    {'w': True, 'b': False}
    """
    try:
        chosen: Choice = tree.map(lambda w: len(getattr(w, "shape", ())) > 1, params)
        return chosen
    except Exception as error:
        return explain(error, matrices_only)


@explained
def masked(inner: Transformation, mask: Mask) -> Transformation:
    """`inner` for the leaves that the mask chooses; the others pass unchanged.

    The state is that of a list of the chosen leaves.

    Args:
        inner: A transformation.
        mask: A pytree of bools, or a function from the parameters to one, such as
            `optim.matrices_only`.

    >>> import numpy as np
    >>> from trellis import optim
    >>> half = optim.masked(optim.scale(0.5), {"w": True, "b": False})
    >>> grads = {"w": np.ones(2), "b": np.ones(2)}
    >>> half.update(grads, half.init(grads), grads)[0]
    {'w': array([0.5, 0.5]), 'b': array([1., 1.])}
    """
    some = Masked(checked_transformation("masked", inner), checked_mask(mask))
    return Transformation(some.init, some.update)


@dataclass(frozen=True)
class Masked:
    """The pair of functions of `masked`."""

    inner: Transformation
    mask: Mask

    def init(self, params: Nest) -> Container:
        own = _only(flat(params), chosen_leaves(self.mask, params))
        return Container(inner=self.inner.init(own))

    def update(self, grads: Any, state: Any, params: Any = None) -> tuple[Any, Container]:
        lead = grads if params is None else params
        chosen = chosen_leaves(self.mask, lead)
        columns, spec = tree.align((lead, grads))
        g = columns[1] if columns else [grads]
        own_params = None if params is None else _only(flat(params), chosen)
        changed, new_state = self.inner.update(_only(g, chosen), state["inner"], own_params)
        remaining = list(changed)
        rows = zip(g, chosen, strict=True)
        mixed = [remaining.pop(0) if is_chosen else g_i for g_i, is_chosen in rows]
        return mixed[0] if spec is None else tree.unflatten(spec, mixed), Container(inner=new_state)


def checked_mask(mask: object, name: str = "mask") -> Mask:
    """`mask`, if it can be one."""
    if mask is None or callable(mask) or isinstance(mask, (bool, dict, list, tuple)):
        return mask
    raise ArgumentTypeError(
        f"{name} must be a pytree of bools or a function from the variables to one, such as "
        f"optim.matrices_only, got {mask!r}."
    )


def chosen_leaves(mask: Mask, nest: object) -> list[bool]:
    """The mask as a list, one bool for each leaf of the pytree."""
    chosen = True if mask is None else mask(nest) if callable(mask) else mask
    columns, spec = tree.align((nest, chosen))
    return [bool(chosen)] if spec is None else [bool(is_chosen) for is_chosen in columns[1]]


def _only(leaves: Leaves, chosen: list[bool]) -> Leaves:
    return [x for x, is_chosen in zip(leaves, chosen, strict=True) if is_chosen]
