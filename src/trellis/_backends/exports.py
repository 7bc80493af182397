"""The names of the interface, and how a backend's namespace is limited to them."""

import inspect
from types import ModuleType
from typing import Any

from .array_api import FFT, Linalg
from .interface import Backend, Random

# A dunder function of the standard, which `_names` skips, and a type that NumPy has only through #
# another package.
_BESIDE = {"__array_namespace_info__", "bfloat16"}


def _names(protocol: Any) -> set[str]:
    found: set[str] = set()
    for cls in protocol.__mro__:
        if cls.__module__.startswith("trellis."):
            found |= {*vars(cls), *inspect.get_annotations(cls)}
    return {name for name in found if not name.startswith("_")}


ASKED = {
    "": _names(Backend) | _BESIDE,
    "fft": _names(FFT),
    "linalg": _names(Linalg),
    "random": _names(Random),
}


def keep_asked(space: dict[str, Any]) -> None:
    """Remove names outside the interface from a backend's `globals()`.

    The files of a backend are imported with `*` and have no lists of exports, so their own imports
    arrive too. The namespace keeps the names of the interface, and the files themselves.
    """
    package = f"{space['__name__']}."
    for name, value in list(space.items()):
        is_file = isinstance(value, ModuleType) and value.__name__.startswith(package)
        if not name.startswith("_") and name not in ASKED[""] and not is_file:
            del space[name]
