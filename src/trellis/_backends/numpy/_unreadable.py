"""Arrays whose values cannot be read, such as the compilers of other frameworks pass to a function.

`trellis.compile(fn, strict=True)` passes these to `fn` on NumPy, so that code which would fail
under
`jax.jit`, `torch.compile` or `tf.function` fails here too, with the same error.
"""

from typing import Any

import numpy as np

from ..._core import tree
from ..._core.errors import TracingError
from ._tape import ARRAYS, TracedArray


class UnreadableArray(np.ndarray):
    """A NumPy array with values that exist, but that Python code may not depend on."""

    def _refuse(self, what: str) -> TracingError:
        return TracingError(
            f"{what} inside a compiled function depends on values that a compiler does not know "
            "yet. Write trellis.where or trellis.cond instead of `if`, trellis.while_loop instead "
            "of `while`, and do what needs numbers outside the compiled function."
        )

    def __bool__(self) -> bool:
        raise self._refuse("bool(x), as in `if x:`,")

    def __int__(self) -> int:
        raise self._refuse("int(x)")

    def __float__(self) -> float:
        raise self._refuse("float(x)")

    def __complex__(self) -> complex:
        raise self._refuse("complex(x)")

    def __index__(self) -> int:
        raise self._refuse("x as an index or a size")

    def item(self, *args: Any) -> Any:
        raise self._refuse("x.item()")

    def tolist(self) -> Any:
        raise self._refuse("x.tolist()")

    def __getitem__(self, index: Any) -> Any:
        return hidden(super().__getitem__(readable(index)))

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any([isinstance(x, TracedArray) for x in inputs]):
            return NotImplemented  # the tape handles it, and calls this again for the values
        return hidden(getattr(ufunc, method)(*readable(inputs), **readable(kwargs)))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if TracedArray in types:
            return NotImplemented
        return hidden(func(*readable(args), **readable(kwargs)))


# The tape records these as it records plain arrays.
ARRAYS.add(UnreadableArray)


def hidden(nest: Any) -> Any:
    """The pytree with arrays that cannot be read."""
    if isinstance(nest, (np.ndarray, np.generic)):
        return np.asarray(nest).view(UnreadableArray)
    return tree.map(hidden, nest) if tree.is_nest(nest) else nest


def readable(nest: Any) -> Any:
    """The pytree with plain arrays again."""
    if isinstance(nest, UnreadableArray):
        return nest.view(np.ndarray)
    return tree.map(readable, nest) if tree.is_nest(nest) else nest
