"""Whether Module calls differentiate their variables: a stack of each thread or task."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .._core.errors import ArgumentError

# An immutable tuple: a push in a thread or task is not seen outside it.
_stack: ContextVar[tuple[bool, ...]] = ContextVar("trellis_with_grads", default=())


def with_grads(*, with_grads: bool | None = None) -> bool:
    """The argument if it is a bool, else the top of the stack, else True. Reading never pushes.

    >>> import trellis
    >>> trellis.with_grads(), trellis.with_grads(with_grads=False)
    (True, False)
    """
    if with_grads is not None:
        return _checked(with_grads)
    stack = _stack.get()
    return stack[-1] if stack else True


def set_with_grads(with_grads: bool, /) -> None:
    """Push a bool on the stack: from now on Module calls treat their variables accordingly.

    >>> import trellis
    >>> trellis.set_with_grads(False)
    >>> trellis.with_grads()
    False
    >>> trellis.unset_with_grads()
    """
    _stack.set((*_stack.get(), _checked(with_grads)))


def unset_with_grads() -> None:
    """Pop the top of the stack; on an empty stack it does nothing.

    >>> import trellis
    >>> trellis.unset_with_grads()
    >>> trellis.with_grads()
    True
    """
    _stack.set(_stack.get()[:-1])


@contextmanager
def no_grads() -> Iterator[None]:
    """Inside the block, Module calls treat their variables as constants.

    >>> import trellis
    >>> with trellis.no_grads():
    ...     trellis.with_grads()
    False
    """
    token = _stack.set((*_stack.get(), False))
    try:
        yield
    finally:
        _stack.reset(token)


def _checked(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise ArgumentError(f"with_grads must be True or False, got {value!r}.")
