"""Arrays that are donated to a compiled function, which may use their memory for its results."""

from typing import Any, NoReturn

from .errors import ArgumentError


class GivenAway:
    """Takes the place of a donated array in a pytree."""

    __slots__ = ()

    # Asking for the array's dtype or shape raises, and the error explains why.
    def __getattr__(self, name: str) -> NoReturn:
        raise gone()

    def __repr__(self) -> str:
        return "<donated>"


_MARK = GivenAway()


def gone() -> ArgumentError:
    """The error for the use of a donated array."""
    return ArgumentError(
        "This array was donated: it was passed in an argument that compile(donate_argnums=...) "
        "names, and its memory may hold a result of that call now. Use the result, or remove the "
        "argument from donate_argnums."
    )


def give_away(nest: Any) -> None:
    """Drop the references to the arrays in dicts and lists. An array in a tuple, or on its own,
    stays."""
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
    """The positions of the leaves of some arguments among the leaves of all; `spec` is that of
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
