"""Compilation on torch. Python values are static by themselves: Dynamo guards on them."""

import functools
import types
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
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Callable[..., Any]:
    """`fn` compiled whole; `strict` is what torch.compile with one graph is already."""
    compiled = torch.compile(fn if carry is None else _carrying(fn, carry), fullgraph=True)

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


def _carrying(fn: Callable[..., Any], carry: int) -> Callable[..., Any]:
    """The new values are written over the old ones: inductor then changes only what is new."""

    def called(*args: Any) -> Any:
        results = fn(*args)
        return (*results[:-1], _written(args[carry], results[-1]))

    # Dynamo limits the compilations of one piece of code: with a copy, each function has its own.
    code = called.__code__.replace()
    return types.FunctionType(code, called.__globals__, "called", None, called.__closure__)


def _written(old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return type(new)({key: _written(old[key], value) for key, value in new.items()})
    if isinstance(new, (list, tuple)):
        parts = [_written(a, b) for a, b in zip(old, new, strict=True)]
        return type(new)(*parts) if hasattr(new, "_fields") else type(new)(parts)
    if old is new or old.shape != new.shape or old.dtype is not new.dtype or old.ndim < 2:
        return new
    return old.copy_(new)


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
