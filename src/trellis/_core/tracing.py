"""Which compiler is tracing a function right now, if any; asked without importing a framework."""

import sys
from typing import Any

from .errors import ArgumentTypeError

_FRAMEWORKS = ("torch", "jax", "tensorflow")


# Replaced by the torch backend when it loads; without torch nothing is being compiled by it.
def _no_torch() -> bool:
    return False


torch_check: dict[str, Any] = {"is_compiling": _no_torch}


def torch_is_compiling() -> bool:
    """Whether torch.compile is tracing; the one question that it can trace itself."""
    is_compiling: bool = torch_check["is_compiling"]()
    return is_compiling


def lasts(x: Any) -> bool:
    """Whether a value can be kept when the running function has ended: no symbol of a compiler."""
    if not hasattr(x, "dtype") or isinstance(x, type):
        return True
    from .dispatch import xp_of

    try:
        is_lasting: bool = xp_of(x).lasts(x)
    except ArgumentTypeError:  # not an array: a specification of one, a quantised weight, ...
        return True
    return is_lasting


def tracing() -> str | None:
    """The framework that is tracing a function for its compiler right now, if any."""
    if torch_is_compiling():
        return "torch"
    for name in _FRAMEWORKS:
        module = sys.modules.get(f"trellis._backends.{name}.tracing")
        if module is None and name in sys.modules:
            from .dispatch import load

            module = load(name)
        if module is not None and module.is_tracing():
            return name
    return None
