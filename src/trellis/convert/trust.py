"""Files that could run code: what is said about them."""

from pathlib import Path

from .._core.errors import ArgumentError


def untrusted(path: Path, why: str) -> ArgumentError:
    """The error for a file of which it cannot be shown that reading it runs nothing."""
    return ArgumentError(
        f"{str(path)!r} is not read, because it could run code: {why}. If you know who made it, "
        "pass trust=True (--trust on the command line)."
    )


def printable(text: object, longest: int = 120) -> str:
    """Text from a file as it can be shown on a terminal.

    >>> printable("name\\x1b[2J")
    'name\\\\x1b[2J'
    """
    shown = "".join([c if c.isprintable() else ascii(c)[1:-1] for c in str(text)[: longest + 1]])
    return shown if len(shown) <= longest else shown[:longest] + "..."
