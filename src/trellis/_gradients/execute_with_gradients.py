"""`execute_with_gradients`: run a function over a pytree, and differentiate its scalars."""

from collections.abc import Callable, Sequence
from typing import Any

from .._core import tree
from .._core.arrays import is_array
from .._core.container import Container
from .._core.dispatch import xp_of, xp_of_any
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.kinds import check_callable
from .._core.typing import Backend
from .transforms import (
    differentiable_leaf,
    has_variables,
    raise_if_unused,
    stop_gradient,
    zeros_for_none,
)

IndexChains = Sequence[str | Sequence[Any]] | None


def execute_with_gradients(
    func: Callable[[Any], Any],
    xs: object,
    /,
    *,
    retain_grads: bool = False,
    xs_grad_idxs: IndexChains = None,
    ret_grad_idxs: IndexChains = None,
    allow_unused: bool = False,
) -> tuple[Any, Any]:
    """What `func(xs)` returned, and the gradients of its scalar float outputs by the leaves of
    `xs`.

    One scalar output: the gradients have the structure of `xs`. Several: a Container keyed by the
    index chain of each output, joined with "_". `ret_grad_idxs` selects outputs, `xs_grad_idxs`
    parts of `xs`, both as lists of index chains (`["a", 0]` or `"a/0"`). An array that occurs
    several times in `xs` receives its total derivative at each. Unless `retain_grads`, both results
    are constants for an enclosing gradient. A function that uses nothing of `xs` raises, unless
    `allow_unused`.

    >>> import numpy as np, trellis
    >>> c = trellis.Container(a=np.array([1.0, 2.0]), b=np.array([3.0, 4.0]))
    >>> loss, grads = trellis.execute_with_gradients(lambda c: trellis.sum(c.a * c.b), c)
    >>> float(loss), grads
    (11.0, Container(a=array([3., 4.]), b=array([1., 2.])))
    """
    check_callable("execute_with_gradients", func)
    for chains_given in (xs_grad_idxs, ret_grad_idxs):
        if chains_given is not None and not isinstance(chains_given, (list, tuple)):
            raise ArgumentTypeError(
                "execute_with_gradients() expects a list of index chains for xs_grad_idxs and "
                f"ret_grad_idxs, got {chains_given!r}."
            )
    leaves, spec = tree.flatten(xs)
    paths = tree.paths(xs)
    chosen = _selected(xs, paths, xs_grad_idxs)
    arrays = [x for x in leaves if is_array(x)]
    xp = xp_of_any(*arrays)
    # The same array object at several places is one variable. Tracing gives every place an object
    # of its own, so this is looked up before.
    slot_of: dict[int, int] = {}
    variables: list[Any] = []
    slots: list[int | None] = []
    for leaf, is_chosen in zip(leaves, chosen, strict=True):
        if not is_chosen:
            slots.append(None)
        elif id(leaf) in slot_of and is_array(leaf):
            slots.append(slot_of[id(leaf)])
        else:
            slot_of[id(leaf)] = len(variables)
            slots.append(len(variables))
            variables.append(differentiable_leaf(leaf, xp))
    chains: list[list[tuple[Any, ...]]] = []

    def on_variables(traced: list[Any]) -> tuple[list[Any], Any]:
        filled = [
            leaf if slot is None else traced[slot] for leaf, slot in zip(leaves, slots, strict=True)
        ]
        result = func(tree.unflatten(spec, filled))
        found = _scalar_outputs(result, xp)
        wanted = list(found)
        if ret_grad_idxs is not None:
            wanted = [
                tree.path_of(result, chain) if isinstance(chain, str) else tuple(chain)
                for chain in ret_grad_idxs
            ]
        _check_outputs(wanted, found, func)
        chains.append(wanted)
        return [found[chain] for chain in wanted], result

    values, result, pull = xp.vjp(on_variables, variables, sparse=True)
    wanted = chains[-1]
    pulled = [
        pull([xp.ones_like(v) if j == i else None for j, v in enumerate(values)])
        for i in range(len(wanted))
    ]
    is_unused = variables and all([g is None for row in pulled for g in row])
    if is_unused and not allow_unused and has_variables(xs):
        raise_if_unused(func, _names(tree.key_chains(xs), slots), on_variables)
    per_output = []
    for row in pulled:
        gradients = zeros_for_none(xp, row, variables)
        placed = [None if slot is None else gradients[slot] for slot in slots]
        per_output.append(_pruned(xs, dict(zip(paths, placed, strict=True))))
    if ret_grad_idxs is None and len(wanted) == 1:
        grads = per_output[0]
    else:
        names = ["_".join([str(part) for part in chain]) for chain in wanted]
        grads = Container(dict(zip(names, per_output, strict=True)))
    if retain_grads:
        return result, grads
    return _constant(result), _constant(grads)


def _names(chains: list[str], slots: list[int | None]) -> list[str]:
    """One name for each variable: the first place where it occurs."""
    names: list[str] = []
    for chain, slot in zip(chains, slots, strict=True):
        if slot == len(names):
            names.append(chain or "xs")
    return names


def _selected(xs: object, paths: list[tuple[Any, ...]], chains: IndexChains) -> list[bool]:
    """For each leaf, whether one of the chains leads to it or to a pytree around it."""
    if chains is None:
        return [True] * len(paths)
    wanted = [tree.path_of(xs, chain) for chain in chains]
    return [any([path[: len(chain)] == chain for chain in wanted]) for path in paths]


def _scalar_outputs(result: object, xp: Backend) -> dict[tuple[Any, ...], Any]:
    """The float arrays with one element among the outputs, by their index chains."""
    found = {}
    for path, y in zip(tree.paths(result), tree.leaves(result), strict=True):
        is_scalar = is_array(y) and all([n == 1 for n in y.shape])
        if is_scalar and xp_of(y) is xp and y.dtype in xp.FLOAT_DTYPES:
            found[path] = y
    return found


def _check_outputs(wanted: list[Any], found: dict[Any, Any], func: Callable[..., Any]) -> None:
    name = getattr(func, "__name__", type(func).__name__)
    if not found:
        raise ArgumentError(
            f"{name}() returned no scalar float output to differentiate; return a loss of one "
            "element, for example trellis.mean(...)."
        )
    for chain in wanted:
        if chain not in found:
            raise ArgumentError(
                f"ret_grad_idxs names {list(chain)}, which is not a scalar float output of "
                f"{name}(); "
                f"those are {[list(known) for known in found]}."
            )


def _pruned(xs: Any, gradients: dict[tuple[Any, ...], Any]) -> Any:
    """The gradients in the structure of `xs`, without the parts that were not asked for."""
    if not tree.is_nest(xs):
        return gradients[()]
    kept = _kept(xs, gradients, ())
    is_sequence = isinstance(xs, (list, tuple))
    return kept[0] if is_sequence and len(xs) > 1 and len(kept) == 1 else kept


def _kept(nest: Any, gradients: dict[tuple[Any, ...], Any], path: tuple[Any, ...]) -> Any:
    if not tree.is_nest(nest):
        return gradients.get(path)
    keys = list(nest) if isinstance(nest, dict) else list(range(len(nest)))
    pairs = [(key, _kept(nest[key], gradients, (*path, key))) for key in keys]
    pairs = [(key, part) for key, part in pairs if part is not None and not _is_empty(part)]
    if isinstance(nest, Container):
        return Container(
            [(str(key), part) for key, part in pairs], alphabetical_keys=nest._alphabetical
        )
    if isinstance(nest, dict):
        return dict(pairs)
    parts = [part for _, part in pairs]
    if hasattr(nest, "_fields") and len(parts) == len(nest):
        return type(nest)(*parts)
    return parts if isinstance(nest, list) else tuple(parts)


def _is_empty(part: Any) -> bool:
    return tree.is_nest(part) and len(part) == 0


def _constant(nest: object) -> Any:
    return tree.map(lambda x: stop_gradient(x) if is_array(x) else x, nest)
