"""Files that could run code: what is said about them."""

from pathlib import Path

from .._core.errors import ArgumentError


def untrusted(path: Path, why: str) -> ArgumentError:
    """The error for a file of which it cannot be shown that reading it runs nothing."""
    return ArgumentError(
        f"{str(path)!r} is not read, because it could run code: {why}. If you know who made it, "
        "pass trust=True (--trust on the command line)."
    )
