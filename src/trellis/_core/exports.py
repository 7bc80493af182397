"""What `dir()` of a public package shows."""

import sys
from types import ModuleType


def public_names(package: str, *modules: str) -> list[str]:
    """The names that a package re-exports, and its public modules.

    >>> import trellis.nn
    >>> names = public_names("trellis.nn", "init")
    >>> "Linear" in names, "init" in names, "layers" in names
    (True, True, False)
    """
    found = [
        name
        for name, value in vars(sys.modules[package]).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]
    return sorted([*found, *modules])
