"""The op table: one record for each operation, in files with the names of those in `_array`.

It is the source of the backends' thin functions, the text of ejected programs, the readers' rules
for operations that differ only in name, the counterparts in the docs, and the hints for names of
other libraries.
"""

from . import (
    casting,
    control,
    creation,
    diagonals,
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
    segments,
    sets,
    signals,
    sorting,
    statistics,
)
from .record import Op

_FILES = (casting, control, creation, diagonals, elementwise, fft, functional, indexing, linalg,
          manipulation, products, random, reduction, searching, segments, sets, signals, sorting,
          statistics)  # fmt: skip

TABLE: dict[str, Op] = {op.key: op for file in _FILES for op in file.OPS}
"""All records, by their names in the interface of backends."""
