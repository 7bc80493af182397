"""Flatbuffers: tables whose fields are found by their position in the schema."""

import struct
from mmap import mmap

from .damage import Damaged


class Table:
    """One table of a buffer; a field that is not there has its default."""

    def __init__(self, content: bytes | mmap, at: int):
        self._content, self._at = content, at
        self._fields = at - _number(content, at, "<i")
        self._size = _number(content, self._fields, "<H")

    @classmethod
    def root(cls, content: bytes | mmap) -> "Table":
        """The table that a file begins with."""
        return cls(content, _number(content, 0, "<I"))

    def number(self, field: int, kind: str = "<I", default: int = 0) -> int:
        """A number, of a kind as `struct` writes it."""
        place = self._place(field)
        return default if place == 0 else _number(self._content, place, kind)

    def table(self, field: int) -> "Table | None":
        """A table inside this one."""
        place = self._place(field)
        return None if place == 0 else Table(self._content, self._followed(place))

    def tables(self, field: int) -> list["Table"]:
        """A list of tables."""
        start, count = self._list(field)
        return [Table(self._content, self._followed(start + 4 * i)) for i in range(count)]

    def numbers(self, field: int, kind: str = "<i") -> list[int]:
        """A list of numbers."""
        start, count = self._list(field)
        size = struct.calcsize(kind)
        return [_number(self._content, start + size * i, kind) for i in range(count)]

    def bytes(self, field: int) -> bytes:
        """A list of bytes; what is behind the end of the file is left out."""
        start, count = self._list(field)
        return bytes(self._content[start : start + count])

    def text(self, field: int) -> str:
        """Characters."""
        return self.bytes(field).decode(errors="replace")

    def texts(self, field: int) -> list[str]:
        """A list of texts."""
        start, count = self._list(field)
        found = []
        for i in range(count):
            at = self._followed(start + 4 * i)
            size = _number(self._content, at, "<I")
            found.append(bytes(self._content[at + 4 : at + 4 + size]).decode(errors="replace"))
        return found

    def count(self, field: int) -> int:
        """The length of a list."""
        return self._list(field)[1]

    def _place(self, field: int) -> int:
        slot = 4 + 2 * field
        if slot + 2 > self._size:
            return 0
        offset = _number(self._content, self._fields + slot, "<H")
        return 0 if offset == 0 else self._at + offset

    def _followed(self, place: int) -> int:
        return place + _number(self._content, place, "<I")

    def _list(self, field: int) -> tuple[int, int]:
        place = self._place(field)
        if place == 0:
            return 0, 0
        start = self._followed(place)
        count = _number(self._content, start, "<I")
        if count > len(self._content):
            raise Damaged("a list in it is longer than the file.")
        return start + 4, count


def _number(content: bytes | mmap, at: int, kind: str) -> int:
    if at < 0 or at + struct.calcsize(kind) > len(content):
        raise Damaged("it points outside itself.")
    return int(struct.unpack_from(kind, content, at)[0])
