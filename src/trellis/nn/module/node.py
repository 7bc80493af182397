"""Where a module stands in its tree, and the variables and buffers it holds there.

The root of a tree holds one Container of all variables; every other module finds its part by asking its
parent: `child.v` is `root.v.child`, also while a call replaces the variables of the root, and nothing has
to be kept in step. Everything here is plain attributes, which all compilers can trace.
"""

from typing import Any

from ..._core.container import Container
from ..._core.errors import ArgumentError, ArgumentTypeError, KeyChainError

Path = tuple[str, ...]


class Link:
    """The way from a module up to its parent."""

    def __init__(self, parent: "Node", path: Path, key: str):
        self.parent = parent
        self.path = path  # where the variables lie in those of the parent: ("layers", "v0")
        self.key = key  # the name among the parent's children: "layers_v0"
        self.is_bare = False  # the module contributes no variables
        # What was pruned from here because the same array has its place elsewhere in the parent:
        # pairs (chain from here, chain from the parent).
        self.shared: tuple[tuple[str, str], ...] = ()


class Node:
    """The bookkeeping of one module, apart from the attributes that its author gives it."""

    def __init__(self, owner: Any):
        self.owner = owner
        self.link: Link | None = None
        self.more_links: list[Link] = []  # a module that several parents hold
        self.children: dict[str, Any] = {}
        self.heads: set[str] = set()  # the first keys of the children's paths
        self.v: Container | None = Container()  # held by the root only
        self.given: Container | None = None  # replaces `v` during a call
        self.buffers = Container()
        self.given_buffers: Container | None = None
        self.duplicates: dict[str, str] = {}  # pruned chain: kept chain
        self.is_stopped = False  # `given` has been through stop_gradient
        self.pending: tuple[Container, bool] | None = (
            None  # constructor `v` not settled yet, partial?
        )
        self.is_constructing = True
        self.is_building = False
        self.is_built = False
        self.is_plain = (
            False  # built, holds its variables, nothing is tracked: the fast path of a call
        )
        self.is_training = True
        self.stores_vars = True
        self.build_mode = "on_init"
        self.build_args: tuple[Any, ...] = ()
        self.build_kwargs: dict[str, Any] = {}
        self.dtype: Any = None
        self.device: Any = None
        self.backend: str | None = None
        self.tracker: Any = None
        self.submod_rets: Container | None = None
        self.submod_call_order: Container | None = None

    def update_plain(self) -> None:
        """Decide anew whether a call may take the fast path."""
        is_untracked = (
            self.tracker is None and self.submod_rets is None and self.submod_call_order is None
        )
        self.is_plain = self.is_built and is_untracked and (self.stores_vars or self.v is not None)


class Owner:
    """What has a node: a module."""

    __node__: Node


# Variables -------------------------------------------------------------------------------------------


def variables(node: Node) -> Container:
    """The variables of a module: those given for the running call, else its part of the parent's."""
    if node.given is not None:
        return node.given
    if node.v is not None:
        return node.v
    link = node.link
    if link is None or not node.stores_vars:
        raise ArgumentError(
            f"{type(node.owner).__name__} was made with store_vars=False and keeps no variables: "
            "give them to each call, module(x, v=variables)."
        )
    if node.more_links:
        link = _link_in_use(node, link)
    return _part(variables(link.parent), link)


def stored_variables(node: Node) -> Container:
    """The variables that the tree holds, whatever a running call may have been given."""
    if node.v is not None:
        return node.v
    if node.link is None:
        return Container()
    return _part(stored_variables(node.link.parent), node.link)


def _part(whole: Container, link: Link) -> Container:
    if link.shared:
        return _part_with_shared(whole, link)
    if link.is_bare:
        return Container()
    part: Any = whole
    for key in link.path:
        if not isinstance(part, dict) or key not in dict.keys(part):
            raise KeyChainError(_missing(whole, link))
        part = dict.__getitem__(part, key)
    return part  # type: ignore[no-any-return]


def _part_with_shared(whole: Container, link: Link) -> Container:
    """A copy, with the shared arrays put back at their pruned places."""
    chain = "/".join(link.path)
    part = whole[chain].copy() if chain in whole else Container()
    for place, kept in link.shared:
        part[place] = whole[kept]
    return part  # type: ignore[no-any-return]


def _missing(whole: Container, link: Link) -> str:
    return (
        f"The variables have no {'/'.join(link.path)!r}, which the module {link.key!r} needs; they have: "
        f"{', '.join(whole.key_chains()) or 'nothing'}."
    )


def _link_in_use(node: Node, first: Link) -> Link:
    """Of several parents, the one inside whose call we are; else the first."""
    for link in [first, *node.more_links]:
        above: Node | None = link.parent
        while above is not None:
            if above.given is not None:
                return link
            above = None if above.link is None else above.link.parent
    return first


def set_variables(node: Node, new: Any) -> None:
    """Replace the variables of a module, and with them its part of the parent's."""
    new = as_container(new, "v")
    link = node.link
    if node.given is not None:
        node.given = new
    elif link is None or node.v is not None:
        node.v = new
        node.update_plain()
    else:
        whole = variables(link.parent)
        if link.shared:
            new = new.copy()
            for place, kept in link.shared:
                if place in new:
                    whole[kept] = new.pop(place)
            new = without_empty(new)
        if new or not link.shared:
            whole["/".join(link.path)] = new
            link.is_bare = False
        if _is_derived(link.parent):
            set_variables(link.parent, whole)


def _is_derived(node: Node) -> bool:
    """Whether reading the variables of this module gives a copy, because of shared arrays."""
    if node.given is not None or node.link is None:
        return False
    return bool(node.link.shared) or _is_derived(node.link.parent)


# Buffers ---------------------------------------------------------------------------------------------


def buffers(node: Node) -> Container:
    """The buffers of a module and of all modules below it."""
    if node.given_buffers is not None:
        return node.given_buffers
    if node.link is None:
        return node.buffers
    link = node.link
    part: Any = buffers(link.parent)
    for key in link.path:
        if key not in dict.keys(part):
            return Container()
        part = dict.__getitem__(part, key)
    return part  # type: ignore[no-any-return]


def set_buffers(node: Node, new: Any) -> None:
    new = as_container(new, "buffers")
    if node.given_buffers is not None:
        node.given_buffers = new
    elif node.link is None:
        node.buffers = new
    else:
        buffers_for_writing(node.link.parent)["/".join(node.link.path)] = new


def set_buffer(node: Node, name: str, value: Any) -> None:
    buffers_for_writing(node)[name] = value


def buffers_for_writing(node: Node) -> Container:
    """The Container that the tree holds for this module, made now if there is none yet."""
    if node.given_buffers is not None:
        return node.given_buffers
    if node.link is None:
        return node.buffers
    part: Any = buffers_for_writing(node.link.parent)
    for key in node.link.path:
        if key not in dict.keys(part):
            part[key] = Container()
        part = dict.__getitem__(part, key)
    return part  # type: ignore[no-any-return]


def are_buffers_given(node: Node | None) -> bool:
    """Whether the running call was given its buffers, so that updates stay inside it."""
    while node is not None:
        if node.given_buffers is not None:
            return True
        node = None if node.link is None else node.link.parent
    return False


# Helpers ---------------------------------------------------------------------------------------------


def as_container(nest: Any, name: str) -> Container:
    if isinstance(nest, Container):
        return nest
    if isinstance(nest, dict):
        return Container(nest)
    raise ArgumentTypeError(
        f"{name} must be a Container or a dict of arrays, got {type(nest).__name__}."
    )


def without_empty(container: Container) -> Container:
    """The same Container without the empty ones in it."""
    kept = Container(alphabetical_keys=container._alphabetical)
    for key, value in dict.items(container):
        if isinstance(value, Container):
            value = without_empty(value) if len(value) else value
            if len(value) == 0:
                continue
        dict.__setitem__(kept, key, value)
    return kept
