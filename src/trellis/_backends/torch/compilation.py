"""Compilation on torch. Python values are static by themselves: Dynamo guards on them."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..._core.tracing import pretending
from ..exports import hand_on


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    strict: bool = False,
) -> Callable[..., Any]:
    """`fn` compiled whole; `strict` is what torch.compile with one graph is already."""
    compiled = torch.compile(fn, fullgraph=True)

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return compiled(*args, **kwargs)
        except Exception as error:
            # Asked by name: importing torch._dynamo takes a second that only compiling is worth.
            if type(error).__module__ != "torch._dynamo.exc":
                raise
            raise _explained(fn, args, kwargs, error) from None

    return called


def _explained(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Exception:
    """What the function itself raises, where it does: Dynamo buries it in pages of its own."""
    try:
        with pretending("torch"), torch.no_grad():
            fn(*args, **kwargs)
    except Exception as own:
        return own
    return error


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls cost no compilation here."""
    return fn


hand_on(globals())
