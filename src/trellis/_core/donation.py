"""Arrays that are given away to a compiled function, which may use their memory for its results."""

from typing import Any, NoReturn

from .errors import ArgumentError


class GivenAway:
    """Stands in a nest in the place of an array that was given away."""

    __slots__ = ()

    # Whatever asks for the array's dtype or shape is told what has become of it.
    def __getattr__(self, name: str) -> NoReturn:
        raise gone()

    def __repr__(self) -> str:
        return "<given away>"


_MARK = GivenAway()


def gone() -> ArgumentError:
    """What is said to whoever wants such an array."""
    return ArgumentError(
        "This array was given away, in an argument that compile(donate_argnums=...) names: its "
        "memory holds a result of that call now. Use the result, or leave the argument out of "
        "donate_argnums."
    )


def give_away(nest: object) -> None:
    """Let go of the arrays in dicts and lists. One in a tuple, or on its own, stays where it is."""
    if isinstance(nest, dict):
        for key, value in dict.items(nest):
            if isinstance(value, (dict, list, tuple)):
                give_away(value)
            elif hasattr(value, "dtype"):
                dict.__setitem__(nest, key, _MARK)  # the key is there: the dict keeps its size
    elif isinstance(nest, (list, tuple)):
        for i, value in enumerate(nest):
            if isinstance(value, (dict, list, tuple)):
                give_away(value)
            elif isinstance(nest, list) and hasattr(value, "dtype"):
                nest[i] = _MARK


def places(spec: Any, argnums: tuple[int, ...]) -> list[int]:
    """Where the leaves of some arguments stand among those of all; `spec` is that of
    `(args, kwargs)`.
    """
    found: list[int] = []
    start, of_args = 0, spec.child(0)
    for n in range(of_args.num_children):
        end = start + of_args.child(n).num_leaves
        if n in argnums:
            found += range(start, end)
        start = end
    return found
