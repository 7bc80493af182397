"""Which argument was meant by a name that a function does not have."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any


def meant(
    name: str, known: Iterable[str], other_names: Mapping[str, tuple[str, ...]]
) -> str | None:
    """The argument that a user who typed `name` had in mind, or None.

    `other_names` are those of other libraries, each with ours for the same thing; the first that
    the function has counts.

    >>> theirs = {"kernel_size": ("filter_shape", "window")}
    >>> meant("kernel_size", ["window", "strides"], theirs)
    'window'
    >>> meant("stirdes", ["window", "strides"], theirs)
    'strides'
    """
    names = list(known)
    for ours in other_names.get(name, ()):
        if ours in names:
            return ours
    close = get_close_matches(name, names, n=1)
    return close[0] if close else None


def misfit(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[str], list[str], str] | None:
    """What is wrong with a call: the names that it does not know, all that it knows, and Python's
    words; None if the arguments fit.
    """
    signature = inspect.signature(fn)
    takes_names = [
        name
        for name, p in signature.parameters.items()
        if name != "self" and p.kind is not p.VAR_POSITIONAL
    ]
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        unknown = [name for name in kwargs if name not in takes_names]
        return unknown, takes_names, str(error)
    return None
