"""The position of a module in its tree: its parents, its children, and what it holds.

The root of a tree holds one Container of all variables and one of all buffers; every other module
finds its part on the way up (variables.py, buffers.py). Everything here is plain attributes, which
all compilers can trace.
"""

from typing import Any

from ..._core.container import Container
from ..._core.errors import ArgumentTypeError
from ..._core.tracing import tracing
from ..._core.typing import Device, DTypeLike

Path = tuple[str, ...]


class Link:
    """The way from a module up to its parent."""

    def __init__(self, parent: "Node", path: Path, key: str):
        self.parent = parent
        self.path = path  # key path of the variables in those of the parent: ("layers", "v0")
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
        self.buffers = Container()
        self.duplicates: dict[str, str] = {}  # pruned chain: kept chain
        # The constructor's `v`, not settled yet, and whether it names only some of the variables.
        self.pending: tuple[Container, bool] | None = None
        # Made inside a function that is being compiled: gone, with its variables, when that ends.
        self.is_temporary = tracing() is not None
        self.is_constructing = True
        self.is_built = False
        self.is_plain = False  # built, and a call has nothing to do but `_forward`
        self.arounds: list[Any] = []  # what computes in the place of `_forward`: around.py
        self.is_training = True
        self.stores_vars = True
        self.build_mode = "on_init"
        self.build_args: tuple[Any, ...] = ()
        self.build_kwargs: dict[str, Any] = {}
        self.dtype: DTypeLike | None = None
        self.device: Device | None = None
        self.backend: str | None = None
        # What the last call left, if that was tracked.
        self.submod_rets: Container | None = None
        self.submod_call_order: Container | None = None

    def links(self) -> list[Link]:
        """The ways up; the first one is where the variables have their place."""
        return self.more_links if self.link is None else [self.link, *self.more_links]

    def places(self) -> list[tuple[Any, Path]]:
        """The modules right below, with their paths from here."""
        return [
            (child, link.path)
            for child in self.children.values()
            for link in child.__node__.links()
            if link.parent is self
        ]

    def update_plain(self) -> None:
        """Decide again whether a call may take the fast path."""
        has_left_nothing = self.submod_rets is None and self.submod_call_order is None
        has_variables = self.stores_vars or self.v is not None
        self.is_plain = self.is_built and has_left_nothing and has_variables and not self.arounds

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A copy of a module guards its variables as the original does.
        self.__dict__.update(state)
        if self.v is not None:
            self.v.hold()


class Owner:
    """What has a node: a module."""

    __node__: Node


def way_up(node: Node, top: Node) -> list[Link] | None:
    """The links from a module up to one above it, none to itself; None if that is not above it."""
    way: list[Link] = []
    while node is not top:
        link = node.link
        if link is None:
            return None
        if node.more_links:
            return _way_through_parents(way, node.links(), top)
        way.append(link)
        node = link.parent
    return way


def _way_through_parents(way: list[Link], links: list[Link], top: Node) -> list[Link] | None:
    for link in links:
        rest = way_up(link.parent, top)
        if rest is not None:
            return [*way, link, *rest]
    return None


def as_container(nest: object, name: str) -> Container:
    """A pytree that was given for variables or buffers, as a Container."""
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
