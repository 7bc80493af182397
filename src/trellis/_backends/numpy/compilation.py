"""NumPy has no compiler: the function itself, which raises where compilers would."""

import functools
from collections.abc import Callable
from typing import Any

from ..._core.tracing import pretending
from ._unreadable import hidden, readable


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Callable[..., Any]:
    """`fn` itself; a draw without a key or a new buffer raises; with `strict`, reading values
    raises too.
    """

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        with pretending("numpy"):
            return fn(*args, **kwargs)

    @functools.wraps(fn)
    def called_strictly(*args: Any, **kwargs: Any) -> Any:
        hidden_args = [x if i in static_argnums else hidden(x) for i, x in enumerate(args)]
        hidden_kwargs = {k: x if k in static_argnames else hidden(x) for k, x in kwargs.items()}
        return readable(called(*hidden_args, **hidden_kwargs))

    return called_strictly if strict else called


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls need no compilation here."""
    return fn
