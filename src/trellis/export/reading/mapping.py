"""Files that may be larger than what is read of them."""

import mmap
from pathlib import Path


def mapped(path: Path) -> mmap.mmap:
    """The content of a file, of which only what is looked at is read.

    It is closed when nothing looks at it any more: an error that is on its way up may do so.
    """
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
