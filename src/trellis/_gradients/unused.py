"""The error for a function that uses nothing of what it is differentiated by.

That a gradient is zero proves nothing: a step function has one honestly, and so has the second
derivative of a linear function. So a function that does not lead back to any leaf is called once
more, with objects in place of the leaves that cannot be used for anything. If it still returns its
result, it never needed them. A function that does use them stops there at its first use.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .._core import tree
from .._core.errors import ArgumentError
from .._random.stream import stream

_SHOWN = 4


class _Used(BaseException):
    """Raised at the first use of an unusable leaf; no `except Exception` takes it for its own."""


class _Unusable:
    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":  # isinstance() asks for it, while pytrees are built
            return _Unusable
        raise _Used

    def __array__(self, *_: object, **__: object) -> Any:
        raise _Used


def check_use(
    func: Callable[..., Any], names: Sequence[str], on_leaves: Callable[[list[Any]], Any]
) -> None:
    """Raise if `on_leaves`, which calls `func`, gives its result without any of its leaves."""
    try:
        with stream(0):  # its draws are not those of the program
            on_leaves([_Unusable() for _ in names])
    except (Exception, _Used):  # only what cannot be used differs from the call that went well
        return
    name = getattr(func, "__name__", type(func).__name__)
    raise ArgumentError(
        f"{name}() does not use what it is differentiated by, so that all gradients would be zero: "
        f"{shown_names(names)}. Did you forget v=v?\n"
        "    wrong:  value_and_grad(lambda v: loss(model(x), y))(model.v)\n"
        "    right:  value_and_grad(lambda v: loss(model(x, v=v), y))(model.v)\n"
        "Where zeros are meant, write allow_unused=True."
    )


def names_of(arguments: Sequence[Any], positions: Sequence[int]) -> list[str]:
    """The key paths of the leaves of some arguments; an array alone is called by its position."""
    names: list[str] = []
    for n, argument in zip(positions, arguments, strict=True):
        is_nest = tree.is_nest(argument)
        names += tree.key_chains(argument) if is_nest else [f"argument {n}"]
    return names


def shown_names(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest
