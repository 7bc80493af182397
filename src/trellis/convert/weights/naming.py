"""Renaming arrays: the `names` argument of everything that loads weights."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..._core.errors import ArgumentError, ArgumentTypeError

# Whole names or prefixes in a dict, or a function; None skips an array.
Names = Mapping[str, str | None] | Callable[[str], str | None]

# torch's names of the arrays that most layers have.
TORCH_LEAVES = {"w": "weight", "b": "bias", "mean": "running_mean", "var": "running_var"}


def renamed(arrays: Mapping[str, Any], names: Names | None, function: str) -> dict[str, str]:
    """{new name: old name} of the arrays; those that `names` maps to None are left out.

    >>> renamed({"bert.w": 1, "head.b": 2}, {"bert": "", "head": None}, "load_weights")
    {'w': 'bert.w'}
    """
    if names is not None and not callable(names) and not isinstance(names, Mapping):
        raise ArgumentTypeError(
            f"{function}() expects a dict or a function for names, got {type(names).__name__}."
        )
    found: dict[str, str] = {}
    used: set[str] = set()
    for old in arrays:
        new = _new_name(old, names, used)
        if new is None:
            continue
        if not isinstance(new, str):
            raise ArgumentTypeError(
                f"{function}(): names made {new!r} out of {old!r}; it should give another name, or "
                "None to leave this one out."
            )
        if new in found:
            raise ArgumentError(
                f"{function}(): names makes {new!r} out of both {found[new]!r} and {old!r}."
            )
        found[new] = old
    unused = [] if names is None or callable(names) else [key for key in names if key not in used]
    if unused:
        raise ArgumentError(
            f"{function}(): names has {unused}, but no array is called so or begins so; there are "
            f"{some_of(arrays)}."
        )
    return found


def _new_name(old: str, names: Names | None, used: set[str]) -> str | None:
    if names is None:
        return old
    if callable(names):
        return names(old)
    fitting = [key for key in names if old == key or old.startswith((f"{key}.", f"{key}/"))]
    if not fitting:
        return old
    key = max(fitting, key=len)
    used.update(fitting)
    new, rest = names[key], old[len(key) :]
    if new is None:
        return None
    return new + rest if new else rest.lstrip("./")


def some_of(names: Iterable[str]) -> str:
    """The first few names, for an error message."""
    listed = [repr(name) for name in names]
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")
