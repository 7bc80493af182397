"""The upper rooms open when one of them is first entered: `import trellis` alone stays as light as its base.

Then all open and the door is taken away: in a module with a `__getattr__` Python looks every name up the slow
way, which would cost each `trellis.exp(x)` another 50 ns.
"""

import sys
from importlib import import_module
from typing import Any

ROOMS = ("functional", "nn", "optim", "train")

_is_opening = False  # rooms enter each other while they open


def enter(name: str) -> Any:
    """The room of that name, or `Module`, which lives in one; used as the package's `__getattr__`."""
    global _is_opening
    if name not in (*ROOMS, "Module"):
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    is_first, _is_opening = not _is_opening, True
    if is_first:
        package: Any = sys.modules["trellis"]
        for room in ROOMS:
            import_module(f"trellis.{room}")
        package.Module = package.nn.Module
        del package.__getattr__
    return (
        import_module("trellis.nn").Module if name == "Module" else import_module(f"trellis.{name}")
    )
