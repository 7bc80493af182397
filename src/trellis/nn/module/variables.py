"""Reading and replacing the variables of a module: those of the running call, else those of its
tree.

`child.v` is `root.v.child`, also while a call is given other variables for the root: nothing has to
be kept in step.
"""

from collections.abc import Mapping
from typing import Any

from ..._core import tree
from ..._core.container import Container
from ..._core.errors import ArgumentError, KeyChainError, TracingError
from ..._core.tracing import all_last
from ..._core.typing import Nest
from .call import Call, call_with, here
from .node import Link, Node, as_container, way_up, without_empty


def variables(node: Node) -> Container:
    """The variables of a module: those given to the running call, else its part of the tree's."""
    return variables_in(here.call, node)


def variables_in(call: Call | None, node: Node) -> Container:
    """The same, inside that call."""
    while call is not None:
        # A module without variables of its own does not take them from above either.
        if call.v is not None and (node.stores_vars or call.node is node):
            way = way_up(node, call.node)
            if way is not None:
                whole: Any = call.v
                for link in way[::-1]:
                    whole = _part(whole, link)
                return whole  # type: ignore[no-any-return]
        call = call.outer
    return _from_tree(node)


def _from_tree(node: Node) -> Container:
    if node.v is not None:
        return node.v if here.run is None else here.run.variables(node)
    if node.link is None or not node.stores_vars:
        raise ArgumentError(
            f"{type(node.owner).__name__} was created with store_vars=False and keeps no "
            "variables: pass them to each call, module(x, v=variables)."
        )
    return _part(_from_tree(node.link.parent), node.link)


def stored_variables(node: Node) -> Container:
    """The variables that the tree holds, whatever a running call may have been given."""
    if node.v is not None:
        return node.v
    if node.link is None:
        return Container()
    return _part(stored_variables(node.link.parent), node.link)


def are_constant(node: Node) -> bool:
    """Whether the variables come from a call that has made them constants already."""
    call, _ = call_with("v", node)
    return call is not None and call.is_constant


def _part(whole: Container, link: Link) -> Container:
    if link.shared:
        return _part_with_shared(whole, link)
    if link.is_bare:
        return Container()
    part: Any = whole
    try:
        for key in link.path:
            part = dict.__getitem__(part, key)
    except (KeyError, TypeError):
        raise KeyChainError(_missing(whole, link)) from None
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
        f"The variables have no {'/'.join(link.path)!r}, which the module {link.key!r} needs; "
        f"they have: {', '.join(whole.key_chains()) or 'nothing'}."
    )


# Replacing
# -------------------------------------------------------------------------------------------


def set_variables(node: Node, new: Mapping[str, Any]) -> None:
    """Replace the variables of a module, and with them its part of the parent's.

    Inside a call that was given variables it replaces those, for this call only.
    """
    new = as_container(new, "v")
    call, way = call_with("v", node)
    if call is not None and call.v is not None:
        # The caller's own Container is not changed.
        call.v = _replaced(call.v.copy(), way, new)
        return
    check_lasting(node, new, "v")
    way = []
    while node.v is None and node.link is not None:
        way.append(node.link)
        node = node.link.parent
    keep(node, _replaced(Container() if node.v is None else node.v, way, new))


def keep(node: Node, v: Container) -> None:
    """Make `v` the variables that this root holds."""
    node.v = v
    if not node.is_temporary:
        v.hold()
    node.update_plain()


def _replaced(whole: Container, way: list[Link], new: Container) -> Container:
    """`whole` with `new` at the place that `way` leads to; changes `whole` itself."""
    if not way:
        return new
    link, rest = way[-1], way[:-1]
    part = _replaced(_part(whole, link), rest, new) if rest else new
    if link.shared:
        part = part.copy()
        for place, kept in link.shared:
            if place in part:
                whole[kept] = part.pop(place)
        part = without_empty(part)
    if part or not link.shared:
        whole["/".join(link.path)] = part
        link.is_bare = False
    return whole


def check_lasting(node: Node, nest: Nest, name: str) -> None:
    """Raise for values that end with the running function (tracers): a module cannot keep them."""
    if node.is_temporary:
        return
    if all_last(tree.leaves(nest)):
        return
    raise TracingError(
        f"{type(node.owner).__name__} would keep values of the function that is being compiled or "
        f"differentiated, here in {name!r}, which are not valid after it ends. Pass the variables "
        "to the call, `y = module(x, v=v)` or `y, buffers = module.apply(v, buffers, x)`, return "
        "the new ones from the function, and assign them outside; build the module before."
    )
