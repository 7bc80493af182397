"""Where a recorded call comes from: the public function, the user's line, the module."""

import os
import sys
from typing import Any, NamedTuple

from .._core.frames import folder_of
from ..nn.module.call import Call, here
from ..nn.module.node import Node

_LIBRARY = folder_of("trellis")
# Files of functions that a user calls; what they call inside belongs to them.
_FUNCTIONS = tuple(
    [os.path.join(_LIBRARY, name, "") for name in ("functional", "_array", "_random", "_gradients")]
)
# Files of the recording itself.
_OWN = (
    os.path.join(_LIBRARY, "_recording", ""),
    os.path.join(_LIBRARY, "_diverge", ""),
    os.path.join(_LIBRARY, "graph", "tracing.py"),
)


class Given(Call):
    """What a recording gives to the modules of a function: no call of the program itself."""

    __slots__ = ()


class Place(NamedTuple):
    """Where a call was made."""

    public: str  # the public function that made it; empty for an operator in the user's own code
    call: int  # the number of the public call: what it calls inside shares it
    where: str  # "model.py:40"
    module: str  # "Encoder/layers_v0/attention"


class Places:
    """Finds the place of the running call, and numbers the public calls."""

    def __init__(self) -> None:
        self._frame: Any = None  # of the last public call: the object, since numbers are reused
        self._count = 0

    def find(self) -> Place:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OWN):
            frame = frame.f_back
        public = None
        while frame is not None and frame.f_code.co_filename.startswith(_FUNCTIONS):
            public, frame = frame, frame.f_back
        inner = frame
        while frame is not None and frame.f_code.co_filename.startswith(_LIBRARY):
            if frame.f_code.co_filename.startswith(_OWN):  # the recorded function is a module
                frame = None
                break
            frame = frame.f_back
        user = inner if frame is None else frame
        if public is None or public is not self._frame:
            self._count += 1
            self._frame = public
        name = "" if public is None else public.f_code.co_name
        where = (
            "" if user is None else f"{os.path.basename(user.f_code.co_filename)}:{user.f_lineno}"
        )
        return Place(name, self._count, where, module_path())

    def forget(self) -> None:
        self._frame = None


def module_path() -> str:
    """The names of the modules around the running call, from the outermost one down."""
    call = here.call
    if call is None or isinstance(call, Given):
        return ""
    names: list[str] = []
    node: Node | None = call.node
    while node is not None:
        link = node.link
        names.append(type(node.owner).__name__ if link is None else link.key)
        node = None if link is None else link.parent
    return "/".join(names[::-1])
