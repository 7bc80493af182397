"""Pytrees of arrays: dicts, Containers, lists and tuples, to any depth. `optree` flattens and
unflattens them.

`None` is an empty pytree: it has no leaves.

>>> from trellis import tree
>>> tree.map(lambda x, y: x * y, {"a": 1, "b": [2, 3]}, 10)
{'a': 10, 'b': [20, 30]}
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import optree

from .container import Container, unflatten_container
from .errors import ArgumentTypeError, KeyChainError, ShapeError
from .explain import explain

Structure: TypeAlias = optree.PyTreeSpec
# A pytree may hold anything as a leaf; the types of optree ask for a type of leaf, hence the
# ignores below.

_NAMESPACE = "trellis"


def _flatten_node(container: Any) -> tuple[list[Any], Any, tuple[str, ...]]:
    # `flatten_container`, written out: this runs for every node at every step.
    keys = tuple(dict.keys(container))
    return list(dict.values(container)), (keys, container._alphabetical), keys


# Again, where an interrupt ended an earlier import of this file.
_sample: Any = Container()
if optree.tree_is_leaf(_sample, namespace=_NAMESPACE):
    # Any: optree's types ask for functions of any collection.
    _unflatten_node: Any = unflatten_container
    optree.register_pytree_node(Container, _flatten_node, _unflatten_node, namespace=_NAMESPACE)

_classes: dict[type, tuple[Callable[..., Any], ...]] = {}
_registries: list[Callable[..., Any]] = []


def register_node(
    sample: Any, flatten: Callable[[Any], Any], unflatten: Callable[..., Any]
) -> None:
    """Objects of the class of `sample` are nodes of pytrees from now on, also in `registries`.

    A second call changes nothing: after an interrupt, a file may be imported again.
    """
    if optree.tree_is_leaf(sample, namespace=_NAMESPACE):
        optree.register_pytree_node(type(sample), flatten, unflatten, namespace=_NAMESPACE)
        _classes[type(sample)] = (flatten, unflatten)
        for register in _registries:
            register(type(sample), flatten, unflatten)


def register_nodes_with(register: Callable[..., Any]) -> None:
    """Call `register(cls, flatten, unflatten)` of a framework for these classes, now and later.
    Containers, whose keys a framework wants to know, are its own affair."""
    if register not in _registries:
        _registries.append(register)
        for cls, functions in _classes.items():
            register(cls, *functions)


def is_nest(x: object, /) -> bool:
    """Whether `x` is a dict, Container, list or tuple (and not an array or a number).

    >>> from trellis import tree
    >>> tree.is_nest([1]), tree.is_nest(1)
    (True, False)
    """
    return isinstance(x, (dict, list, tuple))


def has_parts(x: object, /) -> bool:
    """Whether `x` is a nest, or an object whose parts are leaves: a distribution, a bijection.

    >>> from trellis._core import tree
    >>> tree.has_parts({}), tree.has_parts(1)
    (True, False)
    """
    # An array of the Array API standard is a node around another, and an array.
    return is_nest(x) or (type(x) in _classes and not hasattr(x, "dtype"))


def flatten(tree: object, /) -> tuple[list[Any], Structure]:
    """The leaves of a pytree, and its structure, from which `unflatten` rebuilds it.

    >>> from trellis import tree
    >>> leaves, structure = tree.flatten({"b": 1, "a": (2, 3)})
    >>> leaves
    [2, 3, 1]
    """
    return optree.tree_flatten(tree, namespace=_NAMESPACE)  # type: ignore[arg-type]


def unflatten(structure: Structure, leaves: Iterable[Any], /) -> Any:
    """The inverse of `flatten`.

    >>> from trellis import tree
    >>> leaves, structure = tree.flatten({"b": 1, "a": (2, 3)})
    >>> tree.unflatten(structure, [x * 2 for x in leaves])
    {'b': 2, 'a': (4, 6)}
    """
    try:
        return optree.tree_unflatten(structure, leaves)
    except Exception as error:
        return explain(error, unflatten)


def structure(tree: object, /) -> Structure:
    """The structure of a pytree without its leaves; structures can be compared with `==`.

    >>> from trellis import tree
    >>> tree.structure({"a": 1}) == tree.structure({"a": 5})
    True
    """
    return optree.tree_structure(tree, namespace=_NAMESPACE)  # type: ignore[arg-type]


def leaves(tree: object, /) -> list[Any]:
    """All leaves, dict entries in the order of their sorted keys.

    >>> from trellis import tree
    >>> tree.leaves({"b": 1, "a": (2, 3)})
    [2, 3, 1]
    """
    return optree.tree_leaves(tree, namespace=_NAMESPACE)  # type: ignore[arg-type]


def map(fn: Callable[..., Any], tree: object, /, *rest: object) -> Any:
    """Apply `fn` leaf by leaf. A single array or number among the arguments is used for every leaf.

    The result has the structure and container types of the first nested argument. Different
    structures raise; a dict and a Container with the same keys are equal.

    >>> from trellis import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": 20})
    {'a': 11, 'b': (22, 23)}
    """
    try:
        trees = (tree, *rest)
        columns, spec = align(trees)
        if spec is None:
            return fn(*trees)
        return optree.tree_unflatten(spec, [fn(*row) for row in zip(*columns, strict=True)])
    except Exception as error:
        return explain(error, map)


def align(trees: tuple[Any, ...], /) -> tuple[list[list[Any]], Structure | None]:
    """For each tree the list of its leaves, all in the order of the first pytree; None if there is
    none.

    >>> from trellis import tree
    >>> columns, structure = tree.align((10, {"a": 1, "b": 2}))
    >>> columns
    [[10, 10], [1, 2]]
    """
    try:
        lead = None
        for tree in trees:
            if has_parts(tree):
                lead = tree
                break
        if lead is None:
            return [], None
        lead_leaves, spec = flatten(lead)
        columns = []
        for tree in trees:
            if tree is lead:
                columns.append(lead_leaves)
            elif not has_parts(tree):
                columns.append([tree] * len(lead_leaves))
            else:
                tree_leaves, tree_spec = flatten(tree)
                columns.append(tree_leaves if tree_spec == spec else _spread(tree, lead, ""))
        return columns, spec
    except Exception as error:
        return explain(error, align)


def _spread(tree: Any, lead: Any, chain: str) -> list[Any]:
    """The leaves of `tree` in the order of `lead`; a leaf in place of a pytree is used for all of
    its leaves."""
    if not has_parts(lead) or not has_parts(tree):
        if has_parts(tree):
            raise ShapeError(
                f"Pytrees differ at {chain or 'the top'!r}: a leaf here, {_kind(tree)} there."
            )
        return [tree] * len(leaves(lead))
    if not is_nest(lead) and structure(lead) == structure(tree):
        return leaves(tree)
    is_alike = is_nest(lead) and is_nest(tree) and isinstance(lead, dict) == isinstance(tree, dict)
    if not is_alike or _keys(lead) != _keys(tree):
        raise ShapeError(
            f"Pytrees differ at {chain or 'the top'!r}: {_kind(lead)} here, {_kind(tree)} there. "
            "All pytrees of one call need the same keys and lengths."
        )
    spread = []
    for key in sorted(lead) if type(lead) is dict else _keys_in_order(lead):
        spread += _spread(tree[key], lead[key], f"{chain}/{key}" if chain else str(key))
    return spread


def _keys_in_order(nest: Any) -> list[Any]:
    return list(dict.keys(nest)) if isinstance(nest, dict) else list(range(len(nest)))


def _keys(nest: object) -> set[Any]:
    return set(_keys_in_order(nest))


def _kind(nest: Any) -> str:
    if isinstance(nest, dict):
        return f"{type(nest).__name__} with keys {sorted(nest)}"
    if is_nest(nest):
        return f"{type(nest).__name__} of length {len(nest)}"
    return f"{type(nest).__name__} with {len(leaves(nest))} arrays" if has_parts(nest) else "a leaf"


# Key paths ---------------------------------------------------------------------------------------


def key_chains(tree: object, /) -> list[str]:
    """The name of every leaf: keys and indices joined with "/", in the order of `leaves`.

    >>> from trellis import tree
    >>> tree.key_chains({"b": 1, "a": (2, 3)})
    ['a/0', 'a/1', 'b']
    """
    return ["/".join([str(part) for part in path]) for path in paths(tree)]


def paths(tree: object, /) -> list[tuple[Any, ...]]:
    """The keys and indices that lead to every leaf, in the order of `leaves`.

    >>> from trellis import tree
    >>> tree.paths({"b": 1, "a": (2, 3)})
    [('a', 0), ('a', 1), ('b',)]
    """
    return optree.tree_paths(tree, namespace=_NAMESPACE)  # type: ignore[arg-type]


def map_with_key_chains(fn: Callable[..., Any], tree: object, /) -> Any:
    """Apply `fn(key_chain, leaf)` to every leaf.

    >>> from trellis import tree
    >>> tree.map_with_key_chains(lambda chain, x: f"{chain}={x}", {"a": [1, 2]})
    {'a': ['a/0=1', 'a/1=2']}
    """
    try:
        tree_leaves, spec = flatten(tree)
        named = zip(key_chains(tree), tree_leaves, strict=True)
        return unflatten(spec, [fn(chain, leaf) for chain, leaf in named])
    except Exception as error:
        return explain(error, map_with_key_chains)


def from_key_chains(flat: Mapping[str, Any], /) -> Container:
    """A nested Container from key paths; the inverse of `Container.flat`.

    >>> from trellis import tree
    >>> tree.from_key_chains({"a/w": 1, "a/b": 2})
    Container(a=Container(b=2, w=1))
    """
    try:
        nested = Container()
        for chain, leaf in flat.items():
            nested[chain] = leaf
        return nested
    except Exception as error:
        return explain(error, from_key_chains)


def get(tree: Any, index_chain: str | Iterable[Any], /) -> Any:
    """The part of a pytree at a path: keys and indices, or a string of them joined with "/".

    >>> from trellis import tree
    >>> tree.get([{"w": 1}, {"w": 2}], [1, "w"]), tree.get([{"w": 1}, {"w": 2}], "1/w")
    (2, 2)
    """
    try:
        part = tree
        for key in path_of(tree, index_chain):
            part = part[key]
        return part
    except Exception as error:
        return explain(error, get)


def path_of(tree: Any, chain: str | Iterable[Any]) -> tuple[Any, ...]:
    """The keys and indices of a path in a pytree, which may be written with slashes."""
    if not isinstance(chain, (str, Iterable)):
        raise ArgumentTypeError(
            'A path is a list of keys and indices, or a string such as "layers/v0/w"; got '
            f"{chain!r}."
        )
    part, path = tree, []
    is_text = isinstance(chain, str)
    for key in chain.split("/") if isinstance(chain, str) else chain:
        known = _keys(part) if is_nest(part) else set()
        if is_text and key not in known and key.isdecimal():
            key = int(key)
        if key not in known:
            raise KeyChainError(f"There is no {key!r} at {chain!r} in {_kind(part)}.")
        part = part[key]
        path.append(key)
    return tuple(path)
