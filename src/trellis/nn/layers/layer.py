"""What all layers share."""

from collections.abc import Sequence
from typing import Any

from ..._core.errors import ArgumentTypeError
from ..module.module import Module


class Layer(Module):
    """A module of this library; its `**options` are those of `Module`: `v`, `dtype`, `device`, `backend`, ..."""

    def _build(self, *args: Any, **kwargs: Any) -> bool | None:
        # What a constructor does not know arrives here; a misspelt option must not pass unnoticed.
        if args or kwargs:
            unknown = [*[repr(arg) for arg in args], *kwargs]
            raise ArgumentTypeError(
                f"{type(self).__name__}() got arguments that it does not know: {', '.join(unknown)}."
            )
        return True


def per_axis(value: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """One size per axis.

    >>> per_axis(3, 2)
    (3, 3)
    """
    return (value,) * dims if isinstance(value, int) else tuple(value)
