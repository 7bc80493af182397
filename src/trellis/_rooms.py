"""The upper rooms open when they are first entered: `import trellis` alone stays as light as its base."""

import importlib
from typing import Any

ROOMS = ("functional", "nn", "optim", "train")


def enter(name: str) -> Any:
    """The room of that name, or `Module`, which lives in one; used as the package's `__getattr__`."""
    if name in ROOMS:
        return importlib.import_module(f"trellis.{name}")
    if name == "Module":
        return importlib.import_module("trellis.nn").Module
    raise AttributeError(f"module 'trellis' has no attribute {name!r}")
