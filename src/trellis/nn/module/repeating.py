"""Functions that run again, for `checkpoint`: their modules are as they were at the first run.

While such a function runs, its modules write into copies of their buffers. The new values leave the
function as results do, and enter the buffers after the first run only.
"""

from typing import Any

from ..._core import repeating
from ..._core.arrays import is_array
from ..._core.container import Container
from ..._gradients.transforms import stop_gradient
from .buffers import check_lasting_buffer
from .call import Call, here
from .node import Node

Holder = Call | Node
_NOBODY = Node.__new__(Node)  # of no tree


class NotedModules(repeating.Noted):
    """The running call, and what modules were found with at the first run."""

    def __init__(self) -> None:
        self.call, self.outer = here.call, here.run
        self.flags: list[bool] = []  # training or not, each time that it was asked for
        # With those who hold them, which would otherwise end, and their ids serve for others.
        self.buffers: dict[int, tuple[Holder, Container]] = {}
        self.variables: dict[int, tuple[Node, Container]] = {}
        self._changed: list[tuple[Holder, str]] = []

    def enter(self, is_first: bool) -> tuple[Call | None, "Run | None"]:
        before = here.call, here.run
        here.run = Run(self)
        if not is_first or self.call is None:
            # Without any call, modules would take their variables from themselves.
            node = _NOBODY if self.call is None else self.call.node
            here.call = Call(node, None, None, self.call)
            here.call.tracker = None  # who watched the call has seen the first run
        return before

    def leave(self, entered: tuple[Call | None, "Run | None"]) -> None:
        here.call, here.run = entered

    def changes(self) -> list[Any]:
        assert here.run is not None, "asked for while the function runs"
        found = here.run.changes()
        self._changed = self._changed or [(holder, chain) for holder, chain, _ in found]
        return [value for _, _, value in found]

    def keep(self, changes: list[Any]) -> None:
        for (holder, chain), value in zip(self._changed, changes, strict=True):
            kept = stop_gradient(value) if is_array(value) else value
            if self.outer is not None:
                self.outer.buffers(holder)[chain] = kept
                continue
            if isinstance(holder, Node):
                check_lasting_buffer(holder, chain, kept)
            assert holder.buffers is not None, "buffers changed that nobody holds"
            holder.buffers[chain] = kept


class Run:
    """One run of the function, as its modules see it."""

    def __init__(self, noted: NotedModules):
        self._noted = noted
        self._asked = 0
        self._buffers: dict[int, Container] = {}

    def is_training(self, node: Node) -> bool:
        flags, i = self._noted.flags, self._asked
        self._asked = i + 1
        if i == len(flags):
            outer = self._noted.outer
            flags.append(node.is_training if outer is None else outer.is_training(node))
        return flags[i]

    def variables(self, root: Node) -> Container:
        noted, key = self._noted, id(root)
        if key not in noted.variables:
            assert root.v is not None, "only those who hold variables are asked for"
            found = root.v if noted.outer is None else noted.outer.variables(root)
            noted.variables[key] = (root, found)
        return noted.variables[key][1]

    def buffers(self, holder: Holder) -> Container:
        """The copy that this run writes into."""
        noted, key = self._noted, id(holder)
        if key not in self._buffers:
            if key not in noted.buffers:
                found = holder.buffers if noted.outer is None else noted.outer.buffers(holder)
                assert found is not None, "only those who hold buffers are asked for"
                noted.buffers[key] = (holder, found.copy())
            self._buffers[key] = noted.buffers[key][1].copy()
        return self._buffers[key]

    def replace(self, holder: Holder, new: Container) -> None:
        self.buffers(holder)
        self._buffers[id(holder)] = new

    def changes(self) -> list[tuple[Holder, str, Any]]:
        """Who holds what under which name that is new."""
        found = []
        for key, after in self._buffers.items():
            holder, before = self._noted.buffers[key]
            for chain in after.key_chains():
                if chain not in before or before[chain] is not after[chain]:
                    found.append((holder, chain, after[chain]))
        return found
