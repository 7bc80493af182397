"""What a running call was given lives with the call, never on the module, which others may be
calling.

Each thread has the chain of the calls that it is in, innermost first. Nothing can be suspended in
the middle of a call, no async task and no generator: hence the thread's own storage suffices. And
it is the one that torch.compile can read, write and guard; a context variable is not.
"""

import threading
from typing import TYPE_CHECKING, Any, Literal

from ..._core.container import Container
from .node import Link, Node, way_up

if TYPE_CHECKING:
    from .repeating import Run


class Call:
    """One running call: of which module, and what it was given."""

    __slots__ = ("buffers", "is_constant", "node", "outer", "tracker", "v")

    def __init__(
        self,
        node: Node,
        v: Container | None,
        buffers: Container | None,
        outer: "Call | None",
        tracker: Any = None,
    ):
        self.node = node
        self.v = v  # None: the variables are those of the calls around, or of the tree
        self.buffers = buffers
        self.is_constant = False  # `v` has been through stop_gradient
        self.outer = outer
        # Who watches this call and those inside it.
        self.tracker: Any = outer.tracker if tracker is None and outer is not None else tracker


class _Here(threading.local):
    def __init__(self) -> None:
        self.call: Call | None = None
        self.run: Run | None = None  # of a function that runs again later


here = _Here()


def call_with(what: Literal["v", "buffers"], node: Node) -> tuple[Call | None, list[Link]]:
    """The innermost running call that was given `what` for this module, and the way up to it."""
    call = here.call
    while call is not None:
        if getattr(call, what) is not None:
            way = way_up(node, call.node)
            if way is not None:
                return call, way
        call = call.outer
    return None, []
