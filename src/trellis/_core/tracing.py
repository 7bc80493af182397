"""Which compiler is tracing a function right now, if any; asked without importing a framework."""

import sys
from contextvars import ContextVar
from typing import Any

_FRAMEWORKS = ("torch", "jax", "tensorflow")

# A function that only runs as if a compiler traced it, and must refuse the same: what
# `trellis.compile` gives on NumPy, and the second run that explains an error of torch.compile.
_pretended: ContextVar[str | None] = ContextVar("trellis_tracing", default=None)


# Replaced by the torch backend when it loads; without torch nothing is being compiled by it.
def _no_torch() -> bool:
    return False


torch_check: dict[str, Any] = {"is_compiling": _no_torch}


def torch_is_compiling() -> bool:
    """Whether torch.compile is tracing; the one question that it can trace itself."""
    is_compiling: bool = torch_check["is_compiling"]()
    return is_compiling


def tracing() -> str | None:
    """The framework that is tracing a function for its compiler right now, if any."""
    if torch_is_compiling():
        return "torch"
    name = _pretended.get()
    if name is not None:
        return name
    for name in _FRAMEWORKS:
        module = sys.modules.get(f"trellis._backends.{name}.tracing")
        if module is None and name in sys.modules:
            from .dispatch import load

            module = load(name)
        if module is not None and module.is_tracing():
            return name
    return None


def is_pretended(name: str) -> bool:
    """Whether a function runs as if the compiler of this framework traced it."""
    return _pretended.get() == name


class pretending:
    """Inside the block of this thread or task everything is refused that the compiler would refuse."""

    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> None:
        self._token = _pretended.set(self._name)

    def __exit__(self, *exception: object) -> None:
        _pretended.reset(self._token)
