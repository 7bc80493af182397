"""The table: one record for each operation, in files named as those of `_array`.

The backends' thin functions, the text of ejected programs, the readers' name-to-name rules, the
counterparts in the docs and the hints for foreign names come from it.
"""

from . import (
    casting,
    control,
    creation,
    elementwise,
    fft,
    functional,
    indexing,
    linalg,
    manipulation,
    products,
    random,
    reduction,
    searching,
    sets,
    sorting,
)
from .record import Op

_FILES = (casting, control, creation, elementwise, fft, functional, indexing, linalg, manipulation,
          products, random, reduction, searching, sets, sorting)  # fmt: skip

TABLE: dict[str, Op] = {op.key: op for file in _FILES for op in file.OPS}
"""All records, by their names in the interface of backends."""
