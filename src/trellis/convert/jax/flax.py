"""What flax adds to JAX: which arrays of a model are trained, and what its modules are called."""

import sys
from collections.abc import Callable, Mapping
from typing import Any


def is_nnx_module(fn: object) -> bool:
    """Whether `fn` is a model of flax.nnx; flax is never imported for that."""
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(fn, nnx.Module)


def split_nnx(model: Callable[..., Any]) -> tuple[Callable[..., Any], Any, Any]:
    """A pure function of trained arrays, of all other arrays, and of the arguments of the model;
    then both sets of arrays. The function gives the new other arrays too."""
    nnx = sys.modules["flax.nnx"]
    definition, trained, others = nnx.split(model, nnx.Param, ...)

    def apply(
        trained: Mapping[str, Any], others: Mapping[str, Any], *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        made = nnx.merge(definition, trained, others)
        out = made(*args, **kwargs)
        return out, nnx.split(made, nnx.Param, ...)[2]

    return apply, trained, others


def is_statistic(variables: object, chain: str) -> bool:
    """Whether an array of linen's variables is not trained: all but those under `params`."""
    if not isinstance(variables, Mapping) or "params" not in variables:
        return False
    return chain.partition("/")[0] != "params"


def name_of(fn: object) -> str:
    """What people would call the model."""
    owner = getattr(fn, "__self__", None)
    if owner is not None:
        return type(owner).__name__
    name = getattr(fn, "__name__", type(fn).__name__)
    return "function" if name == "<lambda>" else str(name)


def signature_of(fn: Callable[..., Any]) -> Any:
    """The function whose parameters the arguments belong to: linen's `apply` passes them on."""
    owner = getattr(fn, "__self__", None)
    linen = sys.modules.get("flax.linen")
    if linen is not None and isinstance(owner, linen.Module) and fn.__name__ == "apply":
        return owner.__call__
    return fn
