"""GGUF files, as llama.cpp writes them: settings and arrays, read as data.

A file may come from a stranger: every count and every length is compared with what is left of the
file before anything is made of it, and nothing in it is run.
"""

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._core.errors import ArgumentError, NotSupportedError
from ..._core.files import check_regular
from ..._core.printable import printable
from .gguf_blocks import BLOCKS, OTHERS, restore

_VERSIONS = (2, 3)
_MOST_AXES, _DEEPEST = 4, 4
_LONGEST_NAME = 4096
# The types of settings that are numbers, by their number in the file.
_NUMBERS = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?",
            10: "<u8", 11: "<i8", 12: "<f8"}  # fmt: skip
_STRING, _ARRAY = 8, 9


class Place(NamedTuple):
    """Where an array is in the file, and its format."""

    number: int
    shape: tuple[int, ...]
    begin: int
    end: int


class GGUF(Mapping[str, Any]):
    """The arrays of a GGUF file by name, restored to float32 when they are asked for.

    `metadata` are the settings of the file; `formats` and `shapes` describe the arrays.
    """

    def __init__(self, path: str, metadata: dict[str, Any], places: dict[str, Place], data: Any):
        self.path, self.metadata = path, metadata
        self._places, self._data = places, data

    @property
    def formats(self) -> dict[str, str]:
        """The format of each array, such as "Q4_0"."""
        return {name: _format(place.number) for name, place in self._places.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array."""
        return {name: place.shape for name, place in self._places.items()}

    def __getitem__(self, name: str) -> Any:
        place = self._places[name]
        if place.number not in BLOCKS:
            raise NotSupportedError(
                f"{self.path} has {printable(name, 80)} in the format {_format(place.number)}; "
                f"read_gguf() restores {', '.join([x.name for x in BLOCKS.values()])}. llama.cpp's "
                "llama-quantize --allow-requantize writes it in another."
            )
        return restore(self._data[place.begin : place.end], place.number, place.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<GGUF of {len(self)} arrays, {len(self.metadata)} settings>"


def read_gguf(path: str | os.PathLike[str], /) -> GGUF:
    """Read a GGUF file: a mapping from names to NumPy arrays, with `metadata` of settings.

    Arrays are restored to float32 when they are asked for, with the bits of the `gguf` package,
    from F32, F16, BF16, Q8_0, Q4_0 and Q4_K; the file is mapped into memory. A damaged file raises.

    Args:
        path: The file.

    >>> import tempfile, numpy as np, trellis
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "empty.gguf")
    ...     _ = path.write_bytes(b"GGUF" + np.array([3, 0, 0, 0, 0], "<u4").tobytes())
    ...     trellis.convert.read_gguf(path)
    <GGUF of 0 arrays, 0 settings>
    """
    check_regular(path)
    if os.path.getsize(path) == 0:
        raise ArgumentError(f"{os.fspath(path)} is empty, and no GGUF file.")
    data = np.memmap(path, np.uint8, "r")
    reading = _Reading(data, os.fspath(path))
    if bytes(reading.take(4)) != b"GGUF":
        raise ArgumentError(f"{os.fspath(path)} is not a GGUF file: it does not begin with GGUF.")
    version = reading.integer("<u4")
    if version not in _VERSIONS:
        raise NotSupportedError(
            f"{os.fspath(path)} is GGUF of version {version}; read_gguf() reads 2 and 3, in the "
            "order of bytes of little-endian machines."
        )
    arrays, settings = reading.integer("<u8"), reading.integer("<u8")
    reading.require(settings, 13, "settings")
    metadata: dict[str, Any] = {}
    for _ in range(settings):
        key = reading.string(_LONGEST_NAME)
        if key in metadata:
            raise reading.damage(f"two settings are called {printable(key, 80)}")
        metadata[key] = reading.value(reading.integer("<u4"), 0)
    reading.require(arrays, 24, "arrays")
    found = [reading.entry() for _ in range(arrays)]
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 1 <= alignment <= 2**20 or alignment & (alignment - 1):
        raise reading.damage(f"its alignment is {alignment!r}")
    begin = -(-reading.at // alignment) * alignment
    places: dict[str, Place] = {}
    for name, shape, number, offset in found:
        if name in places:
            raise reading.damage(f"two arrays are called {printable(name, 80)}")
        places[name] = reading.place(name, shape, number, begin + offset)
    return GGUF(os.fspath(path), metadata, places, data)


class _Reading:
    """A place in the file that goes forward, and never beyond its end."""

    def __init__(self, data: Any, path: str):
        self._data, self._path, self.at = data, path, 0

    def damage(self, why: str) -> ArgumentError:
        return ArgumentError(f"{self._path} is damaged or no GGUF file: {why}.")

    def take(self, size: int) -> Any:
        if size > len(self._data) - self.at:
            raise self.damage("it ends too early")
        part = self._data[self.at : self.at + size]
        self.at += size
        return part

    def require(self, count: int, size: int, what: str) -> None:
        """Raise for more entries than the rest of the file could hold."""
        if count * size > len(self._data) - self.at:
            raise self.damage(f"it says that it has {count} {what}, more than fit into it")

    def integer(self, kind: str) -> int:
        return int(self.take(np.dtype(kind).itemsize).view(kind)[0])

    def string(self, longest: int | None = None) -> str:
        size = self.integer("<u8")
        if longest is not None and size > longest:
            raise self.damage(f"a name has {size} bytes")
        try:
            return bytes(self.take(size)).decode()
        except UnicodeDecodeError:
            raise self.damage("a string is not UTF-8") from None

    def value(self, number: int, depth: int) -> Any:
        """A setting: a number, a string, or an array of them."""
        if number in _NUMBERS:
            found: Any = self.numbers(number, 1)[0].item()
            return found
        if number == _STRING:
            return self.string()
        if number != _ARRAY or depth == _DEEPEST:
            raise self.damage(f"a setting has the type {number}")
        kind, count = self.integer("<u4"), self.integer("<u8")
        if kind in _NUMBERS:
            return self.numbers(kind, count)
        self.require(count, 8, "entries of a setting")
        return [self.value(kind, depth + 1) for _ in range(count)]

    def numbers(self, kind: int, count: int) -> Any:
        """A copy: the file may change while it is mapped."""
        name = _NUMBERS[kind]
        raw = self.take(count * np.dtype(name.replace("?", "u1")).itemsize)
        return raw.copy() != 0 if name == "?" else raw.copy().view(name)

    def entry(self) -> tuple[str, tuple[int, ...], int, int]:
        """The name, the shape, the format and the place of an array."""
        name, axes = self.string(_LONGEST_NAME), self.integer("<u4")
        if axes > _MOST_AXES:
            raise self.damage(f"{printable(name, 80)} has {axes} axes")
        sizes = [self.integer("<u8") for _ in range(axes)]
        # The file names the fastest axis first.
        return name, tuple(sizes[::-1]), self.integer("<u4"), self.integer("<u8")

    def place(self, name: str, shape: tuple[int, ...], number: int, begin: int) -> Place:
        """Where the bytes of an array are; those of a format that is not read are left alone."""
        if number not in BLOCKS:
            if number not in OTHERS:
                raise self.damage(f"{printable(name, 80)} has the format {number}")
            return Place(number, shape, 0, 0)
        blocks, width = BLOCKS[number], shape[-1] if shape else 1
        if width % blocks.numbers:
            raise self.damage(
                f"{printable(name, 80)} has rows of {width} numbers, no multiple of the "
                f"{blocks.numbers} of {blocks.name}"
            )
        end = begin + math.prod(shape) // blocks.numbers * blocks.bytes
        if end > len(self._data):
            raise self.damage(f"{printable(name, 80)} leads beyond its end")
        return Place(number, shape, begin, end)


def _format(number: int) -> str:
    return BLOCKS[number].name if number in BLOCKS else OTHERS[number]
