"""Functions of the interface as formulas over other functions of a backend.

Each file is imported once for every backend that needs one of its functions: its `xp` is that
backend. So a formula costs no more than the calls it makes, and a compiler sees plain functions.
`complete.py` finds out which functions of `xp` a formula needs, and uses it if the backend has
them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...._core.constants import *
    from ...interface import Backend
    from .activation import *
    from .attention import *
    from .casting import *
    from .control import *
    from .convolution import *
    from .creation import *
    from .dense import *
    from .device import *
    from .elementwise import *
    from .foreach import *
    from .gradients import *
    from .host_calls import *
    from .indexing import *
    from .inspection import *
    from .manipulation import *
    from .normalization import *
    from .pooling import *
    from .products import *
    from .recurrent import *
    from .reduction import *
    from .searching import *
    from .sets import *
    from .sorting import *

    xp: Backend
else:
    xp: Any = None  # each copy of a file has its own
