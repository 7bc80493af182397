"""The wire format of protocol buffers: numbered fields, without their names.

The meaning of a number is in the schema of the format, and the few that are needed here are
written where they are used. Nothing is copied: parts of a message are views of the file.
"""

from typing import Any

from .damage import Damaged


def fields(message: Any) -> list[tuple[int, Any]]:
    """The number and value of each field: an int, or a view of its bytes.

    >>> [(number, value) for number, value in fields(b"\\x08\\x07\\x10\\x03")]
    [(1, 7), (2, 3)]
    """
    view = memoryview(message)
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(view):
        key, at = varint(view, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(view, at)
            found.append((number, value))
            continue
        if kind not in (1, 2, 5) or number == 0:
            raise Damaged("it is not made of fields of protocol buffers.")
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, at = varint(view, at)
        if at + size > len(view):
            raise Damaged("it ends in the middle of a field.")
        found.append((number, view[at : at + size]))
        at += size
    return found


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
            number, at = varint(value, at)
            found.append(number)
    return [number - (1 << 64) if number >> 63 else number for number in found]


def varint(view: Any, at: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, and the place behind it."""
    number = shift = 0
    while at < len(view) and shift < 70:
        byte = view[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
    raise Damaged("it ends in the middle of a number.")
