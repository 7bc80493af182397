"""A compiler that follows Python itself, step by step (torch.compile).

It cannot read context variables or the table of modules, so it is asked first, in this one way that
it can trace. Its backend enters it here. `bool()` is False.
"""

from collections.abc import Callable
from typing import Any

python_compiler: dict[str, Any] = {"backend": "", "is_compiling": bool}


def is_followed() -> bool:
    """Whether a compiler that follows Python itself is at work."""
    is_compiling: Callable[[], bool] = python_compiler["is_compiling"]
    return is_compiling()
