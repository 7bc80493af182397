"""What a namespace can do, in the standard's form."""

from ..inspection import Info
from . import xp


def __array_namespace_info__() -> Info:
    return Info(xp)


def layer_types() -> tuple[type, ...]:
    """The framework's own classes of layers: Trellis knows none."""
    return ()
