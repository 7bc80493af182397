"""Patterns on key paths: which leaves of a pytree, which modules of a tree are meant.

`*` is any text, slashes too; a `!` in front is everything that the rest does not match. Compilers
trace this: it is plain work on strings.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from .errors import ArgumentError, ArgumentTypeError

_SHOWN = 8  # names in an error


def matches(pattern: str, chain: str) -> bool:
    """Whether a key path is one that the pattern means.

    >>> matches("*/attention/*", "layers/v0/attention/query/w"), matches("head/*", "body/w")
    (True, False)
    >>> matches("!head/*", "body/w")
    True
    """
    if pattern.startswith("!"):
        return not matches(pattern[1:], chain)
    parts = pattern.split("*")
    if len(parts) == 1:
        return pattern == chain
    first, last = parts[0], parts[-1]
    if not chain.startswith(first) or len(chain) < len(first) + len(last):
        return False
    if not chain.endswith(last):
        return False
    at, end = len(first), len(chain) - len(last)
    for part in parts[1:-1]:
        found = chain.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def as_patterns(who: str, name: str, given: object) -> tuple[str, ...]:
    """One pattern or several, as a tuple."""
    patterns = (given,) if isinstance(given, str) else given
    if not isinstance(patterns, Sequence) or not all([isinstance(p, str) for p in patterns]):
        raise ArgumentTypeError(
            f'{who}() expects {name} to be a pattern such as "head/*", or a list of them, got '
            f"{given!r}."
        )
    return tuple(patterns)


def require_matches(who: str, patterns: Iterable[str], chains: Sequence[str]) -> None:
    """Raise for a pattern that means nothing here."""
    for pattern in patterns:
        if not any([matches(pattern, chain) for chain in chains]):
            below = pattern.rstrip("/") + "/*"
            meant = [below] if any([matches(below, chain) for chain in chains]) else []
            meant = meant or get_close_matches(pattern, chains, n=1, cutoff=0.5)
            hint = f" Did you mean {meant[0]!r}?" if meant else ""
            raise ArgumentError(
                f"{who}() got the pattern {pattern!r}, which matches nothing.{hint} There are: "
                f"{listed(chains)}."
            )


def listed(chains: Sequence[str]) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b"])
    'a, b'
    """
    more = len(chains) - _SHOWN
    return ", ".join(chains[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
