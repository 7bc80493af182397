"""The wire format of protocol buffers: numbered fields, without their names.

What a number means stands in the schema of the format, and the few that are needed here are
written where they are used. Nothing is copied: parts of a message are views of the file.
"""

from collections.abc import Iterator
from typing import Any

from .damage import Damaged


def fields(message: Any) -> Iterator[tuple[int, Any]]:
    """The number and value of each field: an int, or a view of its bytes.

    >>> list(fields(b"\\x08\\x07\\x12\\x02hi"))[0]
    (1, 7)
    """
    view = memoryview(message)
    at = 0
    while at < len(view):
        key, at = _varint(view, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(view, at)
            yield number, value
            continue
        if kind not in (1, 2, 5) or number == 0:
            raise Damaged("it is not made of fields of protocol buffers.")
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, at = _varint(view, at)
        if at + size > len(view):
            raise Damaged("it ends in the middle of a field.")
        yield number, view[at : at + size]
        at += size


def all_of(message: Any, number: int) -> list[Any]:
    """The values of a repeated field."""
    return [value for found, value in fields(message) if found == number]


def first(message: Any, number: int, default: Any = b"") -> Any:
    """The value of a field that occurs once."""
    found = all_of(message, number)
    return found[-1] if found else default


def text(value: Any) -> str:
    """A field of characters."""
    return bytes(value).decode(errors="replace") if not isinstance(value, int) else str(value)


def integers(values: list[Any]) -> list[int]:
    """A repeated field of integers, one by one or packed; with their signs."""
    found: list[int] = []
    for value in values:
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            found.append(number)
    return [number - (1 << 64) if number >> 63 else number for number in found]


def _varint(view: Any, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(view) and shift < 70:
        byte = view[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
    raise Damaged("it ends in the middle of a number.")
