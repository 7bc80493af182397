"""Functions of the interface as formulas over others of a backend.

Each file is read once for every backend that needs one of its functions: `xp` in it is that
backend. So a formula costs no more than the calls it makes, and a compiler sees plain functions.
`complete.py` finds which functions of `xp` a formula needs, and uses it where those are there.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...interface import Backend

    xp: Backend
else:
    xp: Any = None  # each copy of a file has its own
