"""Whether Module calls differentiate their variables: a stack of each thread or task."""

from contextlib import AbstractContextManager

from .._core.arrays import plain
from .._core.errors import ArgumentError
from .._core.settings import Setting

# An immutable tuple: a push in a thread or task is not seen outside it.
grads_stack: Setting[tuple[bool, ...]] = Setting("trellis_with_grads", ())


def are_grads_on() -> bool:
    """The top of the stack, True if it is empty."""
    stack = grads_stack.get()
    return stack[-1] if stack else True


def using_grads(is_on: bool) -> AbstractContextManager[None]:
    """Push a bool inside a `with` block."""
    return grads_stack.using((*grads_stack.get(), is_on))


def with_grads(*, with_grads: bool | None = None) -> bool:
    """The argument if it is a bool, else the top of the stack, else True. Reading never pushes.

    >>> import trellis
    >>> trellis.with_grads(), trellis.with_grads(with_grads=False)
    (True, False)
    """
    if with_grads is not None:
        return _checked(with_grads)
    return are_grads_on()


def set_with_grads(with_grads: bool, /) -> None:
    """Push a bool on the stack: from now on it decides whether Module calls differentiate their
    variables.

    >>> import trellis
    >>> trellis.set_with_grads(False)
    >>> trellis.with_grads()
    False
    >>> trellis.unset_with_grads()
    """
    grads_stack.set_here((*grads_stack.get(), _checked(with_grads)))


def unset_with_grads() -> None:
    """Pop the top of the stack; on an empty stack it does nothing.

    >>> import trellis
    >>> trellis.unset_with_grads()
    >>> trellis.with_grads()
    True
    """
    rest = grads_stack.get()[:-1]
    if rest:
        grads_stack.set_here(rest)
    else:
        grads_stack.unset_here()


def no_grads() -> AbstractContextManager[None]:
    """Inside the block, Module calls treat their variables as constants.

    >>> import trellis
    >>> with trellis.no_grads():
    ...     trellis.with_grads()
    False
    """
    return using_grads(False)


def _checked(value: object) -> bool:
    value = plain(value)
    if value is True or value is False:
        return bool(value)
    raise ArgumentError(f"with_grads must be True or False, got {value!r}.")
