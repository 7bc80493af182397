"""Examples in files: rows of memory-mapped arrays, and lines of text."""

import mmap
import os
from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np

from .._core.errors import ArgumentError
from .._core.kinds import check_arguments
from .sources import Arrays

_BLOCK = 1 << 24  # bytes that are searched at a time


class MemoryMapped(Arrays):
    """The rows of an array in a file, read only where they are used.

    A file that ends in `.npy` knows its shape and dtype. Any other is raw: `dtype` is needed, and
    `shape` if it has more than one axis; the first length may be -1. A worker process opens the
    file again instead of being sent its content.

    Args:
        path: The file.
        dtype: The data type of a raw file.
        shape: The shape of a raw file.
        offset: How many bytes of a raw file come before the numbers.

    >>> import numpy as np, tempfile, trellis
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.arange(6, dtype="int32").tofile(f"{folder}/numbers.bin")
    ...     rows = trellis.data.MemoryMapped(f"{folder}/numbers.bin", dtype="int32", shape=(-1, 2))
    ...     len(rows), rows[2].tolist()
    (3, [4, 5])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dtype: str | None = None,
        shape: tuple[int, ...] | None = None,
        offset: int = 0,
    ):
        check_arguments(MemoryMapped.__init__, locals())
        self._given = (os.fspath(path), dtype, shape, offset)
        super().__init__(_mapped(*self._given))

    def __getstate__(self) -> tuple[Any, ...]:
        return self._given

    def __setstate__(self, given: tuple[Any, ...]) -> None:
        self._given = given
        super().__init__(_mapped(*given))


def _mapped(path: str, dtype: str | None, shape: tuple[int, ...] | None, offset: int) -> Any:
    if path.endswith(".npy"):
        if dtype is not None or shape is not None or offset:
            raise ArgumentError(
                f"{path} says itself what its dtype and shape are: leave out dtype, shape and "
                "offset."
            )
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if dtype is None:
        raise ArgumentError(
            f"{path} is a raw file: say what is in it, MemoryMapped(path, dtype='float32', "
            "shape=(-1, 64))."
        )
    size = np.dtype(dtype).itemsize
    there = os.path.getsize(path) - offset
    if there < size or there % size:
        raise ArgumentError(
            f"{path} has {there} bytes after the offset, not a whole number of elements of {dtype}."
        )
    flat = np.memmap(path, dtype, "r", offset)
    if shape is None:
        return flat
    row = int(np.prod(shape[1:], dtype=np.int64))
    rows = shape[0] if shape[0] != -1 else len(flat) // max(row, 1)
    if rows < 0 or rows * row > len(flat) or (shape[0] == -1 and rows * row != len(flat)):
        raise ArgumentError(f"{path} has {len(flat)} numbers, which are not of shape {shape}.")
    return flat[: rows * row].reshape(rows, *shape[1:])


class Lines:
    """The lines of one or several files of text, without their ends.

    The places of the lines are found once, when it is created; a line is read when it is used.

    Args:
        path: The file, or several.
        encoding: How its bytes become characters.

    >>> import pathlib, tempfile, trellis
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "text.txt"
    ...     _ = path.write_text("first\\nsecond\\n")
    ...     lines = trellis.data.Lines(path)
    ...     len(lines), lines[1], lines.lengths.tolist()
    (2, 'second', [5, 6])
    """

    def __init__(self, path: Any, encoding: str = "utf-8"):
        paths = path if isinstance(path, (list, tuple)) else [path]
        self._paths = [os.fspath(each) for each in paths]
        self._encoding = encoding
        places = [_places(each) for each in self._paths]
        self._begins = np.concatenate([begins for begins, _ in places])
        self._ends = np.concatenate([ends for _, ends in places])
        # The number of the first line of each file, and that after the last.
        self._firsts = np.cumsum([0, *[len(begins) for begins, _ in places]]).tolist()
        self._open: dict[int, Any] = {}

    @property
    def lengths(self) -> Any:
        """The length of each line in bytes, as a NumPy array."""
        return self._ends - self._begins

    def __len__(self) -> int:
        return len(self._begins)

    def __getitem__(self, index: int) -> str:
        count = len(self._begins)
        if not -count <= index < count:
            raise IndexError(f"line {index} of {count}")
        index = int(index) % count
        content = self._content_of(index)
        line = content[self._begins.item(index) : self._ends.item(index)]
        return str(line, self._encoding)

    def __getitems__(self, indices: list[int]) -> list[str]:
        """Several lines at once, as loaders of torch and ours ask for them."""
        if len(self._paths) > 1 or not indices or min(indices) < 0:
            return [self[index] for index in indices]
        begins, ends = self._begins[indices].tolist(), self._ends[indices].tolist()
        content, encoding = self._content_of(0), self._encoding
        return [str(content[begin:end], encoding) for begin, end in zip(begins, ends)]

    def _content_of(self, index: int) -> Any:
        """The bytes of the file that a line is in."""
        file = bisect_right(self._firsts, index) - 1
        content = self._open.get(file)
        if content is None:
            content = self._open[file] = _content(self._paths[file])
        return content

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": {}}


def _content(path: str) -> Any:
    """The bytes of a file; an empty one cannot be mapped."""
    with Path(path).open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _places(path: str) -> tuple[Any, Any]:
    """Where the lines of a file begin and end; their ends, `\\n` or `\\r\\n`, are left out."""
    content = _content(path)
    numbers = np.frombuffer(content, np.uint8)
    breaks = [
        start + np.flatnonzero(numbers[start : start + _BLOCK] == ord("\n"))
        for start in range(0, len(numbers), _BLOCK)
    ]
    ends = np.concatenate([np.empty(0, np.int64), *breaks])
    begins = np.concatenate([np.zeros(1, np.int64), ends + 1])
    if begins[-1] == len(numbers):  # the file ends with the end of a line, or is empty
        begins = begins[:-1]
    else:
        ends = np.append(ends, len(numbers))
    is_return = (
        (ends > begins) & (numbers[np.maximum(ends - 1, 0)] == ord("\r")) if len(ends) else 0
    )
    return begins, ends - is_return
