"""Which package a file belongs to, by the real folders of packages, not by words in its path."""

import os
import site
import sys
import sysconfig
from functools import cache


def folder_of(package: str) -> str:
    """The folder of an imported package, with a separator at its end.

    >>> import os
    >>> folder_of("trellis").endswith(f"{os.sep}trellis{os.sep}")
    True
    """
    return os.path.join(os.path.dirname(str(sys.modules[package].__file__)), "")


def is_in(file: str, *packages: str) -> bool:
    """Whether a file is in one of these packages, as far as they are imported.

    >>> import numpy
    >>> is_in(numpy.linalg.__file__, "trellis", "numpy"), is_in("trellis/numpy/x.py", "numpy")
    (True, False)
    """
    return file.startswith(tuple([folder_of(name) for name in packages if name in sys.modules]))


def is_installed(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to Trellis."""
    return os.path.realpath(file).startswith(_installed_folders()) or is_in(file, "trellis")


@cache
def _installed_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple([os.path.join(os.path.realpath(folder), "") for folder in folders])
