"""Reading and writing the buffers of a module: those of the running call, else those of its
tree."""

from collections.abc import Mapping
from typing import Any

from ..._core.container import Container
from .call import call_with
from .node import Link, Node, as_container


def buffers(node: Node, *, for_writing: bool = False) -> Container:
    """The buffers of a module and of all modules below it.

    `for_writing` gives the Container that call or tree holds, made now if there is none yet.
    """
    call, way = call_with("buffers", node)
    part: Any = call.buffers if call is not None else None
    if call is None:
        node, way = _root_and_way(node)
        part = node.buffers
    for link in way[::-1]:
        for key in link.path:
            if key not in dict.keys(part):
                if not for_writing:
                    return Container()
                part[key] = Container()
            part = dict.__getitem__(part, key)
    return part  # type: ignore[no-any-return]


def set_buffers(node: Node, new: Mapping[str, Any]) -> None:
    """Replace the buffers of a module, and with them its part of the parent's."""
    new = as_container(new, "buffers")
    call, way = call_with("buffers", node)
    if call is not None and not way:
        call.buffers = new
    elif call is None and node.link is None:
        node.buffers = new
    else:
        link = way[0] if way else node.link
        assert link is not None, "without a way up this is the module that holds the buffers"
        buffers(link.parent, for_writing=True)["/".join(link.path)] = new


def set_buffer(node: Node, name: str, value: object) -> None:
    """Give one buffer another value."""
    buffers(node, for_writing=True)[name] = value


def are_buffers_given(node: Node) -> bool:
    """Whether the running call was given its buffers, so that updates stay inside it."""
    call, _ = call_with("buffers", node)
    return call is not None


def _root_and_way(node: Node) -> tuple[Node, list[Link]]:
    way: list[Link] = []
    while node.link is not None:
        way.append(node.link)
        node = node.link.parent
    return node, way
