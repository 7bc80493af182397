"""Files that could run code: what is said about them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._core.errors import ArgumentError, TrellisError
from .._core.printable import printable


def untrusted(path: Path, why: str) -> ArgumentError:
    """The error for a file of which it cannot be shown that reading it runs nothing."""
    return ArgumentError(
        f"{str(path)!r} is not read, because it could run code: {why}. If you know who made it, "
        "pass trust=True (--trust on the command line)."
    )


@contextmanager
def errors_of(path: Path | None, reader: str) -> Iterator[None]:
    """Around all that is done with a file: a framework raises all kinds of errors about damaged
    ones, and so does code that expects a model as the framework makes it."""
    try:
        yield
    except (TrellisError, FileNotFoundError):
        raise
    except Exception as error:
        what = "this model" if path is None else repr(str(path))
        raise ArgumentError(
            f"{reader} cannot read {what}: {type(error).__name__}: {printable(error, 400)}"
        ) from error
