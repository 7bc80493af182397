"""Adding adapters to a model, switching between them, and putting them into the weights."""

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from ..._array.casting import dtype as dtype_of
from ..._array.device import device as device_of
from ..._core.arrays import plain
from ..._core.dispatch import backend_of
from ..._core.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from ..._core.kinds import check_arguments
from ..._core.patterns import as_patterns, listed
from ..module.around import surround, weight_of
from ..module.module import Module
from ..module.queries import below
from .attached import Adapters, is_turned
from .low_rank import Adapter
from .targets import Target, chain_from, chosen

M = TypeVar("M", bound=Module)
Variant = Literal["lora", "dora"]


def lora(
    model: M,
    rank: int = 8,
    where: str | Sequence[str] | None = None,
    *,
    alpha: float | None = None,
    dropout: float = 0.0,
    variant: Variant = "lora",
    name: str = "default",
) -> M:
    """Add adapters to a model, in place, and return it: few numbers to train beside each matrix.

    They begin without effect. `fit` trains the active ones alone, as long as it is not told
    otherwise with `trainable`; their variables are called `*/adapters/*`. A second call with
    another name adds others and makes them the active ones; `nn.adapters` switches between them,
    merges, saves and loads. Dense layers, tables, the matrices of other layers, and those of
    converted models can have adapters; names of variables that were there do not change.

    Args:
        model: A model that is built.
        rank: The number of columns and rows of the two thin matrices.
        where: Patterns of layers or variables, such as "*/attention/*", in which `*` is any text;
            None means all dense layers.
        alpha: The product counts `alpha / rank` times; `rank` unless given.
        dropout: The probability that an element of a layer's input is dropped on its way through
            the adapter, in training.
        variant: "lora", or "dora" for one with a learned length for each output too.
        name: What these adapters are called.

    >>> import numpy as np
    >>> from trellis import nn
    >>> model = nn.lora(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), rank=1)
    >>> model.v.key_chains()[:3]
    ['layers/v0/adapters/default/a', 'layers/v0/adapters/default/b', 'layers/v0/b']
    """
    if not isinstance(model, Module):
        raise ArgumentTypeError(f"lora() expects a trellis.Module, got {type(model).__name__}.")
    check_arguments(lora, locals())
    rank, alpha, dropout = plain(rank), plain(alpha), plain(dropout)
    if not model.built:
        raise ArgumentError("lora() needs a model that is built: call it, or build(), first.")
    if variant not in ("lora", "dora"):
        raise ArgumentError(f'lora() knows the variants "lora" and "dora", not {variant!r}.')
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise ArgumentError(f"lora() expects rank to be an integer of at least 1, got {rank!r}.")
    if not 0 <= dropout < 1:
        raise ArgumentError(f"lora() expects dropout to be in [0, 1), got {dropout!r}.")
    patterns = None if where is None else as_patterns("lora", "where", where)
    targets = chosen("lora", model, patterns)
    settings = {"alpha": rank if alpha is None else alpha, "dropout": dropout, "variant": variant}
    attach(model, [(target, rank, settings) for target in targets], name)
    return model


def attach(model: Module, targets: Sequence[tuple[Target, int, dict[str, Any]]], name: str) -> None:
    """Adapters of one name for all these, which become the active ones."""
    check_name(model, name)
    for target, _, settings in targets:
        if target.kind == "matrices" and settings["dropout"] > 0:
            raise NotSupportedError(
                f"lora() can drop elements of the input of dense layers only, and "
                f"{target.chain or type(model).__name__!r} keeps its matrices itself: write "
                "dropout=0."
            )
        if target.kind == "table" and settings["variant"] == "dora":
            raise NotSupportedError(
                f'lora() has variant="dora" for matrices that multiply, and {target.chain!r} is a '
                'table that is read by index: write variant="lora", or leave it out of where.'
            )
    for target, rank, settings in targets:
        module = target.module
        made = {chain: _adapter(target, chain, rank, settings) for chain in target.weights}
        holder = attached_to(module)
        if holder is None:
            holder = Adapters(target.kind)
            surround(module.__node__, holder)
            module.adapters = holder
        holder.add(name, made, dict(settings))
        holder.train(module.training)
    activate(model, name)


def _adapter(target: Target, chain: str, rank: int, settings: dict[str, Any]) -> Adapter:
    module = target.module
    w = weight_of(module) if chain == "w" else module.v[chain]
    outputs, inputs = tuple(w.shape)
    if is_turned(target.kind, chain):
        outputs, inputs = inputs, outputs
        w = None if settings["variant"] == "lora" else w.T
    scale = settings["alpha"] / (math.sqrt(rank) if settings.get("is_root") else rank)
    made = Adapter(
        (outputs, inputs),
        rank,
        scale,
        settings["dropout"],
        settings["variant"] == "dora",
        target.kind == "table",
        w,
        backend=backend_of(module.v[chain] if w is None else w),
        dtype=str(dtype_of(module.v[chain] if w is None else w)),
        device=device_of(module.v[chain] if w is None else w),
    )
    made.__node__.device = None  # its variables are there now; a device cannot be copied
    return made


# Those that are there
# -------------------------------------------------------------------------------------------------


def attached_to(module: Module) -> Adapters | None:
    """The adapters of one module."""
    found = vars(module).get("adapters")
    return found if isinstance(found, Adapters) else None


def holders(model: Module) -> list[tuple[Module, Adapters]]:
    """All modules that have adapters, with them."""
    pairs = [(module, attached_to(module)) for module in below(model)]
    return [(module, found) for module, found in pairs if found is not None]


def names(model: Module) -> list[str]:
    """The names of the adapters of a model, in the order in which they were added.

    >>> from trellis import nn
    >>> nn.adapters.names(nn.lora(nn.Linear(4, 3)))
    ['default']
    """
    found = [name for _, holder in holders(model) for name in holder.names]
    return list(dict.fromkeys(found))


def activate(model: Module, name: str | Sequence[str] | None) -> None:
    """Use the adapters of that name, of several together, or with None the model as it was.

    Args:
        model: A model with adapters.
        name: One name, several, or None.

    >>> import numpy as np
    >>> from trellis import nn
    >>> model = nn.lora(nn.Linear(4, 3, backend="numpy"))
    >>> nn.adapters.activate(model, None)
    >>> nn.adapters.active(model)
    []
    """
    wanted = [] if name is None else [name] if isinstance(name, str) else list(name)
    known = names(model)
    unknown = [each for each in wanted if each not in known]
    if unknown:
        raise ArgumentError(
            f"activate() got {unknown[0]!r}; the adapters of this model are {listed(known)}."
        )
    _require_unmerged("activate", model)
    for _, holder in holders(model):
        holder.active = [each for each in wanted if each in holder.names]


def active(model: Module) -> list[str]:
    """The names of the adapters that a call uses.

    >>> from trellis import nn
    >>> nn.adapters.active(nn.lora(nn.Linear(4, 3)))
    ['default']
    """
    found = [name for _, holder in holders(model) for name in holder.active]
    return list(dict.fromkeys(found))


def merge(model: M) -> M:
    """Put the active adapters into the weights: the model is as fast as before. Returns it.

    The adapters and the old weights stay, for `unmerge`; `remove` drops them.

    >>> import numpy as np
    >>> from trellis import nn
    >>> model = nn.adapters.merge(nn.lora(nn.Linear(4, 3)))
    >>> model(np.ones(4, "float32")).shape
    (3,)
    """
    for module, holder in holders(model):
        holder.merge(module)
    return model


def unmerge(model: M) -> M:
    """Put the old weights back, bit for bit, and the adapters beside them. Returns the model.

    >>> from trellis import nn
    >>> model = nn.adapters.unmerge(nn.adapters.merge(nn.lora(nn.Linear(4, 3))))
    """
    for module, holder in holders(model):
        holder.unmerge(module)
    return model


def remove(model: M, name: str | None = None) -> M:
    """Drop the adapters of that name, or all; what is merged stays in the weights. Returns the
    model, whose variables have the names of before.

    Args:
        model: A model with adapters.
        name: One name, or None for all.

    >>> from trellis import nn
    >>> nn.adapters.remove(nn.lora(nn.Linear(4, 3))).v.key_chains()
    ['b', 'w']
    """
    from ..module.around import release

    known = names(model)
    if name is not None and name not in known:
        raise ArgumentError(
            f"remove() got {name!r}; the adapters of this model are {listed(known)}."
        )
    if name is not None:
        _require_unmerged("remove", model)
    for module, holder in holders(model):
        for each in list(holder.names):
            if name in (None, each):
                holder.drop(each)
        if not holder.names:
            release(module.__node__, holder)
            owner: Any = module
            owner.adapters = None  # the tree lets go of their variables
            del owner.adapters
    return model


def untrained(model: Module) -> list[str]:
    """The key paths of what stays as it is while adapters are trained; empty without adapters."""
    pairs = holders(model)
    if not pairs:
        return []
    trained = []
    for _, holder in pairs:
        own = chain_from(holder, model)
        trained += [f"{own}/{name}/" for name in holder.active if not holder.is_merged]
    return [
        chain
        for chain in model.v.key_chains()
        if not any([chain.startswith(head) for head in trained])
    ]


def are_merged(model: Module) -> bool:
    """Whether adapters are in the weights."""
    return any([holder.is_merged for _, holder in holders(model)])


def _require_unmerged(who: str, model: Module) -> None:
    if are_merged(model):
        raise ArgumentError(f"{who}() needs adapters that are not merged: call unmerge() first.")


def check_name(model: Module, name: object) -> None:
    """Names become parts of key paths."""
    if not isinstance(name, str) or not name.isidentifier() or hasattr(Adapters("dense"), name):
        raise ArgumentError(
            f"Adapters have names such as 'default' or 'french', letters and digits, got {name!r}."
        )
    if name in names(model):
        raise ArgumentError(
            f"This model has adapters called {name!r} already: choose another name, or call "
            "nn.adapters.remove() first."
        )
    _require_unmerged("lora", model)
