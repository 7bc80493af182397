"""NumPy has no compiler: the function itself."""

from collections.abc import Callable
from typing import Any

__all__ = [
    "compile_function",
    "for_many_calls",
]


def compile_function(
    fn: Callable[..., Any], *, static_argnums: tuple[int, ...], static_argnames: tuple[str, ...]
) -> Callable[..., Any]:
    return fn


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls cost no compilation here."""
    return fn
