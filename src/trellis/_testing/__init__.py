"""Listeners that are told of the comparisons that passed in a test."""

from collections.abc import Callable

listeners: list[Callable[..., object]] = []
"""Called with the operands of each comparison. A conformance board adds itself while it records."""


def report(*operands: object) -> None:
    """Report that a comparison of `operands` passed; helpers of a test suite may call it too.

    >>> from trellis.testing import listeners, report
    >>> heard = []
    >>> listeners.append(lambda *operands: heard.append(operands))
    >>> report(1.0, 1.0)
    >>> heard, listeners.pop() is not None
    ([(1.0, 1.0)], True)
    """
    for listener in listeners:
        listener(*operands)
