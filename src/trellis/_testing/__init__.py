"""Who wants to know that a comparison of a test was made and held."""

from collections.abc import Callable

listeners: list[Callable[..., object]] = []
"""Called with the operands of each comparison. A conformance board adds itself while it records."""


def report(*operands: object) -> None:
    """Say that a comparison of `operands` was made and held; helpers of a test suite may call it
    too.

    >>> from trellis.testing import listeners, report
    >>> heard = []
    >>> listeners.append(lambda *operands: heard.append(operands))
    >>> report(1.0, 1.0)
    >>> heard, listeners.pop() is not None
    ([(1.0, 1.0)], True)
    """
    for listener in listeners:
        listener(*operands)
