"""Reading and writing the buffers of a module: those of the running call, else those of its
tree."""

from collections.abc import Mapping
from typing import Any

from ..._core.container import Container
from ..._core.errors import TracingError
from ..._core.tracing import lasts
from .call import Call, call_with, here
from .node import Link, Node, as_container


def buffers(node: Node, *, for_writing: bool = False) -> Container:
    """The buffers of a module and of all modules below it.

    `for_writing` gives the Container that call or tree holds, made now if there is none yet.
    """
    call, way = call_with("buffers", node)
    holder: Call | Node | None = call
    if holder is None:
        holder, way = _root_and_way(node)
    part: Any = holder.buffers if here.run is None else here.run.buffers(holder)
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
        _hold(call, new)
    elif call is None and node.link is None:
        _hold(node, new)
    else:
        link = way[0] if way else node.link
        assert link is not None, "without a way up this is the module that holds the buffers"
        buffers(link.parent, for_writing=True)["/".join(link.path)] = new


def _hold(holder: Call | Node, new: Container) -> None:
    if here.run is None:
        holder.buffers = new
    else:
        here.run.replace(holder, new)


def set_buffer(node: Node, name: str, value: object) -> None:
    """Give one buffer another value."""
    buffers(node, for_writing=True)[name] = value


def are_buffers_given(node: Node) -> bool:
    """Whether updates stay inside the running call, which was given its buffers, or inside a
    function that runs again."""
    call, _ = call_with("buffers", node)
    return call is not None or here.run is not None


def check_lasting_buffer(node: Node, name: str, value: object) -> None:
    """Refuse a value that is gone when the running function ends, for a module to keep."""
    if not node.is_temporary and not lasts(value):
        raise TracingError(
            f"{type(node.owner).__name__} would keep a value of the compiled function in its "
            f"buffer {name!r}, which is not valid outside. Write `out, buffers = "
            "module.apply(v, buffers, x)` in the compiled function and return both; or call "
            "module.eval() first."
        )


def _root_and_way(node: Node) -> tuple[Node, list[Link]]:
    way: list[Link] = []
    while node.link is not None:
        way.append(node.link)
        node = node.link.parent
    return node, way
