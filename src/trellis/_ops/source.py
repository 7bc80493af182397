"""How programs of a framework are written: imports, types, casts, arrays, operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .record import Way


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one framework's programs write what is not an operation. The templates have a field for
    each text."""

    module: str  # the module that has its data types
    imports: dict[str, str]  # import lines, by the name that programs use
    cast: str  # a value, a data type
    array: str  # nested lists of numbers, a data type
    packed: str  # a NumPy array
    number: str = "{0}"  # a number and a data type, where an array is needed
    bool_name: str = "bool"
    types_missing: tuple[str, ...] = ()
    # Types for which it has no kernel for matrix products.
    no_products: tuple[str, ...] = ()
    # Whether counts and indices have the framework's own integer type.
    casts_counts: bool = False
    # The function that takes elements by arrays of indices, where brackets cannot, and the form of
    # an index in brackets.
    item_function: str = ""
    index: str = "{0}"


@dataclass(frozen=True, slots=True)
class Source:
    """The programs of a backend of another package: its optional `SOURCE`, which `to_source` needs.

    `ways` are expressions over the arguments of operations, as in the op table (`record.Op`):
    `{"tanh": "mx.tanh(x)"}`. An operation that is not in it is a function of that name in the file
    `portable`, whose text an ejected program contains.
    """

    dialect: Dialect
    ways: Mapping[str, Way]
    portable: Path | None = None
    # Operations that need arrays in place of numbers.
    arrays_only: frozenset[str] = field(default_factory=frozenset)
