"""The exports of a backend's file: its names that are part of the interface."""

import inspect
from typing import Any

from .array_api import FFT, Linalg
from .interface import Backend, Random

# The standard's own door, whose name a Protocol keeps to itself, and a type that NumPy has only
# through another package.
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


def hand_on(space: dict[str, Any], room: str = "") -> None:
    """The last line of a file: sets its `__all__`, from its `globals()`.

    `room` is the extension of the standard that the file is. Set from here, where type checkers do
    not look: they could not work the names out, and would take all others for private.
    """
    space["__all__"] = sorted([name for name in space if name in ASKED[room]])
