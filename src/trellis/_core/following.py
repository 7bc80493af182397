"""A compiler that follows Python itself, step by step (torch.compile).

It cannot read context variables or the table of modules, so it is asked first, in this one way that
it can trace. Its backend enters it here. `bool()` is False.
"""

from collections.abc import Callable
from typing import Any, TypeVar

python_compiler: dict[str, Any] = {"backend": "", "is_compiling": bool, "mark": bool}

_F = TypeVar("_F", bound=Callable[..., Any])
_computed: list[Callable[..., Any]] = []


def is_followed() -> bool:
    """Whether a compiler that follows Python itself is at work."""
    is_compiling: Callable[[], bool] = python_compiler["is_compiling"]
    return is_compiling()


def computed_while_compiling(fn: _F) -> _F:
    """Marks a function of Python's numbers and strings: such a compiler calls it, in place of
    following it, and keeps the result, an array of NumPy or a bool, as a constant."""
    _computed.append(fn)
    python_compiler["mark"](fn)
    return fn


def mark_computed(mark: Callable[[Any], Any]) -> None:
    """Says how its backend marks them."""
    python_compiler["mark"] = mark
    for fn in _computed:
        mark(fn)
